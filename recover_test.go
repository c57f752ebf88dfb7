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
		time.Sleep(5 * time.Minute) // sleep: fake time
		o, err := k.DoWith(t.Context(), key, marked, work)
		if err != nil || string(o.Result) != "ok" || runs != 2 || asked != 3 {
			t.Fatalf("%+v, %v, ran %d times, asked %d times", o, err, runs, asked)
		}
	})
}

// Settling is a takeover: what it takes, and what it refuses. "Did not happen"
// needs the deadline of the effect to have passed since the lease ended.
func TestSettle(t *testing.T) {
	const deadline = 5 * time.Minute
	for _, c := range []struct {
		name   string
		age    time.Duration // since the lease ended
		settle semel.Settlement
		err    error
		state  semel.State
	}{
		{"still held", -time.Millisecond, semel.Settlement{Happened: true}, semel.ErrInvalid, semel.Held},
		{"happened", 0, semel.Settlement{Happened: true, Result: []byte("r")}, nil, semel.Done},
		{"not, too early", deadline - time.Millisecond, semel.Settlement{}, semel.ErrInvalid, semel.Held},
		{"not, forced", 0, semel.Settlement{Force: true}, nil, semel.Free},
		{"not, in time", deadline, semel.Settlement{}, nil, semel.Free},
	} {
		for _, doubted := range []bool{false, true} {
			if doubted && c.age < 0 {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				s := memstore.New()
				k := newKeeper(t, s, nil)
				l := mustClaim(t, k, marked)
				if doubted {
					l.Doubt(t.Context(), "?")
					time.Sleep(c.age) // sleep: fake time
				} else {
					time.Sleep(30*time.Second + c.age) // sleep: fake time
				}
				c.settle.By, c.settle.Why = "ops:ann", "asked the provider"
				rec, err := k.Settle(t.Context(), key, c.settle)
				if !errors.Is(err, c.err) || rec.State != c.state {
					t.Errorf("%s, doubted %v: %v, %v", c.name, doubted, rec.State, err)
				}
				stands := wantState(t, s, c.state)
				if err == nil && (stands.By != "ops:ann" || stands.Why != "asked the provider" || stands.Token <= l.Token() || stands.InDoubt()) {
					t.Errorf("%s: %+v", c.name, stands)
				}
			})
		}
	}
}

func TestSettleAndForgetRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		k := newKeeper(t, s, nil)
		settle := func() error { _, err := k.Settle(t.Context(), key, semel.Settlement{Happened: true}); return err }
		forget := func() error { _, err := k.Forget(t.Context(), key, "ops", "test"); return err }
		wantErr(t, settle(), semel.ErrNotFound)
		wantErr(t, forget(), semel.ErrNotFound)
		l := mustClaim(t, k, marked)
		wantErr(t, settle(), semel.ErrInvalid)
		wantErr(t, forget(), semel.ErrBusy)
		l.Doubt(t.Context(), "?")
		wantErr(t, forget(), semel.ErrInDoubt)
		if err := settle(); err != nil {
			t.Error(err)
		}
		wantErr(t, settle(), semel.ErrInvalid)
		if err := forget(); err != nil {
			t.Error(err)
		}
		wantErr(t, forget(), semel.ErrInvalid)
		if rec := wantState(t, s, semel.Free); rec.Generation != 1 {
			t.Errorf("%+v", rec)
		}
		if _, err := k.Settle(t.Context(), semel.Key{}, semel.Settlement{}); !errors.Is(err, semel.ErrInvalid) {
			t.Error(err)
		}
	})
}

// Two settle one doubt: the second is told, whatever it meant to say.
func TestSettlersRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeam()
		k := newKeeper(t, s, nil)
		mustClaim(t, k, marked).Doubt(t.Context(), "?")
		s.claim = func(_ context.Context, _ semel.Request, next func() (semel.Answer, error)) (semel.Answer, error) {
			s.claim = nil // another one is faster
			if _, err := k.Settle(t.Context(), key, semel.Settlement{Happened: true, Result: []byte("first")}); err != nil {
				t.Error(err)
			}
			return next()
		}
		rec, err := k.Settle(t.Context(), key, semel.Settlement{Happened: true, Result: []byte("second")})
		wantErr(t, err, semel.ErrBusy)
		if string(rec.Result) != "first" {
			t.Errorf("%+v", rec)
		}
	})
}

// A settling claim whose answer is lost for good is given back by doubt, not by
// release: that doubt was not this attempt's to lift.
func TestLostSettlementStaysInDoubt(t *testing.T) {
	for _, patient := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newSeam()
			k := newKeeper(t, s, nil)
			mustClaim(t, k, marked).Doubt(t.Context(), "?")
			n := 0
			s.claim = func(_ context.Context, _ semel.Request, next func() (semel.Answer, error)) (semel.Answer, error) {
				n++
				if n == 1 {
					next()
				}
				if n <= 3 || !patient {
					return semel.Answer{}, errDown
				}
				return next()
			}
			_, err := k.Settle(t.Context(), key, semel.Settlement{Happened: true})
			wantErr(t, err, errDown)
			k.Drain(t.Context())
			rec := wantState(t, s, semel.Held)
			if !rec.Doubted || !rec.Recovered || !rec.InDoubt() || string(rec.Note) != "charge 7" {
				t.Errorf("patient=%v: %+v", patient, rec)
			}
		})
	}
}

