package semel_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/faulty"
	"github.com/semel-dev/semel/internal/history"
	"github.com/semel-dev/semel/memstore"
)

// C069: two processes do the same keys through connections that lose calls and
// answers, delay them, and deliver claims twice. Marked work never runs twice;
// unmarked work is done in the end, and never by two holders that trust their
// leases at once. The store's history obeys the rules.
func TestWorkUnderFaults(t *testing.T) {
	for seed := range uint64(20) {
		for _, o := range []*semel.ClaimOptions{{}, marked} {
			t.Run(fmt.Sprintf("seed=%d,marked=%v", seed, o.Note != nil), func(t *testing.T) {
				var rec history.Recorder
				synctest.Test(t, func(t *testing.T) { underFaults(t, &rec, seed, o) })
				rec.Verify(t)
			})
		}
	}
}

func underFaults(t *testing.T, rec *history.Recorder, seed uint64, o *semel.ClaimOptions) {
	t.Helper()
	const keys, processes, copies = 3, 2, 2
	store := history.Store{Store: memstore.New(), To: rec}
	e := newEar(t)
	effects := newTally(t)
	var all sync.WaitGroup
	keepers := make([]*semel.Keeper, processes)
	for p := range processes {
		plan := faulty.Plan{
			Seed: seed*processes + uint64(p), Before: 15, After: 15, Delay: 20, Copy: 5,
			MaxDelay: time.Second, OnCopy: rec.Copy,
		}
		keepers[p] = newKeeper(t, faulty.New(store, plan), &semel.Options{
			Observer: e.observer(), Lease: 5 * time.Second, Wait: 20 * time.Second,
		})
		for i := range keys * copies {
			key := semel.Key{Scope: "s", ID: fmt.Sprint(i % keys)}
			all.Go(func() { untilDone(t, keepers[p], key, o, effects) })
		}
	}
	all.Wait()
	for _, k := range keepers {
		if err := k.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if w, _, a := k.Kept(); w+a != 0 {
			t.Errorf("%d watched keys, %d questions are left", w, a)
		}
	}
	for i := range keys {
		key := semel.Key{Scope: "s", ID: fmt.Sprint(i)}
		stands, err := store.Store.Get(t.Context(), key)
		n := effects.runs[key]
		switch {
		case err != nil:
			t.Errorf("%v: %v", key, err)
		case o.Note != nil && n > 1:
			t.Errorf("%v: marked work ran %d times", key, n)
		case o.Note == nil && stands.State != semel.Done:
			t.Errorf("%v: not done but %v after %d runs", key, stands.State, n)
		case stands.State == semel.Done && n == 0:
			t.Errorf("%v: done and never run", key)
		}
	}
}

// untilDone is a caller that comes back until it has an answer.
func untilDone(t *testing.T, k *semel.Keeper, key semel.Key, o *semel.ClaimOptions, effects *tally) {
	t.Helper()
	for range 50 {
		_, err := k.DoWith(t.Context(), key, o, func(ctx context.Context, l *semel.Lease) ([]byte, error) {
			if err := l.Start(); err != nil {
				return nil, semel.NoEffect(err)
			}
			effects.begin(key)
			defer effects.end(key)
			select {
			case <-time.After(3 * time.Second):
				return []byte("r"), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		if err == nil {
			return
		}
		time.Sleep(time.Second) // sleep: fake time
	}
}

// tally counts effects, and complains about two at once.
type tally struct {
	t    *testing.T
	mu   sync.Mutex
	runs map[semel.Key]int
	now  map[semel.Key]int
}

func newTally(t *testing.T) *tally {
	t.Helper()
	return &tally{t: t, runs: map[semel.Key]int{}, now: map[semel.Key]int{}}
}

func (y *tally) begin(key semel.Key) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.runs[key]++
	if y.now[key]++; y.now[key] > 1 {
		y.t.Errorf("%v: two effects at once", key)
	}
}

func (y *tally) end(key semel.Key) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.now[key]--
}
