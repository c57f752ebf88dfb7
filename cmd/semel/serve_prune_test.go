package main

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/memstore"
)

// pruneStore has so many records to remove.
type pruneStore struct {
	semel.Store

	mu      sync.Mutex
	records int
	calls   int
}

func (s *pruneStore) Prune(_ context.Context, limit int) (semel.Pruned, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	n := min(limit, s.records)
	s.records -= n
	return semel.Pruned{Records: n}, nil
}

func (s *pruneStore) left() (records, calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records, s.calls
}

// In the background everything is removed, in batches, each period anew.
func TestPruningInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &pruneStore{Store: memstore.New(), records: 3*pruneBatch + 1}
		s := &server{metrics: newMetrics("v0"), log: newLogger(io.Discard, Log{})}
		keeper, err := semel.New(store, &semel.Options{Observer: s.observer("/")})
		if err != nil {
			t.Fatal(err)
		}
		s.keepers = []*semel.Keeper{keeper}
		s.cfg = &configSource{config: defaultConfig()}
		ctx, cancel := context.WithCancel(t.Context())
		stopped := s.startPruning(ctx)
		time.Sleep(59 * time.Second) // sleep: in a bubble
		synctest.Wait()
		if _, calls := store.left(); calls != 0 {
			t.Errorf("%d calls before the first period is over", calls)
		}
		time.Sleep(2 * time.Second) // sleep: in a bubble
		synctest.Wait()
		if records, calls := store.left(); records != 0 || calls != 4 {
			t.Errorf("%d records left after %d calls", records, calls)
		}
		cancel()
		<-stopped
	})
}

func TestSampler(t *testing.T) {
	var s sampler
	now := time.Now()
	for i, want := range []struct {
		after   int // milliseconds
		omitted int
		ok      bool
	}{{0, 0, true}, {10, 0, false}, {500, 0, false}, {1000, 2, true}, {1500, 0, false}, {2000, 1, true}} {
		if omitted, ok := s.allow(now.Add(time.Duration(want.after) * time.Millisecond)); omitted != want.omitted || ok != want.ok {
			t.Errorf("call %d: %d, %v", i, omitted, ok)
		}
	}
}

// A store is asked for its figures at most once in ten seconds, whoever scrapes.
func TestStoreFiguresAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := newStoreCollector(statser(func() (semel.Stats, error) {
			asked++
			return semel.Stats{}, io.ErrUnexpectedEOF
		}), time.Second, func(error) {})
		for range 100 {
			if _, err := c.ask(); err == nil {
				t.Fatal("no error")
			}
			time.Sleep(time.Second) // sleep: in a bubble
		}
		if asked != 10 {
			t.Errorf("asked %d times in 100 s", asked)
		}
	})
}

type statser func() (semel.Stats, error)

func (s statser) Stats(context.Context) (semel.Stats, error) { return s() }
