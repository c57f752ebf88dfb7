package storetest

import "github.com/semel-dev/semel"

var doubtCases = []testCase{
	{name: "rule 9: a doubt ends the lease at once and is remembered", run: doubtEnds},
	{name: "rule 9: a doubt may bring the note", run: doubtBringsNote},
	{name: "rule 9: a doubt without a note is lost", run: doubtNeedsNote},
	{name: "rule 9: a lapsed lease can still be put in doubt", run: doubtLapsed},
	{name: "rule 9: after a doubt the same attempt does not win again", run: doubtNotAgain},
	{name: "rule 9: after a doubt neither renewal nor mark applies", run: doubtNotRenewed},
	{name: "rule 9: a repeated doubt succeeds and changes nothing", run: doubtRepeated},
	{name: "rule 9: after a doubt the holder can still end the key", run: doubtEnded},
	{name: "rule 9: after a doubt a recovering claim takes the key", run: doubtRecovered},
}

func doubtEnds(e *env) {
	rec := e.win("k", marked("note"))
	c := doubt()
	c.By, c.Why = "host:17", "connection reset"
	got := e.change(rec, c)
	equal(e, "Doubted", got.Doubted, true)
	equal(e, "in doubt", got.InDoubt(), true)
	e.instant("Until", got.Until, got.Now)
	equal(e, "By", got.By, c.By)
	equal(e, "Why", got.Why, c.Why)
	e.text("Note", got.Note, []byte("note"))
	e.stands(got)
	e.refuse("k")
}

func doubtBringsNote(e *env) {
	c := doubt()
	c.Note = []byte("sent")
	for _, with := range [][]func(*semel.Request){nil, {marked("old")}} {
		got := e.change(e.win(string(rune('a'+len(with))), with...), c)
		e.text("Note", got.Note, c.Note)
		equal(e, "in doubt", got.InDoubt(), true)
	}
}

func doubtNeedsNote(e *env) {
	rec := e.win("k")
	if d := diff(e.lose(rec, doubt()), rec); d != "" {
		e.Errorf("the error does not come with the record that stands:%s", d)
	}
}

func doubtLapsed(e *env) {
	rec := e.win("k", marked("note"))
	e.advance(2 * lease)
	got := e.change(rec, doubt())
	equal(e, "Doubted", got.Doubted, true)
	e.instant("Until", got.Until, got.Now)
}

func doubtNotAgain(e *env) {
	req := request("k", marked("note"))
	got := e.change(e.claim(req).Record, doubt())
	answer := e.claim(req)
	equal(e, "Won", answer.Won, false)
	if d := diff(answer.Record, got); d != "" {
		e.Errorf("the answer does not show the record in doubt:%s", d)
	}
	e.stands(got)
}

func doubtNotRenewed(e *env) {
	rec := e.win("k", marked("note"))
	got := e.change(rec, doubt())
	for _, c := range []semel.Change{renew(lease), mark("late")} {
		if d := diff(e.lose(rec, c), got); d != "" {
			e.Errorf("the error does not come with the record in doubt:%s", d)
		}
	}
}

func doubtRepeated(e *env) {
	first := e.change(e.win("k", marked("note")), doubt())
	e.advance(margin)
	c := doubt()
	c.Note, c.By, c.Why = []byte("other"), "other", "other"
	if d := diff(e.change(first, c), first); d != "" {
		e.Errorf("the repeated doubt does not return the record as it was:%s", d)
	}
	e.stands(first)
}

func doubtEnded(e *env) {
	for _, c := range ends() {
		rec := e.win(c.To.String(), marked("note"))
		e.change(rec, doubt())
		e.advance(lease)
		got := e.change(rec, c)
		equal(e, "State", got.State, c.To)
		equal(e, "Doubted", got.Doubted, false)
		e.text("Note", got.Note, nil)
		e.stands(got)
	}
}

func doubtRecovered(e *env) {
	was := e.change(e.win("k", marked("note")), doubt())
	answer := e.attempt("k", recovering)
	equal(e, "Won", answer.Won, true)
	equal(e, "Doubted", answer.Record.Doubted, false)
	equal(e, "Recovered", answer.Record.Recovered, true)
	if d := diff(answer.Before, was); d != "" {
		e.Errorf("Before is not the record in doubt:%s", d)
	}
	e.lose(was, complete("late"))
	e.change(answer.Record, renew(lease))
}
