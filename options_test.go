package semel_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/memstore"
)

// C002, C079: one range for every duration, in whole milliseconds, checked when
// the Keeper is made. Nothing overflows into "none".
func TestOptionsRange(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name string
		o    semel.Options
		ok   bool
	}{
		{"zero", semel.Options{}, true},
		{"lease negative", semel.Options{Lease: -1}, false},
		{"lease 1 ns", semel.Options{Lease: 1}, false},
		{"lease 1 µs", semel.Options{Lease: time.Microsecond}, false},
		{"lease 9 ms", semel.Options{Lease: 9 * time.Millisecond}, false},
		{"lease 9.1 ms is rounded up", semel.Options{Lease: 9100 * time.Microsecond}, true},
		{"lease 10 ms", semel.Options{Lease: semel.MinLease}, true},
		{"lease 999 ms", semel.Options{Lease: 999 * time.Millisecond}, true},
		{"lease 24 h", semel.Options{Lease: day}, true},
		{"lease beyond 24 h", semel.Options{Lease: day + 1}, false},
		{"lease longest", semel.Options{Lease: math.MaxInt64}, false},
		{"window 1 ns", semel.Options{Window: 1}, false},
		{"window 1 ms", semel.Options{Window: time.Millisecond}, false},
		{"window negative", semel.Options{Window: -day}, false},
		{"window 10 years", semel.Options{Window: semel.MaxWindow}, true},
		{"window 100 years", semel.Options{Window: 10 * semel.MaxWindow}, false},
		{"window longest", semel.Options{Window: math.MaxInt64}, false},
		{"window = wait + 2 leases + 1 min", semel.Options{Window: 5 * time.Minute, Wait: 2 * time.Minute, Lease: time.Minute}, true},
		{"window shorter than that", semel.Options{Window: 5*time.Minute - time.Millisecond, Wait: 2 * time.Minute, Lease: time.Minute}, false},
		{"wait negative", semel.Options{Wait: -1}, false},
		{"wait longest", semel.Options{Wait: math.MaxInt64}, false},
		{"result negative", semel.Options{ResultFor: -1}, false},
		{"keep negative", semel.Options{Keep: -1}, false},
		{"keep too short for the time-out", semel.Options{Keep: 20 * time.Second}, false},
		{"time-out negative", semel.Options{Timeout: -1}, false},
		{"time-out 1 ns", semel.Options{Timeout: 1}, false},
		{"deadline negative", semel.Options{EffectDeadline: -1}, false},
		{"no back-off", semel.Options{BackOff: -1}, true},
		{"longest back-off", semel.Options{BackOff: math.MaxInt64}, true},
		{"negative limit", semel.Options{MaxResult: -1}, false},
		{"negative quota", semel.Options{MaxNew: -1}, false},
		{"no bound on doubt", semel.Options{MaxInDoubt: -1}, true},
	} {
		k, err := semel.New(memstore.New(), &c.o)
		if c.ok && err != nil || !c.ok && (k != nil || !errors.Is(err, semel.ErrInvalid)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := semel.New(nil, nil); !errors.Is(err, semel.ErrInvalid) {
		t.Error(err)
	}
}

func TestClaimOptionsRange(t *testing.T) {
	s := newSeam()
	s.claim = func(_ context.Context, req semel.Request, next func() (semel.Answer, error)) (semel.Answer, error) {
		if err := req.Check(); err != nil {
			t.Errorf("sent %+v: %v", req, err)
		}
		return next()
	}
	k := newKeeper(t, s, nil)
	for _, c := range []struct {
		name string
		o    semel.ClaimOptions
		ok   bool
	}{
		{"lease 1 ns", semel.ClaimOptions{Lease: 1}, false},
		{"lease negative", semel.ClaimOptions{Lease: -time.Second}, false},
		{"lease longest", semel.ClaimOptions{Lease: math.MaxInt64}, false},
		{"window shorter than two leases", semel.ClaimOptions{Window: time.Minute}, false},
		{"window longest", semel.ClaimOptions{Window: math.MaxInt64}, false},
		{"result negative", semel.ClaimOptions{ResultFor: -time.Second}, false},
		{"no wait", semel.ClaimOptions{Wait: -1}, true},
		{"odd durations", semel.ClaimOptions{Lease: 12345678 * time.Nanosecond, Window: time.Hour + 1}, true},
		{"fingerprint too long", semel.ClaimOptions{Fingerprint: make([]byte, semel.MaxFingerprintBytes+1)}, false},
		{"note too long", semel.ClaimOptions{Note: make([]byte, semel.MaxNoteBytes+1)}, false},
		{"both just fit", semel.ClaimOptions{Fingerprint: make([]byte, semel.MaxFingerprintBytes), Note: make([]byte, semel.MaxNoteBytes)}, true},
	} {
		l, _, err := k.Claim(t.Context(), semel.Key{Scope: "s", ID: c.name}, &c.o)
		if c.ok && l == nil || !c.ok && !errors.Is(err, semel.ErrInvalid) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Each claim's own durations reach the store.
func TestClaimOptionsReplaceTheKeepers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, memstore.New(), &semel.Options{Wait: time.Hour, By: "keeper"})
		o := &semel.ClaimOptions{Lease: time.Minute, Window: 24 * 30 * time.Hour, ResultFor: time.Hour, Wait: -1, By: "claimer"}
		l := mustClaim(t, k, o)
		if r := l.Record(); r.Until.Sub(r.Now) != time.Minute || r.By != "claimer" {
			t.Errorf("%+v", r)
		}
		start := time.Now()
		if _, _, err := k.Claim(t.Context(), key, o); !errors.Is(err, semel.ErrBusy) || time.Since(start) != 0 {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		l.Complete(t.Context(), []byte("r"))
		r := l.Record()
		if r.Until.Sub(r.Now) != o.Window || r.ResultUntil.Sub(r.Now) != time.Hour {
			t.Errorf("%+v", r)
		}
	})
}

func TestSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEar(t)
		k := newKeeper(t, memstore.New(), &semel.Options{Observer: e.observer()})
		ctx := semel.WithSource(t.Context(), semel.QueueRedelivery)
		k.Do(ctx, key, work(""))
		k.DoWith(ctx, key, &semel.ClaimOptions{Source: semel.JobRerun}, work(""))
		k.Do(t.Context(), key, work(""))
		var got []semel.Source
		for _, c := range e.claims {
			got = append(got, c.Source)
		}
		wantSlice(t, "sources", got, semel.QueueRedelivery, semel.JobRerun, "")
		if r, _ := k.Get(t.Context(), key); r.Source != semel.QueueRedelivery {
			t.Errorf("stored %q", r.Source)
		}
	})
}

func TestNoObserverNoPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeam()
		for _, o := range []*semel.Observer{nil, {}} {
			k := newKeeper(t, s, &semel.Options{Observer: o, Window: time.Hour})
			k.Do(t.Context(), key, work("r"))
			time.Sleep(2 * time.Hour)    // sleep: fake time
			l := mustClaim(t, k, marked) // misses the window
			time.Sleep(time.Minute)      // sleep: fake time
			k.Settle(t.Context(), key, semel.Settlement{Happened: true})
			wantErr(t, l.Complete(t.Context(), nil), semel.ErrLost)
			k.Forget(t.Context(), key, "", "")
			s.get = func(context.Context, func() (semel.Record, error)) (semel.Record, error) {
				return semel.Record{}, errDown
			}
			k.Get(t.Context(), key)
			s.get = nil
			k.Prune(t.Context(), 1)
		}
	})
}
