// Package faulty spoils the way to a store: calls that never arrive, answers
// that are lost after the call was carried out, delays, and copies of claims
// that arrive again later. What it does follows from a seed and the order of
// the calls.
package faulty

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/semel-dev/semel"
)

// The errors that a caller gets. It cannot tell them apart: both mean that it
// does not know whether the call was carried out.
var (
	ErrBefore = errors.New("faulty: connection refused") // it was not
	ErrAfter  = errors.New("faulty: connection reset")   // it was
)

// Plan says how often each fault happens, in percent of the calls. The zero
// Plan spoils nothing.
type Plan struct {
	Seed   uint64
	Before int // the call does not arrive
	After  int // it is carried out and the answer is lost
	Delay  int // it arrives up to MaxDelay late
	Copy   int // a copy of some earlier claim arrives first, and its answer goes nowhere

	MaxDelay time.Duration       // 0: 1 ms
	OnCopy   func(semel.Request) // called before a copy arrives; may be nil
}

// Store is a [semel.Store] behind a faulty connection. Its methods may be
// called concurrently.
type Store struct {
	inner semel.Store
	plan  Plan

	mu   sync.Mutex
	rand *rand.Rand
	sent []semel.Request // claims that may arrive again
}

// New returns a store that spoils the way to inner.
func New(inner semel.Store, plan Plan) *Store {
	if plan.MaxDelay <= 0 {
		plan.MaxDelay = time.Millisecond
	}
	return &Store{inner: inner, plan: plan, rand: rand.New(rand.NewPCG(plan.Seed, 0))}
}

// fate is what happens to one call.
type fate struct {
	before, after bool
	delay         time.Duration
	copy          *semel.Request
}

// draw decides the fate of the next call.
func (s *Store) draw() fate {
	s.mu.Lock()
	defer s.mu.Unlock()
	happens := func(percent int) bool { return s.rand.IntN(100) < percent }
	f := fate{before: happens(s.plan.Before), after: happens(s.plan.After)}
	if happens(s.plan.Delay) {
		f.delay = time.Duration(s.rand.Int64N(int64(s.plan.MaxDelay)))
	}
	if happens(s.plan.Copy) && len(s.sent) > 0 {
		i := s.rand.IntN(len(s.sent))
		f.copy = &s.sent[i]
		s.sent = append(s.sent[:i:i], s.sent[i+1:]...)
	}
	return f
}

// through carries out a call as fate will have it.
func (s *Store) through(ctx context.Context, call func() error) error {
	f := s.draw()
	if f.copy != nil {
		if s.plan.OnCopy != nil {
			s.plan.OnCopy(*f.copy)
		}
		s.inner.Claim(ctx, *f.copy)
	}
	if f.delay > 0 {
		select {
		case <-time.After(f.delay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if f.before {
		return ErrBefore
	}
	err := call()
	if f.after {
		return ErrAfter
	}
	return err
}

// Claim implements [semel.Store].
func (s *Store) Claim(ctx context.Context, req semel.Request) (a semel.Answer, err error) {
	err = s.through(ctx, func() (err error) { a, err = s.inner.Claim(ctx, req); return err })
	s.mu.Lock()
	s.sent = append(s.sent, req)
	s.mu.Unlock()
	if lost(err) {
		a = semel.Answer{}
	}
	return a, err
}

// Update implements [semel.Store].
func (s *Store) Update(ctx context.Context, key semel.Key, token semel.Token, c semel.Change) (rec semel.Record, err error) {
	err = s.through(ctx, func() (err error) { rec, err = s.inner.Update(ctx, key, token, c); return err })
	if lost(err) {
		rec = semel.Record{}
	}
	return rec, err
}

// Get implements [semel.Store].
func (s *Store) Get(ctx context.Context, key semel.Key) (rec semel.Record, err error) {
	err = s.through(ctx, func() (err error) { rec, err = s.inner.Get(ctx, key); return err })
	if lost(err) {
		rec = semel.Record{}
	}
	return rec, err
}

// Prune implements [semel.Store].
func (s *Store) Prune(ctx context.Context, limit int) (p semel.Pruned, err error) {
	err = s.through(ctx, func() (err error) { p, err = s.inner.Prune(ctx, limit); return err })
	if lost(err) {
		p = semel.Pruned{}
	}
	return p, err
}

func lost(err error) bool { return errors.Is(err, ErrAfter) }
