// Package semeltest gives tests the real Keeper on a store in memory, the
// faults that are hard to meet otherwise, and a check at the end that the code
// under test left nothing held.
//
// What a handler must survive is not that the store fails, but that it does not
// know whether it did: the call was carried out and the answer was lost. [Lose]
// plays that for one call, [Cut] takes the store away from one call on. Calls
// are counted from 1, claims and updates together: a Do on a fresh key makes
// two, the claim and the outcome, with the renewals of long work between them.
//
// Leases, back-offs and windows pass in no time inside a bubble of
// testing/synctest, and every run is the same:
//
//	func TestPaymentSurvivesACrash(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			keeper := semeltest.New(t, nil)
//			keeper.Claim(t.Context(), order, nil) // a worker that dies
//			time.Sleep(30 * time.Second)          // its lease runs out at once
//			pay(t.Context(), keeper, order)
//		})
//	}
//
// Make the Keeper inside the bubble: its store's clock is the bubble's then.
package semeltest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/faulty"
	"github.com/semel-dev/semel/memstore"
)

// Setting changes what [New] makes.
type Setting func(*store)

// Lose lets the store carry out its n-th call and loses the answer. The caller
// gets an error that does not say so.
func Lose(n int) Setting { return func(s *store) { s.lose[n] = true } }

// Cut makes the store unreachable from its n-th call on, until the test ends.
func Cut(n int) Setting { return func(s *store) { s.cut = n } }

// Unsettled says which keys the test leaves held or in doubt on purpose. Of any
// other key that is an error, and so is one of these that is not.
func Unsettled(keys ...semel.Key) Setting {
	return func(s *store) {
		for _, key := range keys {
			s.unsettled[key] = true
		}
	}
}

// New returns a Keeper with opts on a store of its own in memory; nil means the
// defaults. When the test ends, the Keeper is drained, and the test fails if a
// lease was left held or a key in doubt, unless [Unsettled] says so. Invalid
// options end the test.
func New(t testing.TB, opts *semel.Options, settings ...Setting) *semel.Keeper {
	t.Helper()
	mem := memstore.New()
	s := &store{
		Store:     mem,
		lossy:     faulty.New(mem, faulty.Plan{After: 100}),
		away:      faulty.New(mem, faulty.Plan{Before: 100}),
		lose:      make(map[int]bool),
		unsettled: make(map[semel.Key]bool),
	}
	for _, set := range settings {
		set(s)
	}
	keeper, err := semel.New(s, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.mend()
		// A lease that was never ended is what check tells about; it is no reason
		// to wait for ever.
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = keeper.Drain(ctx)
		s.check(t)
	})
	return keeper
}

// store is a memstore behind a connection that breaks where a test wants it.
// Embedded, it lists and describes itself as the memstore does.
type store struct {
	*memstore.Store
	lossy, away *faulty.Store
	lose        map[int]bool
	cut         int // 0: never
	unsettled   map[semel.Key]bool

	mu    sync.Mutex
	calls int
}

// next returns the way that the next call takes.
func (s *store) next() semel.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	switch {
	case s.cut > 0 && s.calls >= s.cut:
		return s.away
	case s.lose[s.calls]:
		return s.lossy
	}
	return s.Store
}

func (s *store) Claim(ctx context.Context, req semel.Request) (semel.Answer, error) {
	return s.next().Claim(ctx, req)
}

func (s *store) Update(ctx context.Context, key semel.Key, token semel.Token, c semel.Change) (semel.Record, error) {
	return s.next().Update(ctx, key, token, c)
}

// Get is not counted, but a store that is away cannot be read either.
func (s *store) Get(ctx context.Context, key semel.Key) (semel.Record, error) {
	s.mu.Lock()
	away := s.cut > 0 && s.calls >= s.cut
	s.mu.Unlock()
	if away {
		return s.away.Get(ctx, key)
	}
	return s.Store.Get(ctx, key)
}

func (s *store) mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = 0
	clear(s.lose)
}

// check compares what is held with what the test expects to leave behind.
func (s *store) check(t testing.TB) {
	t.Helper()
	left := make(map[semel.Key]bool)
	for f := (semel.Filter{States: []semel.State{semel.Held}, Limit: 1000}); ; {
		page, err := s.List(context.Background(), f)
		if err != nil {
			t.Errorf("listing what is held: %v", err)
			return
		}
		for i := range page.Records {
			rec := &page.Records[i]
			left[rec.Key] = true
			if !s.unsettled[rec.Key] {
				t.Errorf("key %q is left %s", rec.Key, situation(rec))
			}
		}
		if f.Cursor = page.Cursor; f.Cursor == "" {
			break
		}
	}
	for key := range s.unsettled {
		if !left[key] {
			t.Errorf("key %q is neither held nor in doubt, as the test expects", key)
		}
	}
}

func situation(rec *semel.Record) string {
	switch {
	case rec.InDoubt():
		return "in doubt: " + rec.Why
	case rec.Lapsed():
		return "held by a lapsed lease: nobody ended it"
	}
	return "held: nobody ended its lease"
}
