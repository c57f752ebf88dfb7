package history

import (
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
)

// maxSteps bounds the search for an order of one key.
const maxSteps = 2_000_000

// Check returns an error if there is a key whose calls have no order that the
// rules allow. The error shows how far the best order came.
func Check(ops []Op) error {
	var errs []error
	for key, calls := range byKey(ops) {
		s := search{ops: calls, done: make([]bool, len(calls)), failed: map[string]bool{}}
		s.prepare(ops)
		if !s.order(state{}, 0, 0) {
			errs = append(errs, fmt.Errorf("key %q: %s", key, s.explain()))
		}
	}
	return errors.Join(errs...)
}

// search looks for an order of one key's calls, depth first, and remembers the
// dead ends.
type search struct {
	ops     []Op
	pruneBy []time.Time    // for each prune, a time that it did not exceed
	seen    []semel.Record // everything that was seen of the key
	done    []bool
	failed  map[string]bool
	steps   int
	best    []bool // the longest order so far, and where it led
	reached state
	length  int
}

// prepare collects what the calls tell of one another. A prune was over before
// the first answer to a call that began later.
func (s *search) prepare(all []Op) {
	s.pruneBy = make([]time.Time, len(s.ops))
	for i, op := range s.ops {
		s.seen = append(s.seen, op.Record, op.Before)
		if op.Kind != Prune {
			continue
		}
		s.pruneBy[i] = time.Unix(1<<40, 0)
		for _, later := range all {
			if now := later.Record.Now; later.Call > op.Return && !now.IsZero() && now.Before(s.pruneBy[i]) {
				s.pruneBy[i] = now
			}
		}
	}
	s.seen = distinct(s.seen)
}

func distinct(recs []semel.Record) []semel.Record {
	var out []semel.Record
	for _, rec := range recs {
		known := rec.Token == 0
		for i := len(out) - 1; i >= 0 && !known; i-- {
			known = same(rec, out[i])
		}
		if !known {
			out = append(out, rec)
		}
	}
	return out
}

// order reports whether the calls that are not done can be put in order after
// st. Those before first are all done or optional; lastCall is the latest call
// that is done.
func (s *search) order(st state, length, lastCall int) bool {
	ready, left := s.ready(lastCall)
	if !left {
		return true
	}
	if s.steps++; s.steps > maxSteps {
		return false
	}
	if length >= s.length {
		s.length, s.reached, s.best = length, st, append(s.best[:0], s.done...)
	}
	dead := s.name(st)
	if s.failed[dead] {
		return false
	}
	for _, i := range ready {
		for _, next := range st.step(&s.ops[i], s.seen, s.pruneBy[i]) {
			s.done[i] = true
			if s.order(next, length+1, max(lastCall, s.ops[i].Call)) {
				return true
			}
			s.done[i] = false
		}
	}
	s.failed[dead] = true
	return false
}

// ready returns the calls that may come next: those that began before the
// first of the others was answered. Answered ones come first, since the rest
// need not have happened. left reports whether an answered one is left.
func (s *search) ready(lastCall int) (ready []int, left bool) {
	end := never
	for i := range s.ops {
		if op := &s.ops[i]; !s.done[i] && !op.optional() {
			end, left = min(end, op.Return), true
		}
	}
	var optional []int
	for i := range s.ops {
		op := &s.ops[i]
		switch {
		case op.Call > end:
			return append(ready, optional...), left
		case s.done[i]:
		case !op.optional():
			ready = append(ready, i)
		case op.Return > lastCall || op.unknown():
			optional = append(optional, i)
		}
	}
	return append(ready, optional...), left
}

// optional reports whether op need not be part of the order.
func (op *Op) optional() bool { return op.Kind == Prune || op.unknown() }

// name identifies a point of the search: what is done and what it led to.
func (s *search) name(st state) string {
	b := make([]byte, 0, len(s.done)/8+128)
	var bits byte
	for i, done := range s.done {
		bits <<= 1
		if done {
			bits |= 1
		}
		if i%8 == 7 {
			b = append(b, bits)
		}
	}
	b = append(b, bits)
	r := &st.row
	return string(fmt.Appendf(b, "|%d %d %d %v %v %d %d %q %v %d %s", st.high, r.Token, r.State, r.Doubted, r.Recovered,
		r.Until.UnixMicro(), r.Attempts, r.Note, r.Note == nil, r.Generation, r.From))
}
