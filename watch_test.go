package semel_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/memstore"
)

func TestWaitGetsTheWinnersResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, memstore.New(), &semel.Options{Wait: time.Minute})
		go k.Do(t.Context(), key, func(context.Context, *semel.Lease) ([]byte, error) {
			time.Sleep(10 * time.Second)
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
