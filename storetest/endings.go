package storetest

import (
	"time"

	"github.com/semel-dev/semel"
)

var endCases = []testCase{
	{name: "rule 8: an end keeps what it was given and drops the note", run: endKeeps},
	{name: "rule 8: the size of a result is its length unless it is said", run: resultSize},
	{name: "rule 8: a release keeps no result", run: releaseKeepsNothing},
	{name: "rule 8: a release that forgives does not count the attempt", run: forgiven},
	{name: "rule 9: forgetting raises the generation and the key is free", run: forgetRaises},
	{name: "rule 9: the generation outlives claims, takeovers and ends", run: generationStays},
	{name: "rule 9: a forgotten key may back off", run: forgetBacksOff},
	{name: "rule 14: a back-off beyond the memory extends it", run: backOffRemembered},
}

func endKeeps(e *env) {
	for _, c := range ends() {
		held := e.win(c.To.String(), marked("note"), fingerprint("print"))
		c.By, c.Why = "host:17", "because"
		got := e.change(held, c)
		want := held
		want.State, want.Until, want.Note, want.By, want.Why = c.To, got.Now.Add(c.For), nil, c.By, c.Why
		if c.To != semel.Free {
			want.Result, want.Size = c.Result, int64(len(c.Result))
		}
		if d := diff(got, want); d != "" {
			e.Errorf("the %v record differs:%s", c.To, d)
		}
		e.stands(got)
	}
}

func resultSize(e *env) {
	large := complete("")
	large.Result, large.Kept, large.Size = nil, semel.KeptTooLarge, 5<<20
	got := e.change(e.win("large"), large)
	equal(e, "Size of what was not kept", got.Size, large.Size)
	equal(e, "Kept", got.Kept, semel.KeptTooLarge)
	e.text("Result", got.Result, nil)
	e.stands(got)
	equal(e, "Size of what was kept", e.change(e.win("small"), complete("12345")).Size, 5)
}

func releaseKeepsNothing(e *env) {
	c := release()
	c.Result, c.Kept, c.Size, c.ResultFor = []byte("result"), semel.KeptStreamed, 17, time.Hour
	got := e.change(e.win("k"), c)
	e.text("Result", got.Result, nil)
	equal(e, "Kept", got.Kept, "")
	equal(e, "Size", got.Size, 0)
	equal(e, "ResultUntil is zero", got.ResultUntil.IsZero(), true)
}

func forgiven(e *env) {
	c := release()
	c.Forgive = true
	equal(e, "Attempts after a forgiven first", e.change(e.win("k"), c).Attempts, 0)
	equal(e, "Attempts of the next", e.win("k").Attempts, 1)
	rec := e.get("k")
	equal(e, "Attempts after a plain release", e.change(rec, release()).Attempts, 1)
	equal(e, "Attempts after a forgiven second", e.change(e.win("k"), c).Attempts, 1)
}

func forgetRaises(e *env) {
	for _, end := range []semel.Change{complete("result"), bury("reason")} {
		id := end.To.String()
		ended := e.change(e.win(id, fingerprint("print")), end)
		got := e.change(ended, forget(end.To))
		equal(e, "State", got.State, semel.Free)
		equal(e, "Generation", got.Generation, 1)
		equal(e, "Attempts", got.Attempts, 0)
		equal(e, "Token", got.Token, ended.Token)
		e.text("Result", got.Result, nil)
		e.instant("Until", got.Until, got.Now.Add(memory))
		e.stands(got)
		equal(e, "Attempts of the next", e.win(id).Attempts, 1)
	}
}

func generationStays(e *env) {
	e.change(e.change(e.win("k"), complete("one")), forget(semel.Done))
	rec := e.win("k")
	equal(e, "Generation of the next", rec.Generation, 1)
	e.advance(lease)
	rec = e.win("k")
	equal(e, "Generation after a takeover", rec.Generation, 1)
	equal(e, "Generation when done", e.change(rec, complete("two")).Generation, 1)
	e.advance(window)
	rec = e.win("k")
	equal(e, "Generation after the window", rec.Generation, 1)
	equal(e, "Generation forgotten twice", e.change(e.change(rec, bury("")), forget(semel.Dead)).Generation, 2)
}

func forgetBacksOff(e *env) {
	c := forget(semel.Done)
	c.After = time.Hour
	got := e.change(e.change(e.win("k"), complete("one")), c)
	e.instant("NotBefore", got.NotBefore, got.Now.Add(time.Hour))
	e.refuse("k")
	e.advance(time.Hour)
	e.win("k")
}

func backOffRemembered(e *env) {
	c := release()
	c.For, c.After = time.Hour, 3*time.Hour
	got := e.change(e.win("k"), c)
	e.instant("Until", got.Until, got.Now.Add(c.After))
	e.advance(2 * time.Hour)
	e.refuse("k")
}
