package storetest

import "github.com/semel-dev/semel"

var tokenCases = []testCase{
	{name: "rule 14: a token is the store's clock in microseconds", run: tokenIsClock},
	{name: "rule 14: tokens rise across every end of a claim", run: tokensRise},
	{name: "rule 14: tokens rise faster than the clock where they must", run: tokensRiseFast},
	{name: "rule 14: tokens rise across a prune", run: tokensRisePruned},
	{name: "rule 14: tokens rise across a reopening", run: tokensRiseReopened, survives: true},
}

func tokenIsClock(e *env) {
	rec := e.win("k")
	equal(e, "Token", rec.Token, semel.Token(rec.Now.UnixMicro()))
	if rec.Token >= 1<<53 {
		e.Errorf("Token %d does not fit 53 bits", rec.Token)
	}
}

// rises fails the case unless rec's token is above last.
func (e *env) rises(after string, last *semel.Token, rec semel.Record) semel.Record {
	e.Helper()
	if rec.Token <= *last {
		e.Errorf("Token after %s is %d, want more than %d", after, rec.Token, *last)
	}
	*last = rec.Token
	return rec
}

func tokensRise(e *env) {
	var last semel.Token
	e.change(e.rises("nothing", &last, e.win("k")), release())
	e.rises("a release", &last, e.win("k"))
	e.advance(lease)
	rec := e.rises("a takeover", &last, e.win("k"))
	done := e.change(rec, complete("result"))
	e.change(done, forget(semel.Done))
	e.change(e.rises("forgetting", &last, e.win("k")), bury("reason"))
	e.advance(window)
	e.change(e.rises("an expiry", &last, e.win("k", marked("note"))), doubt())
	e.rises("a recovery", &last, e.win("k", recovering))
}

func tokensRiseFast(e *env) {
	var last semel.Token
	for range 200 {
		e.change(e.rises("a release", &last, e.win("k")), release())
	}
}

func tokensRisePruned(e *env) {
	var last semel.Token
	e.rises("nothing", &last, e.win("k"))
	e.advance(lease + keep + coarse(lease+keep))
	equal(e, "Records pruned", e.prune(10).Records, 1)
	e.rises("a prune", &last, e.win("k"))
}

func tokensRiseReopened(e *env) {
	var last semel.Token
	e.change(e.rises("nothing", &last, e.win("k")), release())
	e.s = e.h.Reopen(e, e.s)
	e.rises("a reopening", &last, e.win("k"))
	e.advance(lease + keep)
	e.prune(10)
	e.s = e.h.Reopen(e, e.s)
	e.rises("a prune and a reopening", &last, e.win("k"))
}
