package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/semel-dev/semel"
)

var validCases = []testCase{
	{name: "valid: a claim with a lease outside the range is refused and changes nothing", run: badLeases},
	{name: "valid: a claim with a memory outside the range is refused and changes nothing", run: badKeeps},
	{name: "valid: a claim without an attempt id is refused and changes nothing", run: noAttempt},
	{name: "valid: an empty or too long key is refused by every method", run: badKeys},
	{name: "valid: a change with a duration outside the range is refused and changes nothing", run: badChanges},
	{name: "valid: a change that leads where none leads is refused and changes nothing", run: badMoves},
	{name: "valid: bytes and texts beyond their limits are refused and change nothing", run: badTexts},
	{name: "valid: the ends of every range are accepted", run: rangeEnds},
	{name: "valid: a context that is over changes nothing", run: contextOver},
}

// invalid fails the case unless err says that an argument was refused.
func (e *env) invalid(what string, err error) {
	e.Helper()
	if !errors.Is(err, semel.ErrInvalid) {
		e.Errorf("%s: error %v, want ErrInvalid", what, err)
	}
}

// oddDurations are no valid lease and no valid window.
var oddDurations = []time.Duration{
	math.MinInt64, -time.Hour, -1, 1, time.Microsecond, 20*time.Millisecond + 1, time.Second - 1, math.MaxInt64,
}

func badLeases(e *env) {
	for _, d := range append(oddDurations, 0, semel.MinLease-time.Millisecond, semel.MaxLease+time.Millisecond) {
		req := request(fmt.Sprint("lease ", int64(d)))
		req.Lease = d
		_, err := e.s.Claim(e.Context(), req)
		e.invalid(req.Key.ID, err)
		equal(e, "nothing is stored", e.gone(req.Key.ID), true)
	}
}

func badKeeps(e *env) {
	for _, d := range append(oddDurations, 0, semel.MaxWindow+time.Millisecond) {
		req := request(fmt.Sprint("keep ", int64(d)))
		req.Keep = d
		_, err := e.s.Claim(e.Context(), req)
		e.invalid(req.Key.ID, err)
		equal(e, "nothing is stored", e.gone(req.Key.ID), true)
	}
}

func noAttempt(e *env) {
	req := request("anonymous")
	req.Attempt = semel.AttemptID{}
	_, err := e.s.Claim(e.Context(), req)
	e.invalid("claim", err)
	equal(e, "nothing is stored", e.gone("anonymous"), true)
}

func badKeys(e *env) {
	long := strings.Repeat("k", semel.MaxKeyBytes+1)
	wide := strings.Repeat("é", semel.MaxKeyBytes/2+1)
	for _, k := range []semel.Key{{}, {Scope: "s"}, {ID: "i"}, {Scope: long, ID: "i"}, {Scope: "s", ID: long}, {Scope: "s", ID: wide}} {
		req := request("")
		req.Key = k
		_, err := e.s.Claim(e.Context(), req)
		e.invalid("claim", err)
		_, err = e.s.Update(e.Context(), k, 1, release())
		e.invalid("update", err)
		_, err = e.s.Get(e.Context(), k)
		e.invalid("get", err)
	}
}

func badChanges(e *env) {
	rec := e.win("k")
	refused := func(what string, c semel.Change) {
		e.Helper()
		_, err := e.s.Update(e.Context(), rec.Key, rec.Token, c)
		e.invalid(what, err)
		e.stands(rec)
	}
	for _, d := range oddDurations {
		refused(fmt.Sprint("renew for ", int64(d)), renew(d))
		for _, c := range ends() {
			c.For = d
			refused(fmt.Sprint(c.To, " for ", int64(d)), c)
			c.For, c.ResultFor = window, d
			refused(fmt.Sprint(c.To, " with the result for ", int64(d)), c)
			c.ResultFor, c.After = 0, d
			refused(fmt.Sprint(c.To, " after ", int64(d)), c)
		}
	}
	for _, c := range ends() {
		c.For = 0
		refused("an end without a window", c)
	}
}

