package semel_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/memstore"
)

var (
	key     = semel.Key{Scope: "tenant", ID: "order-1"}
	errDown = errors.New("connection reset by peer")
	errWork = errors.New("the provider answered 503")
)

func newKeeper(t testing.TB, store semel.Store, o *semel.Options) *semel.Keeper {
	t.Helper()
	k, err := semel.New(store, o)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// seam is a store whose calls a test can stand in the way of. Nil functions
// let the call through.
type seam struct {
	semel.Store
	claim  func(ctx context.Context, req semel.Request, next func() (semel.Answer, error)) (semel.Answer, error)
	update func(ctx context.Context, c semel.Change, next func() (semel.Record, error)) (semel.Record, error)
	get    func(ctx context.Context, next func() (semel.Record, error)) (semel.Record, error)
}

func newSeam() *seam { return &seam{Store: memstore.New()} }

func (s *seam) Claim(ctx context.Context, req semel.Request) (semel.Answer, error) {
	next := func() (semel.Answer, error) { return s.Store.Claim(ctx, req) }
	if s.claim == nil {
		return next()
	}
	return s.claim(ctx, req, next)
}

func (s *seam) Update(ctx context.Context, key semel.Key, token semel.Token, c semel.Change) (semel.Record, error) {
	next := func() (semel.Record, error) { return s.Store.Update(ctx, key, token, c) }
	if s.update == nil {
		return next()
	}
	return s.update(ctx, c, next)
}

func (s *seam) Get(ctx context.Context, key semel.Key) (semel.Record, error) {
	next := func() (semel.Record, error) { return s.Store.Get(ctx, key) }
	if s.get == nil {
		return next()
	}
	return s.get(ctx, next)
}

// ear is an Observer that remembers. Its check holds every test that uses it
// to the rule that each won lease ends at most once.
type ear struct {
	mu     sync.Mutex
	claims []semel.ClaimEvent
	ends   []semel.EndEvent
	lates  []semel.LateEvent
	missed []time.Duration
	failed []string
	pruned semel.Pruned
}

func newEar(t testing.TB) *ear {
	t.Helper()
	e := &ear{}
	t.Cleanup(func() { e.check(t) })
	return e
}

func (e *ear) observer() *semel.Observer {
	return &semel.Observer{
		Claimed: func(c semel.ClaimEvent) { e.note(func() { e.claims = append(e.claims, c) }) },
		Ended:   func(x semel.EndEvent) { e.note(func() { e.ends = append(e.ends, x) }) },
		Late:    func(l semel.LateEvent) { e.note(func() { e.lates = append(e.lates, l) }) },
		WindowMissed: func(_ semel.Key, lateness time.Duration) {
			e.note(func() { e.missed = append(e.missed, lateness) })
		},
		StoreError: func(op string, _ error) { e.note(func() { e.failed = append(e.failed, op) }) },
		Pruned: func(p semel.Pruned) {
			e.note(func() { e.pruned.Records += p.Records; e.pruned.Results += p.Results })
		},
	}
}

func (e *ear) note(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

func (e *ear) verdicts() (v []semel.Verdict) {
	e.note(func() {
		for _, c := range e.claims {
			v = append(v, c.Verdict)
		}
	})
	return v
}

func (e *ear) endings() (v []semel.End) {
	e.note(func() {
		for _, x := range e.ends {
			v = append(v, x.End)
		}
	})
	return v
}

func (e *ear) check(t testing.TB) {
	t.Helper()
	won := map[semel.Token]int{}
	for _, c := range e.claims {
		switch c.Verdict {
		case semel.VerdictWon, semel.VerdictAgain, semel.VerdictTakenOver:
			won[c.Record.Token]++
		}
	}
	for _, x := range e.ends {
		won[x.Token]--
	}
	for token, n := range won {
		if n < 0 {
			t.Errorf("lease %d ended more often than it was won", token)
		}
		if n > 1 {
			t.Errorf("lease %d was won more than once", token)
		}
	}
}

func wantSlice[T comparable](t testing.TB, what string, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func wantErr(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("got error %v, want %v", got, want)
	}
}

func wantState(t testing.TB, s semel.Store, want semel.State) semel.Record {
	t.Helper()
	rec, err := s.Get(context.Background(), key)
	if err != nil {
		t.Errorf("no record: %v, want state %v", err, want)
	} else if rec.State != want {
		t.Errorf("state is %v, want %v", rec.State, want)
	}
	return rec
}

func mustClaim(t testing.TB, k *semel.Keeper, o *semel.ClaimOptions) *semel.Lease {
	t.Helper()
	l, rec, err := k.Claim(context.Background(), key, o)
	if l == nil {
		t.Fatalf("not won: %v, %v", rec.State, err)
	}
	return l
}

func work(result string) semel.Func {
	return func(context.Context, *semel.Lease) ([]byte, error) { return []byte(result), nil }
}

func failing(err error) semel.Func {
	return func(context.Context, *semel.Lease) ([]byte, error) { return nil, err }
}

func forbidden(t testing.TB) semel.Func {
	return func(context.Context, *semel.Lease) ([]byte, error) {
		t.Error("the work ran")
		return nil, nil
	}
}

var marked = &semel.ClaimOptions{Note: []byte("charge 7")}
