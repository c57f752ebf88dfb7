package storetest

import (
	"time"

	"github.com/semel-dev/semel"
)

var timeCases = []testCase{
	{name: "rule 13: every answer carries the store's time, which never falls", run: nowCarried},
	{name: "rule 13: the store's time moves as the harness says", run: nowAdvances},
	{name: "rule 15: the window is counted from the completion", run: windowFromCompletion},
	{name: "rule 15: duplicates never move the window", run: windowUnmoved},
	{name: "rule 16: a window ends at its instant, without anybody's help", run: windowEnds},
	{name: "rule 17: a result past its retention reads as expired, its key does not", run: resultExpires},
	{name: "rule 17: a result is kept as long as its key where nothing else is said", run: resultKept},
}

func nowCarried(e *env) {
	var last time.Time
	saw := func(what string, now time.Time) {
		e.Helper()
		if now.Before(last) || now.IsZero() {
			e.Errorf("Now of %s is %v, the answer before had %v", what, now, last)
		}
		equal(e, "nanoseconds below a microsecond in "+what, now.Nanosecond()%1000, 0)
		last = now
	}
	for range 20 {
		rec := e.win("k")
		saw("a win", rec.Now)
		saw("a refusal", e.refuse("k").Now)
		saw("a renewal", e.change(rec, renew(lease)).Now)
		saw("a read", e.get("k").Now)
		saw("a release", e.change(rec, release()).Now)
		saw("a repeated release", e.change(rec, release()).Now)
		saw("a lost update", e.lose(rec, complete("late")).Now)
	}
}

func nowAdvances(e *env) {
	e.win("k")
	for _, d := range []time.Duration{time.Millisecond, time.Second, 50 * time.Hour} {
		before := e.get("k").Now
		e.advance(d)
		if moved := e.get("k").Now.Sub(before); moved < d || moved > d+margin {
			e.Errorf("the clock moved by %v, want %v", moved, d)
		}
	}
}

func windowFromCompletion(e *env) {
	for _, c := range []semel.Change{complete("result"), bury("reason")} {
		rec := e.win(c.To.String())
		e.advance(lease / 2)
		got := e.change(rec, c)
		e.instant("Until", got.Until, got.Now.Add(window))
	}
}

func windowUnmoved(e *env) {
	req := request("k")
	done := e.change(e.claim(req).Record, complete("result"))
	for range 4 {
		e.advance(window / 5)
		e.refuse("k")
		e.claim(req)
		e.change(done, complete("again"))
		e.stands(done)
	}
}

func windowEnds(e *env) {
	done := e.change(e.win("k"), complete("result"))
	e.advance(window - margin)
	equal(e, "expired before the end", e.expired("k"), false)
	e.refuse("k")
	e.advance(margin)
	equal(e, "expired at the end", e.expired("k"), true)
	e.stands(done)
	e.win("k")
}

func resultExpires(e *env) {
	for _, c := range []semel.Change{complete("result"), bury("reason")} {
		id := c.To.String()
		c.ResultFor = 2 * time.Hour
		rec := e.win(id)
		got := e.change(rec, c)
		e.instant("ResultUntil", got.ResultUntil, got.Now.Add(c.ResultFor))
		e.advance(c.ResultFor - margin)
		e.text("Result in time", e.refuse(id).Result, c.Result)
		e.advance(margin)
		want := got
		want.Result, want.Kept = nil, semel.KeptExpired
		for what, late := range map[string]semel.Record{
			"read": e.get(id), "refused": e.refuse(id), "repeated": e.change(rec, c), "lost": e.lose(rec, renew(lease)),
		} {
			if d := diff(late, want); d != "" {
				e.Errorf("the record %s after the retention differs:%s", what, d)
			}
		}
	}
}

func resultKept(e *env) {
	for id, d := range map[string]time.Duration{"zero": 0, "window": window, "longer": 2 * window} {
		c := complete("result")
		c.ResultFor = d
		got := e.change(e.win(id), c)
		equal(e, "ResultUntil is zero for "+id, got.ResultUntil.IsZero(), true)
	}
	e.advance(window - margin)
	e.text("Result", e.get("zero").Result, []byte("result"))
}
