package semeltest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semeltest"
)

var order = semel.Key{Scope: "tenant", ID: "order-1"}

// judge is a test whose failures are looked at.
type judge struct {
	testing.TB
	cleanups []func()
	failures []string
}

func (j *judge) Helper()          {}
func (j *judge) Cleanup(f func()) { j.cleanups = append(j.cleanups, f) }
func (j *judge) Errorf(format string, args ...any) {
	j.failures = append(j.failures, format)
}

func (j *judge) end() {
	for _, f := range j.cleanups {
		f()
	}
}

// What is left behind fails the test, and so does what should have been.
func TestChecksAtTheEnd(t *testing.T) {
	marked := &semel.ClaimOptions{Note: []byte("n")}
	claim := func(o *semel.ClaimOptions) func(context.Context, *semel.Keeper) {
		return func(ctx context.Context, k *semel.Keeper) { k.Claim(ctx, order, o) }
	}
	fail := func(ctx context.Context, k *semel.Keeper) {
		k.DoWith(ctx, order, marked, func(context.Context, *semel.Lease) ([]byte, error) { return nil, errors.New("cut off") })
	}
	succeed := func(ctx context.Context, k *semel.Keeper) {
		k.Do(ctx, order, func(context.Context, *semel.Lease) ([]byte, error) { return nil, nil })
	}
	for _, c := range []struct {
		name     string
		use      func(context.Context, *semel.Keeper)
		settings []semeltest.Setting
		failure  string
	}{
		{"nothing", func(context.Context, *semel.Keeper) {}, nil, ""},
		{"done", succeed, nil, ""},
		{"held", claim(nil), nil, "is left"},
		{"held on purpose", claim(nil), []semeltest.Setting{semeltest.Unsettled(order)}, ""},
		{"in doubt", fail, nil, "is left"},
		{"in doubt on purpose", fail, []semeltest.Setting{semeltest.Unsettled(order)}, ""},
		{"done, but expected in doubt", succeed, []semeltest.Setting{semeltest.Unsettled(order)}, "neither held nor in doubt"},
		{"claim undone at the end", claim(nil), []semeltest.Setting{semeltest.Lose(1), semeltest.Cut(2)}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			j := &judge{TB: t}
			c.use(t.Context(), semeltest.New(j, nil, c.settings...))
			j.end()
			if got := strings.Join(j.failures, "\n"); (got == "") != (c.failure == "") || !strings.Contains(got, c.failure) {
				t.Errorf("%s: failed with %q, want %q", c.name, got, c.failure)
			}
		})
	}
}

// A lost answer is no failure: the claim and the outcome are found again.
func TestLose(t *testing.T) {
	for n := 1; n <= 3; n++ {
		synctest.Test(t, func(t *testing.T) {
			k := semeltest.New(t, nil, semeltest.Lose(n))
			runs := 0
			for range 2 {
				o, err := k.Do(t.Context(), order, func(context.Context, *semel.Lease) ([]byte, error) {
					runs++
					return []byte("r"), nil
				})
				if err != nil || string(o.Result) != "r" || o.Attempts != 1 {
					t.Errorf("lost %d: %+v, %v", n, o, err)
				}
			}
			if runs != 1 {
				t.Errorf("lost %d: ran %d times", n, runs)
			}
		})
	}
}

func TestCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := semeltest.New(t, nil, semeltest.Cut(2), semeltest.Unsettled(order))
		o, err := k.Do(t.Context(), order, func(context.Context, *semel.Lease) ([]byte, error) { return []byte("r"), nil })
		if !errors.Is(err, semel.ErrUnrecorded) || string(o.Result) != "r" {
			t.Errorf("%+v, %v", o, err)
		}
		if _, err := k.Get(t.Context(), order); err == nil {
			t.Error("a store that is away was read")
		}
		time.Sleep(time.Hour) // sleep: fake time
	})
}
