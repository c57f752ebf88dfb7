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

func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeam()
		k := newKeeper(t, s, nil)
		l := mustClaim(t, k, nil)
		alive, stop := l.KeepAlive(t.Context())
		time.Sleep(10 * time.Minute) // sleep: fake time
		if !l.Trusted() || alive.Err() != nil {
			t.Error("the lease was not kept")
		}
		stop()
		stop()
		if alive.Err() == nil || errors.Is(context.Cause(alive), semel.ErrLost) {
			t.Errorf("after stop: %v", context.Cause(alive))
		}
		time.Sleep(time.Minute) // sleep: fake time
		if l.Trusted() {
			t.Error("renewed after stop")
		}
		alive, stop = l.KeepAlive(t.Context())
		defer stop()
		mustClaim(t, k, nil) // somebody takes it over
		<-alive.Done()
		wantErr(t, context.Cause(alive), semel.ErrLost)
	})
}

// A lease that was left alone holds copies off until it runs out. A late
// outcome can be recorded, a deferred release gives nothing away.
func TestLapse(t *testing.T) {
	for _, o := range []*semel.ClaimOptions{nil, marked} {
		synctest.Test(t, func(t *testing.T) {
			s, e := memstore.New(), newEar(t)
			k := newKeeper(t, s, &semel.Options{Observer: e.observer()})
			l := mustClaim(t, k, o)
			l.Lapse("the upstream did not answer")
			if l.Trusted() {
				t.Error("trusted after it was left alone")
			}
			wantErr(t, l.Renew(t.Context()), semel.ErrLost)
			if err := l.Release(t.Context()); err != nil {
				t.Error(err)
			}
			_, _, err := k.Claim(t.Context(), key, nil)
			wantErr(t, err, semel.ErrBusy)
			time.Sleep(30 * time.Second) // sleep: fake time
			if rec := wantState(t, s, semel.Held); !rec.Lapsed() || rec.InDoubt() != (o != nil) {
				t.Errorf("%+v", rec)
			}
			if err := l.Complete(t.Context(), []byte("late")); err != nil {
				t.Error(err)
			}
			l.Lapse("again")
			if err := l.Complete(t.Context(), []byte("late")); err != nil {
				t.Error(err)
			}
			wantState(t, s, semel.Done)
			wantSlice(t, "ends", e.endings(), semel.EndLapsed)
		})
	}
}

// A question goes on when its caller leaves, and the next caller finds the
// answer. One that panics decides nothing.
func TestQuestionOutlivesItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, memstore.New(), &semel.Options{Recover: func(_ context.Context, rec semel.Record) (semel.Finding, []byte, error) {
			time.Sleep(10 * time.Second) // sleep: fake time
			return semel.Happened, rec.Note, nil
		}})
		mustClaim(t, k, marked).Doubt(t.Context(), "?")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, rec, err := k.Claim(ctx, key, nil)
		wantErr(t, err, semel.ErrInDoubt)
		wantErr(t, err, context.DeadlineExceeded)
		if !rec.InDoubt() {
			t.Errorf("%+v", rec)
		}
		if err := k.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if _, rec, err = k.Claim(t.Context(), key, nil); err != nil || string(rec.Result) != "charge 7" {
			t.Errorf("%+v, %v", rec, err)
		}
	})
}

func TestPanickingRecoverFunc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, memstore.New(), &semel.Options{Recover: func(context.Context, semel.Record) (semel.Finding, []byte, error) {
			panic("boom")
		}})
		mustClaim(t, k, marked).Doubt(t.Context(), "?")
		for range 2 {
			_, _, err := k.Claim(t.Context(), key, nil)
			wantErr(t, err, semel.ErrInDoubt)
		}
	})
}
