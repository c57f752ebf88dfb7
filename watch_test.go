package semel_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
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
			time.Sleep(10 * time.Second) // sleep: fake time
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

// With many waiters of one key the store sees one poller, whose reads get
// rarer, and none for the answer: the waiters share what it saw.
func TestManyWaitersOnePoller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeam()
		var reads, claims atomic.Int32
		s.get = func(_ context.Context, next func() (semel.Record, error)) (semel.Record, error) {
			reads.Add(1)
			return next()
		}
		s.claim = func(_ context.Context, _ semel.Request, next func() (semel.Answer, error)) (semel.Answer, error) {
			claims.Add(1)
			return next()
		}
		// Another process holds it: nobody here is told of its end.
		other := mustClaim(t, newKeeper(t, s.Store, &semel.Options{Lease: 5 * time.Minute}), nil)
		k := newKeeper(t, s, &semel.Options{Wait: 2 * time.Minute})
		const waiters = 200
		done := make(chan semel.Outcome)
		for range waiters {
			go func() {
				o, err := k.Do(t.Context(), key, forbidden(t))
				if err != nil {
					t.Error(err)
				}
				done <- o
			}()
		}
		time.Sleep(time.Minute) // sleep: fake time
		synctest.Wait()
		if n := reads.Load(); n > 130 || n < 55 {
			t.Errorf("%d reads in a minute: one poller makes about one to two a second", n)
		}
		asked := claims.Load()
		if asked > 2*waiters {
			t.Errorf("%d claims of %d waiters", asked, waiters)
		}
		other.Complete(t.Context(), []byte("r"))
		start := time.Now()
		for range waiters {
			if o := <-done; string(o.Result) != "r" || !o.Replayed {
				t.Errorf("%+v", o)
			}
		}
		if time.Since(start) > time.Second {
			t.Errorf("the answer took %v", time.Since(start))
		}
		if claims.Load() != asked {
			t.Errorf("%d claims to learn what the poller saw", claims.Load()-asked)
		}
		if w, _, _ := k.Kept(); w != 0 {
			t.Errorf("%d keys are still watched", w)
		}
	})
}

// What waiting ends with, by what the holder does meanwhile.
func TestWaitingEnds(t *testing.T) {
	for _, c := range []struct {
		name    string
		holder  func(*semel.Lease)
		options *semel.ClaimOptions // the holder's
		err     error
		wins    bool
		after   time.Duration
	}{
		{"released", func(l *semel.Lease) { l.Release(context.Background()) }, nil, nil, true, 10 * time.Second},
		{"released with back-off", func(l *semel.Lease) {
			l.ReleaseWith(context.Background(), semel.ReleaseOptions{After: 5 * time.Second})
		}, nil, nil, true, 15 * time.Second},
		{"lapses", func(*semel.Lease) {}, nil, nil, true, 30 * time.Second},
		{"lapses marked", func(*semel.Lease) {}, marked, semel.ErrInDoubt, false, 30 * time.Second},
		{"doubted", func(l *semel.Lease) { l.Doubt(context.Background(), "?") }, marked, semel.ErrInDoubt, false, 10 * time.Second},
		{"dead", func(l *semel.Lease) { l.Dead(context.Background(), "no") }, nil, errAny, false, 10 * time.Second},
		{"held", func(l *semel.Lease) {
			for range 8 {
				l.Renew(context.Background())
				time.Sleep(10 * time.Second) // sleep: fake time
			}
		}, nil, semel.ErrBusy, false, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			k := newKeeper(t, memstore.New(), &semel.Options{Wait: time.Minute})
			l := mustClaim(t, k, c.options)
			go func() {
				time.Sleep(10 * time.Second) // sleep: fake time
				c.holder(l)
			}()
			start := time.Now()
			won, _, err := k.Claim(t.Context(), key, nil)
			took := time.Since(start)
			if (won != nil) != c.wins || c.err == nil && err != nil || c.err != nil && !errors.Is(c.err, errAny) && !errors.Is(err, c.err) {
				t.Errorf("%s: won %v, %v", c.name, won != nil, err)
			}
			if took < c.after || took > c.after+time.Second {
				t.Errorf("%s: after %v, want %v", c.name, took, c.after)
			}
			time.Sleep(5 * time.Minute) // sleep: fake time
		})
	}
}

