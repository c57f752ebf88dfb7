package semel_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/memstore"
)

// A process that shuts down finishes the work that it has begun.
func TestDrainWaitsForLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, err := semel.New(memstore.New(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Drain(t.Context()); err != nil {
			t.Fatalf("a Keeper that did nothing: %v", err)
		}
		a, _, err := k.Claim(t.Context(), key, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := k.Claim(t.Context(), semel.Key{Scope: "tenant", ID: "other"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := k.Drain(ctx); err == nil {
			t.Fatal("did not wait for two leases")
		}
		drained := make(chan error, 1)
		go func() { drained <- k.Drain(t.Context()) }()
		if err := a.Complete(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(drained) != 0 {
			t.Fatal("did not wait for the second lease")
		}
		b.Lapse("left alone")
		if err := <-drained; err != nil {
			t.Fatal(err)
		}
	})
}
