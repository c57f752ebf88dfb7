package semel_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/memstore"
)

var key = semel.Key{Scope: "tenant", ID: "order-1"}

// advance lets the fake clock of a synctest bubble run.
func advance(d time.Duration) {
	time.Sleep(d) // sleep: fake time
}

func newKeeper(t *testing.T, store semel.Store, o *semel.Options) *semel.Keeper {
	t.Helper()
	k, err := semel.New(store, o)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestDoRunsOnceAndReplays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, memstore.New(), nil)
		runs := 0
		work := func(context.Context, *semel.Lease) ([]byte, error) {
			runs++
			advance(5 * time.Minute) // ten leases: it has to be renewed
			return []byte("paid"), nil
		}
		first, err := k.Do(t.Context(), key, work)
		if err != nil || string(first.Result) != "paid" || first.Replayed {
			t.Fatalf("first: %+v, %v", first, err)
		}
		again, err := k.Do(t.Context(), key, work)
		if err != nil || string(again.Result) != "paid" || !again.Replayed {
			t.Fatalf("again: %+v, %v", again, err)
		}
		if runs != 1 {
			t.Fatalf("the work ran %d times", runs)
		}
	})
}

func TestDoFailureReleasesOrDoubts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, memstore.New(), nil)
		boom := errors.New("boom")
		fail := func(context.Context, *semel.Lease) ([]byte, error) { return nil, boom }
		if _, err := k.Do(t.Context(), key, fail); !errors.Is(err, boom) || errors.Is(err, semel.ErrInDoubt) {
			t.Fatal(err)
		}
		if _, err := k.Do(t.Context(), key, fail); !errors.Is(err, semel.ErrBusy) {
			t.Fatalf("backing off: %v", err)
		}
		advance(time.Second)
		marked := &semel.ClaimOptions{Note: []byte("call 7")}
		if _, err := k.DoWith(t.Context(), key, marked, fail); !errors.Is(err, boom) || !errors.Is(err, semel.ErrInDoubt) {
			t.Fatal(err)
		}
		if _, err := k.Do(t.Context(), key, fail); !errors.Is(err, semel.ErrInDoubt) || errors.Is(err, boom) {
			t.Fatal(err)
		}
		if _, err := k.Settle(t.Context(), key, semel.Settlement{Happened: true, Result: []byte("7")}); err != nil {
			t.Fatal(err)
		}
		o, err := k.Do(t.Context(), key, fail)
		if err != nil || string(o.Result) != "7" {
			t.Fatalf("%+v, %v", o, err)
		}
	})
}

func TestDoRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		finding := semel.DidNotHappen
		k := newKeeper(t, memstore.New(), &semel.Options{Recover: func(_ context.Context, r semel.Record) (semel.Finding, []byte, error) {
			asked++
			return finding, nil, nil
		}})
		marked := &semel.ClaimOptions{Note: []byte("call 7")}
		runs := 0
		work := func(context.Context, *semel.Lease) ([]byte, error) {
			if runs++; runs == 1 {
				return nil, errors.New("connection reset")
			}
			return []byte("ok"), nil
		}
		k.DoWith(t.Context(), key, marked, work)
		if _, err := k.DoWith(t.Context(), key, marked, work); !errors.Is(err, semel.ErrInDoubt) || asked != 1 {
			t.Fatalf("too early: %v, asked %d times", err, asked)
		}
		advance(5 * time.Minute)
		o, err := k.DoWith(t.Context(), key, marked, work)
		if err != nil || string(o.Result) != "ok" || runs != 2 || asked != 3 {
			t.Fatalf("%+v, %v, ran %d times, asked %d times", o, err, runs, asked)
		}
	})
}

func TestWaitGetsTheWinnersResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, memstore.New(), &semel.Options{Wait: time.Minute})
		go k.Do(t.Context(), key, func(context.Context, *semel.Lease) ([]byte, error) {
			advance(10 * time.Second)
			return []byte("first"), nil
		})
		synctest.Wait()
		start := time.Now()
		o, err := k.Do(t.Context(), key, func(context.Context, *semel.Lease) ([]byte, error) {
			t.Error("a copy ran")
			return nil, nil
		})
		if err != nil || string(o.Result) != "first" {
			t.Fatalf("%+v, %v", o, err)
		}
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("waited %v: completion in the same process should wake at once", took)
		}
	})
}