// In doubt is answered at once, however patient the claim is.
func TestNobodyWaitsForDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, memstore.New(), &semel.Options{Wait: time.Hour})
		mustClaim(t, k, marked).Doubt(t.Context(), "?")
		start := time.Now()
		_, _, err := k.Claim(t.Context(), key, nil)
		wantErr(t, err, semel.ErrInDoubt)
		if time.Since(start) != 0 {
			t.Errorf("waited %v", time.Since(start))
		}
	})
}

// A waiter that leaves gets its context's cause, touches nothing, and takes the
// poller with it when it was the last.
func TestWaiterLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		k := newKeeper(t, s, &semel.Options{Wait: time.Hour})
		l := mustClaim(t, k, nil)
		gone := errors.New("the client hung up")
		ctx, cancel := context.WithCancelCause(t.Context())
		errs := make(chan error)
		for _, c := range []context.Context{ctx, t.Context()} {
			go func() {
				_, _, err := k.Claim(c, key, nil)
				errs <- err
			}()
		}
		time.Sleep(time.Second) // sleep: fake time
		cancel(gone)
		wantErr(t, <-errs, gone)
		if r, _ := s.Get(t.Context(), key); r.Token != l.Token() || r.State != semel.Held {
			t.Errorf("%+v", r)
		}
		if w, _, _ := k.Kept(); w != 1 {
			t.Errorf("%d keys are watched for the one who stays", w)
		}
		l.Complete(t.Context(), nil)
		if err := <-errs; err != nil {
			t.Error(err)
		}
		if w, _, _ := k.Kept(); w != 0 {
			t.Errorf("%d keys are watched for nobody", w)
		}
	})
}

// A store that is away while a claim waits is asked again until patience ends.
func TestWaitingThroughAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeam()
		k := newKeeper(t, s, &semel.Options{Wait: time.Minute, Lease: 5 * time.Minute})
		mustClaim(t, k, nil)
		s.get = func(context.Context, func() (semel.Record, error)) (semel.Record, error) {
			return semel.Record{}, errDown
		}
		start := time.Now()
		_, _, err := k.Claim(t.Context(), key, nil)
		wantErr(t, err, semel.ErrBusy)
		if time.Since(start) != time.Minute {
			t.Errorf("after %v", time.Since(start))
		}
	})
}

// waiting is a store that tells of changes.
type waiting struct {
	semel.Store
	waits atomic.Int32
}

func (w *waiting) Wait(ctx context.Context, key semel.Key, seen semel.Version) error {
	w.waits.Add(1)
	for {
		if rec, err := w.Get(ctx, key); err != nil || !seen.Equal(rec.Version()) {
			return err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestWaiterWakesEarlier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &waiting{Store: memstore.New()}
		other := mustClaim(t, newKeeper(t, s.Store, nil), nil)
		k := newKeeper(t, s, &semel.Options{Wait: time.Minute})
		done := make(chan time.Time)
		go func() {
			if o, err := k.Do(t.Context(), key, forbidden(t)); err != nil || string(o.Result) != "r" {
				t.Errorf("%+v, %v", o, err)
			}
			done <- time.Now()
		}()
		time.Sleep(20 * time.Second) // sleep: fake time
		end := time.Now()
		other.Complete(t.Context(), []byte("r"))
		if took := (<-done).Sub(end); took > 2*time.Millisecond || s.waits.Load() == 0 {
			t.Errorf("woken after %v, %d waits", took, s.waits.Load())
		}
		time.Sleep(time.Second) // every wait ends with its nap // sleep: fake time
	})
}

// C036: nothing is remembered of a key when nobody works on it.
func TestNothingGrowsWithKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, memstore.New(), &semel.Options{Wait: time.Minute, Recover: func(context.Context, semel.Record) (semel.Finding, []byte, error) {
			return semel.Happened, nil, nil
		}})
		done := make(chan bool)
		const keys = 1000
		for i := range keys {
			for _, note := range [][]byte{nil, {}} {
				go func() {
					key := semel.Key{Scope: strconv.Itoa(i), ID: "x"}
					k.DoWith(t.Context(), key, &semel.ClaimOptions{Note: note}, func(context.Context, *semel.Lease) ([]byte, error) {
						time.Sleep(time.Duration(i) * time.Millisecond) // sleep: fake time
						return nil, errWork
					})
					done <- true
				}()
			}
		}
		for range 2 * keys {
			<-done
		}
		if w, s, a := k.Kept(); w+s+a != 0 {
			t.Errorf("%d watched keys, %d scopes, %d questions are left", w, s, a)
		}
	})
}
