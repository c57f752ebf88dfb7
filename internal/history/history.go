// Package history records what concurrent callers asked of a store and what
// they heard, and judges afterwards whether the rules allow it: whether there
// is an order of the calls, for each key, in which every answer is the one
// that package rules gives. A call without an answer may have happened or not,
// at any time after it was sent.
//
// An order that the rules allow has one holder at a time, tokens that rise, no
// win or outcome lost that was acknowledged, and nothing done twice within its
// window: these are what the rules say.
package history

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/semel-dev/semel"
)

// Kind says what was called.
type Kind string

// The kinds of calls.
const (
	Claim  Kind = "claim"
	Update Kind = "update"
	Get    Kind = "get"
	Prune  Kind = "prune"
)

// never is the end of a call that was not answered.
const never = math.MaxInt

// Op is one call. Call and Return are places in the order of all events.
type Op struct {
	Kind         Kind
	Key          semel.Key // none for a prune
	Request      semel.Request
	Token        semel.Token
	Change       semel.Change
	Call, Return int
	Won, Again   bool
	Record       semel.Record
	Before       semel.Record
	Err          error
}

// unknown reports whether the caller does not know what became of the call.
func (op *Op) unknown() bool {
	return op.Return == never || op.Err != nil && !errors.Is(op.Err, semel.ErrLost) &&
		!errors.Is(op.Err, semel.ErrNotFound) && !errors.Is(op.Err, semel.ErrInvalid)
}

// Recorder collects the calls of any number of stores. The zero Recorder is
// ready. Its methods may be called concurrently.
type Recorder struct {
	mu   sync.Mutex
	last int // the last event's place
	ops  []*Op
}

// begin records a call.
func (r *Recorder) begin(op Op) *Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	op.Call, op.Return = r.last, never
	r.ops = append(r.ops, &op)
	return &op
}

// end records an answer.
func (r *Recorder) end(op *Op, fill func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	fill()
	op.Return = r.last
}

// Copy records that a copy of a claim is on its way, which nobody will hear of.
func (r *Recorder) Copy(req semel.Request) {
	r.begin(Op{Kind: Claim, Key: req.Key, Request: req})
}

// Ops returns the calls so far.
func (r *Recorder) Ops() []Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ops []Op
	for _, op := range r.ops {
		ops = append(ops, *op)
	}
	return ops
}

// Store is a [semel.Store] that records what passes through it.
type Store struct {
	semel.Store
	To *Recorder
}

// Claim implements [semel.Store].
func (s Store) Claim(ctx context.Context, req semel.Request) (semel.Answer, error) {
	op := s.To.begin(Op{Kind: Claim, Key: req.Key, Request: req})
	a, err := s.Store.Claim(ctx, req)
	s.To.end(op, func() { op.Won, op.Again, op.Record, op.Before, op.Err = a.Won, a.Again, a.Record, a.Before, err })
	return a, err
}

// Update implements [semel.Store].
func (s Store) Update(ctx context.Context, key semel.Key, token semel.Token, c semel.Change) (semel.Record, error) {
	op := s.To.begin(Op{Kind: Update, Key: key, Token: token, Change: c})
	rec, err := s.Store.Update(ctx, key, token, c)
	s.To.end(op, func() { op.Record, op.Err = rec, err })
	return rec, err
}

// Get implements [semel.Store].
func (s Store) Get(ctx context.Context, key semel.Key) (semel.Record, error) {
	op := s.To.begin(Op{Kind: Get, Key: key})
	rec, err := s.Store.Get(ctx, key)
	s.To.end(op, func() { op.Record, op.Err = rec, err })
	return rec, err
}

// Prune implements [semel.Store].
func (s Store) Prune(ctx context.Context, limit int) (semel.Pruned, error) {
	op := s.To.begin(Op{Kind: Prune})
	p, err := s.Store.Prune(ctx, limit)
	s.To.end(op, func() { op.Err = err })
	return p, err
}

// byKey splits a history: keys are independent of one another, but a prune
// concerns each.
func byKey(ops []Op) map[semel.Key][]Op {
	keys := map[semel.Key][]Op{}
	var prunes []Op
	for _, op := range ops {
		switch {
		case op.Kind == Prune:
			prunes = append(prunes, op)
		case errors.Is(op.Err, semel.ErrInvalid), op.Kind == Get && op.unknown(): // told nothing, did nothing
		default:
			keys[op.Key] = append(keys[op.Key], op)
		}
	}
	for key := range keys {
		keys[key] = append(keys[key], prunes...)
		slices.SortFunc(keys[key], func(a, b Op) int { return a.Call - b.Call })
	}
	return keys
}