// What each finding leads to. A non-event needs two answers a second apart,
// after the deadline.
func TestFindings(t *testing.T) {
	const deadline = 5 * time.Minute
	broken := errors.New("provider: 503")
	type answer struct {
		f   semel.Finding
		err error
	}
	for _, c := range []struct {
		name    string
		age     time.Duration
		answers []answer
		asked   int
		state   semel.State // afterwards
		wins    bool
		err     error
	}{
		{"happened", 0, []answer{{semel.Happened, nil}}, 1, semel.Done, false, nil},
		{"unknown", deadline, []answer{{semel.Unknown, nil}}, 1, semel.Held, false, semel.ErrInDoubt},
		{"error", deadline, []answer{{semel.Happened, broken}}, 1, semel.Held, false, broken},
		{"not, too early", deadline - 1, []answer{{semel.DidNotHappen, nil}}, 1, semel.Held, false, semel.ErrInDoubt},
		{"not, twice", deadline, []answer{{semel.DidNotHappen, nil}, {semel.DidNotHappen, nil}}, 2, semel.Held, true, nil},
		{"not, then unknown", deadline, []answer{{semel.DidNotHappen, nil}, {semel.Unknown, nil}}, 2, semel.Held, false, semel.ErrInDoubt},
		{"not, then it had", deadline, []answer{{semel.DidNotHappen, nil}, {semel.Happened, nil}}, 2, semel.Held, false, semel.ErrInDoubt},
		{"not, then an error", deadline, []answer{{semel.DidNotHappen, nil}, {semel.DidNotHappen, broken}}, 2, semel.Held, false, broken},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := memstore.New()
			asked := 0
			var at []time.Time
			k := newKeeper(t, s, &semel.Options{Recover: func(_ context.Context, rec semel.Record) (semel.Finding, []byte, error) {
				if string(rec.Note) != "charge 7" || rec.Key != key {
					t.Errorf("asked about %+v", rec)
				}
				a := c.answers[asked]
				asked++
				at = append(at, time.Now())
				return a.f, []byte("found"), a.err
			}})
			mustClaim(t, k, marked).Doubt(t.Context(), "?")
			time.Sleep(c.age) // sleep: fake time
			l, rec, err := k.Claim(t.Context(), key, nil)
			if !errors.Is(err, c.err) || (l != nil) != c.wins || asked != c.asked {
				t.Errorf("%s: won %v, asked %d times, %v", c.name, l != nil, asked, err)
			}
			if c.err != nil && !errors.Is(err, semel.ErrInDoubt) {
				t.Errorf("%s: %v does not say in doubt", c.name, err)
			}
			if asked == 2 && at[1].Sub(at[0]) < time.Second {
				t.Errorf("%s: asked again after %v", c.name, at[1].Sub(at[0]))
			}
			if c.state == semel.Done && string(rec.Result) != "found" {
				t.Errorf("%s: %+v", c.name, rec)
			}
			if stands := wantState(t, s, c.state); c.wins && (stands.Note != nil || stands.Recovered) {
				t.Errorf("%s: the new attempt inherits %+v", c.name, stands)
			}
			if _, _, a := k.Kept(); a != 0 {
				t.Errorf("%s: a question is left", c.name)
			}
		})
	}
}

// One process asks about a key once at a time; the others hear in doubt.
func TestOneQuestionAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		k := newKeeper(t, memstore.New(), &semel.Options{Recover: func(context.Context, semel.Record) (semel.Finding, []byte, error) {
			asked++
			time.Sleep(time.Second) // sleep: fake time
			return semel.Happened, nil, nil
		}})
		mustClaim(t, k, marked).Doubt(t.Context(), "?")
		first := make(chan error)
		go func() {
			_, _, err := k.Claim(t.Context(), key, nil)
			first <- err
		}()
		synctest.Wait()
		_, _, err := k.Claim(t.Context(), key, nil)
		wantErr(t, err, semel.ErrInDoubt)
		if err := <-first; err != nil || asked != 1 {
			t.Errorf("%v, asked %d times", err, asked)
		}
	})
}

// While the question was asked, somebody else settled the key otherwise: what
// stands is the answer.
func TestFindingComesSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k *semel.Keeper
		k = newKeeper(t, memstore.New(), &semel.Options{Recover: func(ctx context.Context, _ semel.Record) (semel.Finding, []byte, error) {
			if _, err := k.Settle(ctx, key, semel.Settlement{Happened: true, Result: []byte("operator")}); err != nil {
				t.Error(err)
			}
			return semel.Happened, []byte("probe"), nil
		}})
		mustClaim(t, k, marked).Doubt(t.Context(), "?")
		_, rec, err := k.Claim(t.Context(), key, nil)
		if err != nil || string(rec.Result) != "operator" {
			t.Errorf("%+v, %v", rec, err)
		}
	})
}

func TestFoundResultTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, memstore.New(), &semel.Options{MaxResult: 3})
		mustClaim(t, k, marked).Doubt(t.Context(), "?")
		rec, err := k.Settle(t.Context(), key, semel.Settlement{Happened: true, Result: []byte("1234")})
		if err != nil || rec.Kept != semel.KeptTooLarge || rec.Size != 4 || rec.Result != nil {
			t.Errorf("%+v, %v", rec, err)
		}
	})
}
