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
		time.Sleep(5 * time.Minute)
		o, err := k.DoWith(t.Context(), key, marked, work)
		if err != nil || string(o.Result) != "ok" || runs != 2 || asked != 3 {
			t.Fatalf("%+v, %v, ran %d times, asked %d times", o, err, runs, asked)
		}
	})
}
