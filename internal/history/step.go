package history

import (
	"bytes"
	"errors"
	"reflect"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules"
)

// state is what the store must hold of a key at one point of an order.
type state struct {
	row  rules.Row
	high semel.Token // the highest token so far: no later win is below it
	now  time.Time   // the latest time that an answer showed so far
}

// step returns the states to which op can lead from st, with its answer. None
// means that the answer is not the one of the rules.
func (st state) step(op *Op, seen []semel.Record, pruneBy time.Time) []state {
	switch {
	case op.Kind == Prune:
		if st.row.Token != 0 && rules.Prunable(&st.row, pruneBy) {
			return []state{{high: st.high, now: st.now}}
		}
		return nil
	case op.unknown():
		return st.unheard(op, seen)
	}
	if next, ok := st.heard(op); ok {
		return []state{next}
	}
	return nil
}

// heard follows a call with an answer.
func (st state) heard(op *Op) (state, bool) {
	now := op.Record.Now
	switch op.Kind {
	case Get:
		if st.row.Token == 0 {
			return st, errors.Is(op.Err, semel.ErrNotFound)
		}
		return st.at(now), op.Err == nil && same(op.Record, st.row.Seen(now))
	case Update:
		next, want, err := rules.Update(st.row, op.Token, &op.Change, now)
		if !errors.Is(op.Err, err) || !same(op.Record, want) {
			return st, false
		}
		return st.with(next).at(now), true
	}
	next, want := rules.Claim(st.row, 0, &op.Request, now)
	if want.Won && !want.Again { // any token above the last is right
		if op.Record.Token <= st.high {
			return st, false
		}
		next.Token, want.Record.Token = op.Record.Token, op.Record.Token
	}
	ok := op.Won == want.Won && op.Again == want.Again && same(op.Record, want.Record) && same(op.Before, want.Before)
	return st.with(next).at(now), ok
}

// unheard follows a call without an answer, as if it had been carried out. The
// time at which it was is known from the traces that it left in what others
// saw; one that left no trace need not have happened.
func (st state) unheard(op *Op, seen []semel.Record) []state {
	var next []state
	add := func(row rules.Row, now time.Time) {
		if !same(row.Record, st.row.Record) {
			next = append(next, st.with(row).at(now))
		}
	}
	for _, now := range append(times(op, seen), st.now) {
		if op.Kind == Update {
			if row, _, err := rules.Update(st.row, op.Token, &op.Change, now); err == nil {
				add(row, now)
			}
			continue
		}
		row, answer := rules.Claim(st.row, 0, &op.Request, now)
		if answer.Again {
			add(row, now)
		} else if answer.Won {
			for _, row.Token = range tokens(op, seen) {
				if row.Token > st.high {
					add(row, now)
				}
			}
		}
	}
	return next
}

// times returns when op may have happened, from the instants that it may have
// written.
func times(op *Op, seen []semel.Record) []time.Time {
	var all []time.Time
	for _, rec := range seen {
		switch {
		case op.Kind == Claim && rec.Attempt == op.Request.Attempt:
			all = append(all, rec.Until.Add(-op.Request.Lease), time.UnixMicro(int64(rec.Token)), rec.Created)
		case op.Kind == Update && rec.Token == op.Token:
			all = append(all, rec.Until.Add(-op.Change.For), rec.NotBefore.Add(-op.Change.After), rec.ResultUntil.Add(-op.Change.ResultFor))
		}
	}
	return all
}

// tokens returns those that op may have been given.
func tokens(op *Op, seen []semel.Record) []semel.Token {
	var all []semel.Token
	for _, rec := range seen {
		if rec.Attempt == op.Request.Attempt {
			all = append(all, rec.Token)
		}
	}
	return all
}

func (st state) with(row rules.Row) state {
	st.row, st.high = row, max(st.high, row.Token)
	return st
}

func (st state) at(now time.Time) state {
	if now.After(st.now) {
		st.now = now
	}
	return st
}

// same compares two records but for the time at which they were read.
func same(a, b semel.Record) bool {
	if a.Token == 0 && b.Token == 0 {
		return true
	}
	for _, p := range [...][2]*time.Time{{&a.Created, &b.Created}, {&a.Until, &b.Until}, {&a.NotBefore, &b.NotBefore}, {&a.ResultUntil, &b.ResultUntil}} {
		if !p[0].Equal(*p[1]) {
			return false
		}
		*p[0] = *p[1]
	}
	for _, p := range [...][2]*[]byte{{&a.Note, &b.Note}, {&a.Result, &b.Result}, {&a.Fingerprint, &b.Fingerprint}} {
		if (*p[0] == nil) != (*p[1] == nil) || !bytes.Equal(*p[0], *p[1]) {
			return false
		}
		*p[0] = *p[1]
	}
	a.Now = b.Now
	return reflect.DeepEqual(a, b)
}
