package storetest

import "github.com/semel-dev/semel"

var againCases = []testCase{
	{name: "rule 4: the same attempt wins again and its lease only grows", run: againGrows},
	{name: "rule 4: winning again changes nothing but the lease's end", run: againChangesNothing},
	{name: "rule 4: the same attempt wins again whatever version it names", run: againAnyVersion},
	{name: "rule 4: the same attempt wins again when its lease lapsed", run: againLapsed},
	{name: "rule 4: the same attempt wins again when it is marked and lapsed", run: againMarked},
	{name: "rule 4: a delayed copy of a claim does not revive what has ended", run: againEnded},
	{name: "rule 4: a delayed copy of a claim does not take what has expired", run: againExpired},
	{name: "rule 4: an attempt that was replaced does not win again", run: againReplaced},
}

func againGrows(e *env) {
	req := request("k")
	first := e.claim(req).Record
	e.advance(margin)
	again := e.claim(req)
	equal(e, "Won", again.Won, true)
	equal(e, "Again", again.Again, true)
	e.instant("Until", again.Record.Until, again.Record.Now.Add(lease))
	req.Lease = lease / 2
	shorter := e.claim(req)
	equal(e, "Again", shorter.Again, true)
	e.instant("Until after a shorter lease", shorter.Record.Until, again.Record.Until)
	equal(e, "Token", shorter.Record.Token, first.Token)
	e.stands(shorter.Record)
}

func againChangesNothing(e *env) {
	req := request("k", marked("note"), fingerprint("print"))
	req.By = "first"
	first := e.claim(req).Record
	req.Note, req.Fingerprint = []byte("other"), []byte("other")
	req.Source, req.By = semel.Other, "second"
	again := e.claim(req)
	if d := diff(again.Before, semel.Record{}); d != "" {
		e.Errorf("Before of a claim that replaced nothing:%s", d)
	}
	got := again.Record
	got.Until = first.Until
	if d := diff(got, first); d != "" {
		e.Errorf("winning again changed more than Until:%s", d)
	}
	e.stands(again.Record)
}

func againAnyVersion(e *env) {
	req := request("k")
	first := e.claim(req).Record
	for _, v := range []semel.Version{{}, first.Version(), {Token: 1, State: semel.Done, Until: first.Now}} {
		req.Seen = v
		equal(e, "Again", e.claim(req).Again, true)
	}
}

func againLapsed(e *env) {
	req := request("k")
	first := e.claim(req).Record
	e.advance(2 * lease)
	again := e.claim(req)
	equal(e, "Again", again.Again, true)
	equal(e, "Token", again.Record.Token, first.Token)
	equal(e, "Attempts", again.Record.Attempts, 1)
	e.instant("Until", again.Record.Until, again.Record.Now.Add(lease))
	e.refuse("k")
}

func againMarked(e *env) {
	req := request("k", marked("note"))
	first := e.claim(req).Record
	e.advance(2 * lease)
	equal(e, "in doubt", e.inDoubt("k"), true)
	again := e.claim(req)
	equal(e, "Again", again.Again, true)
	equal(e, "Token", again.Record.Token, first.Token)
	e.text("Note", again.Record.Note, []byte("note"))
	equal(e, "in doubt", e.inDoubt("k"), false)
}

func againEnded(e *env) {
	for _, c := range ends() {
		req := request(c.To.String())
		was := e.change(e.claim(req).Record, c)
		equal(e, "Attempt remembered when "+req.Key.ID, was.Attempt, req.Attempt)
		for _, seen := range []semel.Version{{}, was.Version()} {
			req.Seen = seen
			answer := e.claim(req)
			equal(e, "Won by the copy when "+req.Key.ID, answer.Won, false)
			if d := diff(answer.Record, was); d != "" {
				e.Errorf("the copy's answer does not show the %s record:%s", req.Key.ID, d)
			}
		}
		e.stands(was)
	}
}

func againExpired(e *env) {
	for _, c := range ends() {
		req := request(c.To.String())
		was := e.change(e.claim(req).Record, c)
		e.advance(window)
		for _, seen := range []semel.Version{{}, was.Version()} {
			req.Seen = seen
			equal(e, "Won by the copy when "+req.Key.ID+" and expired", e.claim(req).Won, false)
		}
		e.stands(was)
		e.win(req.Key.ID)
	}
}

func againReplaced(e *env) {
	req := request("k")
	e.claim(req)
	e.advance(lease)
	now := e.win("k")
	equal(e, "Won by the replaced attempt", e.claim(req).Won, false)
	e.stands(now)
	e.advance(lease)
	equal(e, "Won by the replaced attempt after the lapse", e.claim(req).Won, false)
}
