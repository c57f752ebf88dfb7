package storetest

import "github.com/semel-dev/semel"

var takeoverCases = []testCase{
	{name: "rule 2: a lapsed lease without a note is taken over", run: lapsedIsTaken},
	{name: "rule 2: who takes over keeps the fingerprint and brings a note", run: takeoverKeeps},
	{name: "rule 2: a lapsed lease with a note is in doubt and not taken", run: inDoubtIsRefused},
	{name: "rule 2: an empty note is a mark", run: emptyNoteMarks},
	{name: "rule 2: a recovering claim takes what is in doubt, note and fingerprint", run: recoverTakes},
	{name: "rule 2: what was recovered stays recovered until it ends", run: recoveredStays},
	{name: "rule 2: a recovering claim of an unmarked lease is a plain takeover", run: recoverUnmarked},
	{name: "rule 11: after a takeover the old holder is lost", run: oldHolderLost},
}

func lapsedIsTaken(e *env) {
	first := e.win("k")
	e.advance(lease)
	answer := e.attempt("k")
	got := answer.Record
	equal(e, "Won", answer.Won, true)
	equal(e, "Attempts", got.Attempts, 2)
	e.instant("Created", got.Created, first.Created)
	e.instant("Until", got.Until, got.Now.Add(lease))
	if d := diff(answer.Before, first); d != "" {
		e.Errorf("Before is not the lapsed record:%s", d)
	}
	equal(e, "Before is lapsed", answer.Before.Lapsed(), true)
	e.stands(got)
}

func takeoverKeeps(e *env) {
	e.win("k", fingerprint("one"))
	e.advance(lease)
	rec := e.win("k", fingerprint("two"), marked("mine"))
	e.text("Fingerprint", rec.Fingerprint, []byte("one"))
	e.text("Note", rec.Note, []byte("mine"))
	e.stands(rec)
}

func inDoubtIsRefused(e *env) {
	held := e.win("k", marked("note"))
	e.advance(lease)
	rec := e.refuse("k")
	equal(e, "in doubt", rec.InDoubt(), true)
	if d := diff(rec, held); d != "" {
		e.Errorf("the refusal does not show the record in doubt:%s", d)
	}
	e.advance(100 * window)
	equal(e, "still in doubt", e.inDoubt("k"), true)
	e.refuse("k")
}

func emptyNoteMarks(e *env) {
	e.win("claimed", marked(""))
	e.change(e.win("updated"), mark(""))
	e.advance(lease)
	for _, id := range []string{"claimed", "updated"} {
		rec := e.refuse(id)
		e.text("Note", rec.Note, []byte{})
		equal(e, id+" is in doubt", rec.InDoubt(), true)
	}
}

func recoverTakes(e *env) {
	was := e.win("k", marked("theirs"), fingerprint("one"))
	e.advance(lease)
	answer := e.attempt("k", recovering, marked("mine"), fingerprint("two"))
	got := answer.Record
	equal(e, "Won", answer.Won, true)
	equal(e, "Recovered", got.Recovered, true)
	equal(e, "Doubted", got.Doubted, false)
	e.text("Note", got.Note, []byte("theirs"))
	e.text("Fingerprint", got.Fingerprint, []byte("one"))
	if d := diff(answer.Before, was); d != "" {
		e.Errorf("Before is not the record in doubt:%s", d)
	}
	e.stands(got)
}

func recoveredStays(e *env) {
	for _, c := range ends() {
		id := c.To.String()
		e.win(id, marked("note"))
		e.advance(lease)
		req := request(id, seeing(e.version(id)), recovering)
		rec := e.claim(req).Record
		equal(e, "Recovered in the repeat's answer", e.claim(req).Record.Recovered, true)
		equal(e, "Recovered after a renewal", e.change(rec, renew(lease)).Recovered, true)
		equal(e, "Recovered after a doubt", e.change(rec, doubt()).Recovered, true)
		rec = e.win(id, recovering)
		equal(e, "Recovered after another recovery", rec.Recovered, true)
		equal(e, "Recovered when read", e.get(id).Recovered, true)
		equal(e, "Recovered when "+id, e.change(rec, c).Recovered, false)
	}
}

func recoverUnmarked(e *env) {
	e.win("k")
	e.advance(lease)
	rec := e.win("k", recovering, marked("mine"))
	equal(e, "Recovered", rec.Recovered, false)
	e.text("Note", rec.Note, []byte("mine"))
}

func oldHolderLost(e *env) {
	old := e.win("k")
	e.advance(lease)
	now := e.win("k")
	for _, c := range everyChange() {
		stands := e.lose(old, c)
		if d := diff(stands, now); d != "" {
			e.Errorf("the error does not come with the new holder's record:%s", d)
		}
	}
	done := e.change(now, complete("second"))
	for _, c := range everyChange() {
		if d := diff(e.lose(old, c), done); d != "" {
			e.Errorf("the error does not come with the finished record:%s", d)
		}
	}
	equal(e, "State", e.get("k").State, semel.Done)
}
