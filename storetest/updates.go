package storetest

import (
	"fmt"
	"time"

	"github.com/semel-dev/semel"
)

var updateCases = []testCase{
	{name: "rule 8: an update of an absent key is lost", run: updateAbsent},
	{name: "rule 8: an update under another token is lost", run: updateOtherToken},
	{name: "rule 8: an update from a state the record is not in is lost", run: updateOtherState},
	{name: "rule 8: a repeated update succeeds and changes nothing", run: updateRepeated},
	{name: "rule 8: a repeat by another way is lost", run: updateOtherWay},
	{name: "rule 8: the first result stands", run: firstResult},
	{name: "rule 9: a renewal never shortens the lease", run: renewGrows},
	{name: "rule 9: a renewal changes nothing but the lease's end", run: renewOnlyUntil},
	{name: "rule 9: a mark sets the note and another replaces it", run: markSets},
	{name: "rule 9: a deferred release does not free what was completed", run: deferredRelease},
	{name: "rule 10: a lapsed holder whose key nobody took may renew", run: lapsedRenews},
	{name: "rule 10: a lapsed holder whose key nobody took may end", run: lapsedEnds},
}

func updateAbsent(e *env) {
	rec := semel.Record{Key: key("k"), Token: 1}
	for _, token := range []semel.Token{0, 1, 1 << 52} {
		rec.Token = token
		for _, c := range everyChange() {
			_, err := e.s.Update(e.Context(), rec.Key, token, c)
			equal(e, fmt.Sprintf("the error of %v to %v", c.From, c.To), err, semel.ErrLost)
		}
	}
	equal(e, "nothing is stored", e.gone("k"), true)
}

func updateOtherToken(e *env) {
	held := e.win("k", marked("note"))
	for _, token := range []semel.Token{0, held.Token - 1, held.Token + 1} {
		other := held
		other.Token = token
		for _, c := range everyChange() {
			if d := diff(e.lose(other, c), held); d != "" {
				e.Errorf("the error does not come with the record that stands:%s", d)
			}
		}
	}
}

func updateOtherState(e *env) {
	for _, end := range ends() {
		rec := e.change(e.win(end.To.String()), end)
		for _, c := range everyChange() {
			if c.From == end.To || c.To == end.To { // applies, or is a repeat
				continue
			}
			if d := diff(e.lose(rec, c), rec); d != "" {
				e.Errorf("the error does not come with the record that stands:%s", d)
			}
		}
	}
	held := e.win("held")
	e.lose(held, forget(semel.Done))
	e.lose(held, forget(semel.Dead))
}

// other is the same move as c with everything else changed.
func other(c semel.Change) semel.Change {
	c.For, c.After, c.ResultFor = c.For+lease, time.Minute, time.Minute
	c.Note, c.Result, c.Size = []byte("other"), []byte("other"), 99
	c.Kept, c.By, c.Why, c.Forgive = semel.KeptTruncated, "other", "other", !c.Forgive
	return c
}

func updateRepeated(e *env) {
	for _, end := range ends() {
		id := end.To.String()
		first := e.change(e.win(id), end)
		e.advance(margin)
		if d := diff(e.change(first, other(end)), first); d != "" {
			e.Errorf("the repeated %s does not return the record as it was:%s", id, d)
		}
		e.stands(first)
		if end.To == semel.Free {
			continue
		}
		c := forget(end.To)
		first = e.change(first, c)
		if d := diff(e.change(first, other(c)), first); d != "" {
			e.Errorf("the repeated forgetting of %s does not return the record as it was:%s", id, d)
		}
		e.stands(first)
	}
}

func updateOtherWay(e *env) {
	released := e.change(e.win("released"), release())
	e.lose(released, forget(semel.Done))
	e.lose(released, forget(semel.Dead))
	forgotten := e.change(e.change(e.win("forgotten"), complete("result")), forget(semel.Done))
	e.lose(forgotten, release())
	e.lose(forgotten, forget(semel.Dead))
	e.lose(forgotten, complete("again"))
}

func firstResult(e *env) {
	rec := e.win("k")
	e.change(rec, complete("first"))
	e.text("Result of the repeat", e.change(rec, complete("second")).Result, []byte("first"))
	e.lose(rec, bury("third"))
	e.text("Result", e.get("k").Result, []byte("first"))
}

func renewGrows(e *env) {
	rec := e.win("k")
	longer := e.change(rec, renew(2*lease))
	e.instant("Until after a longer lease", longer.Until, longer.Now.Add(2*lease))
	shorter := e.change(rec, renew(semel.MinLease))
	e.instant("Until after a shorter lease", shorter.Until, longer.Until)
	e.stands(longer)
}

func renewOnlyUntil(e *env) {
	rec := e.win("k", marked("note"), fingerprint("print"))
	c := renew(2 * lease)
	c.By, c.Why = "other", "other"
	got := e.change(rec, c)
	e.stands(got)
	got.Until = rec.Until
	if d := diff(got, rec); d != "" {
		e.Errorf("a renewal changed more than Until:%s", d)
	}
}

func markSets(e *env) {
	rec := e.win("k")
	e.text("Note", e.change(rec, mark("first")).Note, []byte("first"))
	e.text("Note after a renewal", e.change(rec, renew(lease)).Note, []byte("first"))
	e.text("Note replaced", e.change(rec, mark("second")).Note, []byte("second"))
	e.text("Note emptied", e.change(rec, mark("")).Note, []byte{})
	e.text("Note stored", e.get("k").Note, []byte{})
}

func deferredRelease(e *env) {
	for _, end := range []semel.Change{complete("result"), bury("reason")} {
		rec := e.win(end.To.String())
		ended := e.change(rec, end)
		if d := diff(e.lose(rec, release()), ended); d != "" {
			e.Errorf("the release does not come back with the record that stands:%s", d)
		}
		e.refuse(end.To.String())
	}
}

func lapsedRenews(e *env) {
	rec := e.win("k", marked("note"))
	e.advance(2 * lease)
	got := e.change(rec, renew(lease))
	e.instant("Until", got.Until, got.Now.Add(lease))
	equal(e, "lapsed", got.Lapsed(), false)
	e.refuse("k", recovering)
}

func lapsedEnds(e *env) {
	for _, c := range ends() {
		rec := e.win(c.To.String(), marked("note"))
		e.advance(2 * lease)
		got := e.change(rec, c)
		equal(e, "State", got.State, c.To)
		e.instant("Until", got.Until, got.Now.Add(c.For))
	}
}