// badTextsForPeople do not fit every store's text column.
var badTextsForPeople = []string{"a\x00b", "a\xff", strings.Repeat("a", semel.MaxTextBytes+1), strings.Repeat("é", semel.MaxTextBytes/2+1)}

func badTexts(e *env) {
	long := make([]byte, semel.MaxNoteBytes+1)
	spoilt := []func(*semel.Request){
		func(req *semel.Request) { req.Note = long },
		func(req *semel.Request) { req.Fingerprint = long[:semel.MaxFingerprintBytes+1] },
	}
	held := e.win("held")
	refused := func(what string, c semel.Change) {
		e.Helper()
		_, err := e.s.Update(e.Context(), held.Key, held.Token, c)
		e.invalid(what, err)
		e.stands(held)
	}
	for _, text := range badTextsForPeople {
		spoilt = append(spoilt,
			func(req *semel.Request) { req.By = text },
			func(req *semel.Request) { req.Source = semel.Source(text) })
		for _, c := range append(ends(), renew(lease)) {
			c.By = text
			refused("By", c)
			c.By, c.Why = "", text
			refused("Why", c)
		}
	}
	for _, c := range []semel.Change{renew(lease), doubt()} {
		c.Note = long
		refused("Note", c)
	}
	for i, spoil := range spoilt {
		_, err := e.s.Claim(e.Context(), request(fmt.Sprint(i), spoil))
		e.invalid(fmt.Sprint("claim ", i), err)
		equal(e, "nothing is stored", e.gone(fmt.Sprint(i)), true)
	}
}

func badMoves(e *env) {
	const states = 6 // two more than there are
	for from := range semel.State(states) {
		for to := range semel.State(states) {
			if from == semel.Held && to <= semel.Dead || (from == semel.Done || from == semel.Dead) && to == semel.Free {
				continue
			}
			rec := e.win(fmt.Sprint(from, to))
			_, err := e.s.Update(e.Context(), rec.Key, rec.Token, semel.Change{From: from, To: to, For: lease})
			e.invalid(fmt.Sprint(from, " to ", to), err)
			e.stands(rec)
		}
	}
}

func rangeEnds(e *env) {
	short, long := request("short"), request("long")
	short.Lease, short.Keep = semel.MinLease, time.Millisecond
	long.Note = bytes.Repeat([]byte("n"), semel.MaxNoteBytes)
	long.Fingerprint = long.Note[:semel.MaxFingerprintBytes]
	long.By = strings.Repeat("é", semel.MaxTextBytes/2)
	long.Lease, long.Keep = semel.MaxLease, semel.MaxWindow
	e.claim(short)
	rec := e.claim(long).Record
	c := complete("result")
	c.For, c.ResultFor = semel.MaxWindow, semel.MaxWindow
	equal(e, "bytes of the longest note", len(e.get("long").Note), semel.MaxNoteBytes)
	c.Why = long.By
	done := e.change(rec, c)
	equal(e, "the longest text for people", e.get("long").Why, c.Why)
	e.instant("the longest window's end", done.Until, done.Now.Add(semel.MaxWindow))
	c = release()
	c.For, c.After = time.Millisecond, semel.MaxWindow
	rec = e.change(e.win("back-off"), c)
	e.instant("the longest back-off's end", rec.NotBefore, rec.Now.Add(semel.MaxWindow))
}

func contextOver(e *env) {
	held := e.win("held")
	s, ctx := e.s, cancelled()
	over := func(what string, err error) {
		e.Helper()
		if !errors.Is(err, context.Canceled) {
			e.Errorf("%s: error %v, want context.Canceled", what, err)
		}
	}
	_, err := s.Claim(ctx, request("new"))
	over("claim", err)
	_, err = s.Update(ctx, held.Key, held.Token, complete("result"))
	over("update", err)
	_, err = s.Get(ctx, held.Key)
	over("get", err)
	_, err = s.Prune(ctx, 10)
	over("prune", err)
	equal(e, "the claim was not carried out", e.gone("new"), true)
	e.stands(held)
}
