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

func TestDoRunsOnceAndReplays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, memstore.New(), nil)
		runs := 0
		work := func(context.Context, *semel.Lease) ([]byte, error) {
			runs++
			time.Sleep(5 * time.Minute) // ten leases: it has to be renewed
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
		time.Sleep(time.Second)
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
