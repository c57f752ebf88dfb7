package storetest

import (
	"time"

	"github.com/semel-dev/semel"
)

var claimCases = []testCase{
	{name: "rule 1: an absent key is won with everything that was asked", run: absentIsWon},
	{name: "rule 1: a won claim can be read back", run: wonIsStored},
	{name: "rule 1: a released key is won with the request's fingerprint and note", run: releasedIsWon},
	{name: "rule 1: a claim of a released key counts on and shows what it replaced", run: releasedCountsOn},
	{name: "rule 1: a claim of an expired key starts anew and shows what it replaced", run: expiredStartsAnew},
	{name: "rule 3: a held key is not won in trust", run: heldIsRefused},
	{name: "rule 3: a done key is not won in its window", run: doneIsRefused},
	{name: "rule 3: a dead key is not won in its window", run: deadIsRefused},
	{name: "rule 3: a released key is not won before its back-off is over", run: backingOff},
	{name: "rule 6: a refused claim writes nothing", run: refusedWritesNothing},
}

func absentIsWon(e *env) {
	req := request("k", marked("note"), fingerprint("print"))
	req.Source, req.By = semel.Webhook, "host:17"
	answer := e.claim(req)
	got := answer.Record
	equal(e, "Won", answer.Won, true)
	equal(e, "Again", answer.Again, false)
	want := semel.Record{
		Key: req.Key, State: semel.Held, Token: got.Token, Attempts: 1, Attempt: req.Attempt,
		Created: got.Now, Until: got.Now.Add(lease), Fingerprint: req.Fingerprint, Note: req.Note,
		Source: req.Source, By: req.By,
	}
	if d := diff(got, want); d != "" {
		e.Errorf("the record that was won differs:%s", d)
	}
	if d := diff(answer.Before, semel.Record{}); d != "" || !answer.Before.Now.IsZero() {
		e.Errorf("Before of a claim that replaced nothing is %+v, want zero", answer.Before)
	}
}

func wonIsStored(e *env) {
	rec := e.win("k", marked("note"), fingerprint("print"))
	e.stands(rec)
	equal(e, "another key is found", e.gone("other"), true)
}

func releasedIsWon(e *env) {
	e.change(e.win("k", fingerprint("one"), marked("first")), release())
	rec := e.win("k", fingerprint("two"))
	e.text("Fingerprint", rec.Fingerprint, []byte("two"))
	e.text("Note", rec.Note, nil)
	e.stands(rec)
}

func releasedCountsOn(e *env) {
	first := e.win("k")
	free := e.change(first, release())
	answer := e.attempt("k")
	equal(e, "Won", answer.Won, true)
	equal(e, "Attempts", answer.Record.Attempts, 2)
	e.instant("Created", answer.Record.Created, first.Created)
	if d := diff(answer.Before, free); d != "" {
		e.Errorf("Before is not the released record:%s", d)
	}
}

func expiredStartsAnew(e *env) {
	for _, c := range ends() {
		id := c.To.String()
		was := e.change(e.win(id, fingerprint("one")), c)
		e.advance(window)
		answer := e.attempt(id, fingerprint("two"))
		got := answer.Record
		equal(e, "Won", answer.Won, true)
		equal(e, "Attempts", got.Attempts, 1)
		e.instant("Created", got.Created, got.Now)
		e.text("Fingerprint", got.Fingerprint, []byte("two"))
		e.text("Result", got.Result, nil)
		if d := diff(answer.Before, was); d != "" {
			e.Errorf("Before is not the expired record:%s", d)
		}
		equal(e, "Before is expired", answer.Before.Expired(), true)
	}
}

func heldIsRefused(e *env) {
	held := e.win("k", fingerprint("print"), marked("note"))
	e.advance(lease - margin)
	if d := diff(e.refuse("k", recovering), held); d != "" {
		e.Errorf("the refusal does not show the holder's record:%s", d)
	}
}

func doneIsRefused(e *env) {
	done := e.change(e.win("k"), complete("result"))
	e.advance(window - margin)
	rec := e.refuse("k", recovering)
	if d := diff(rec, done); d != "" {
		e.Errorf("the refusal does not show the finished record:%s", d)
	}
	e.text("Result", rec.Result, []byte("result"))
}

func deadIsRefused(e *env) {
	dead := e.change(e.win("k"), bury("reason"))
	e.advance(window - margin)
	rec := e.refuse("k", recovering)
	if d := diff(rec, dead); d != "" {
		e.Errorf("the refusal does not show the dead record:%s", d)
	}
	e.text("Result", rec.Result, []byte("reason"))
}

func backingOff(e *env) {
	c := release()
	c.After = 2 * time.Hour
	free := e.change(e.win("k"), c)
	e.instant("NotBefore", free.NotBefore, free.Now.Add(c.After))
	e.refuse("k")
	e.advance(c.After - margin)
	e.refuse("k", recovering)
	e.advance(margin)
	rec := e.win("k")
	equal(e, "NotBefore is gone", rec.NotBefore.IsZero(), true)
}

func refusedWritesNothing(e *env) {
	held := e.win("k")
	for _, end := range append([]semel.Change{renew(2 * lease)}, complete("result")) {
		stands := e.change(held, end)
		late := request("k", seeing(stands.Version()), marked("late"), fingerprint("late"), recovering)
		late.Source, late.By = semel.Other, "late"
		equal(e, "Won", e.claim(late).Won, false)
		e.stands(stands)
	}
}
