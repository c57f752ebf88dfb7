package semel_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/memstore"
)

// The first answer is lost, with and without effect: the claim is repeated
// under the same attempt id and version, and counts once.
func TestLostClaimAnswerIsRepeated(t *testing.T) {
	for _, committed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s, e := newSeam(), newEar(t)
			var sent []semel.Request
			s.claim = func(_ context.Context, req semel.Request, next func() (semel.Answer, error)) (semel.Answer, error) {
				sent = append(sent, req)
				if len(sent) == 1 {
					if committed {
						next()
					}
					return semel.Answer{}, errDown
				}
				return next()
			}
			k := newKeeper(t, s, &semel.Options{Observer: e.observer()})
			l := mustClaim(t, k, nil)
			if len(sent) != 2 || sent[0].Attempt != sent[1].Attempt || !sent[0].Seen.Equal(sent[1].Seen) {
				t.Errorf("committed=%v: sent %+v", committed, sent)
			}
			if l.Record().Attempts != 1 {
				t.Errorf("committed=%v: the repeat counted: %d attempts", committed, l.Record().Attempts)
			}
			want := semel.VerdictWon
			if committed {
				want = semel.VerdictAgain
			}
			wantSlice(t, "verdicts", e.verdicts(), want)
			wantSlice(t, "store errors", e.failed, "claim")
			l.Release(t.Context())
			if k.Undoing() != 0 {
				t.Error("something is being undone")
			}
		})
	}
}

// C107, rule 5: without any answer the caller gets the store's error, soon, and
// what the store granted is given back behind its back, also when the store
// stays away for a while. Nothing is left running.
func TestUnansweredClaimIsUndone(t *testing.T) {
	for _, away := range []time.Duration{0, time.Second, 10 * time.Minute, 2 * time.Hour} {
		for _, note := range [][]byte{nil, []byte("n")} {
			synctest.Test(t, func(t *testing.T) {
				s, e := newSeam(), newEar(t)
				n := 0
				var back time.Time
				s.claim = func(_ context.Context, _ semel.Request, next func() (semel.Answer, error)) (semel.Answer, error) {
					if n++; n <= 3 || time.Now().Before(back) {
						if n == 1 {
							next() // granted, answer lost
							back = time.Now().Add(away)
						}
						return semel.Answer{}, errDown
					}
					return next()
				}
				s.get = func(_ context.Context, next func() (semel.Record, error)) (semel.Record, error) {
					if time.Now().Before(back) {
						return semel.Record{}, errDown
					}
					return next()
				}
				k := newKeeper(t, s, &semel.Options{Observer: e.observer()})
				start := time.Now()
				l, _, err := k.Claim(t.Context(), key, &semel.ClaimOptions{Note: note})
				wantErr(t, err, errDown)
				if l != nil || time.Since(start) > time.Second {
					t.Errorf("away %v: lease %v after %v", away, l, time.Since(start))
				}
				if err := k.Drain(t.Context()); err != nil {
					t.Error(err)
				}
				rec := wantState(t, s.Store, semel.Free)
				if rec.Attempts != 0 {
					t.Errorf("away %v: an attempt that never ran counts: %d", away, rec.Attempts)
				}
				wantSlice(t, "verdicts", e.verdicts(), semel.VerdictError)
				wantSlice(t, "ends", e.endings())
			})
		}
	}
}

// Repeats end well before keep, counted from the first send: a forgotten record
// could not refuse a copy. After that only reads are sent.
func TestRepeatsEndBeforeKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeam()
		start := time.Now()
		var last time.Duration
		reads := 0
		s.claim = func(context.Context, semel.Request, func() (semel.Answer, error)) (semel.Answer, error) {
			last = time.Since(start)
			return semel.Answer{}, errDown
		}
		s.get = func(_ context.Context, next func() (semel.Record, error)) (semel.Record, error) {
			if reads++; reads < 3 {
				return semel.Record{}, errDown
			}
			return next()
		}
		keep := 10 * time.Minute
		k := newKeeper(t, s, &semel.Options{Keep: keep})
		k.Claim(t.Context(), key, nil)
		if err := k.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if last > keep/2 || last < keep/4 {
			t.Errorf("the last repeat was sent after %v, keep is %v", last, keep)
		}
		if reads != 3 {
			t.Errorf("%d reads", reads)
		}
	})
}

func TestDrainGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeam()
		s.claim = func(ctx context.Context, _ semel.Request, _ func() (semel.Answer, error)) (semel.Answer, error) {
			<-ctx.Done() // the store hangs
			return semel.Answer{}, ctx.Err()
		}
		k := newKeeper(t, s, nil)
		k.Claim(t.Context(), key, nil)
		if k.Undoing() != 1 {
			t.Fatal("nothing is being undone")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		start := time.Now()
		wantErr(t, k.Drain(ctx), context.DeadlineExceeded)
		if time.Since(start) != 20*time.Second || k.Undoing() != 0 {
			t.Errorf("after %v, %d are being undone", time.Since(start), k.Undoing())
		}
	})
}

// A caller that leaves while its claim is on its way does not tear it off; what
// it won is given back before Claim returns.
func TestCallerLeavesWhenWonArrives(t *testing.T) {
	for _, note := range [][]byte{nil, []byte("n")} {
		synctest.Test(t, func(t *testing.T) {
			s, e := newSeam(), newEar(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			gone := errors.New("the client hung up")
			s.claim = func(ctx context.Context, _ semel.Request, next func() (semel.Answer, error)) (semel.Answer, error) {
				cancel(gone)
				if ctx.Err() != nil {
					t.Error("the claim was torn off")
				}
				return next()
			}
			k := newKeeper(t, s, &semel.Options{Observer: e.observer()})
			l, _, err := k.Claim(ctx, key, &semel.ClaimOptions{Note: note})
			if l != nil {
				t.Error("a lease for nobody")
			}
			wantErr(t, err, gone)
			wantState(t, s, semel.Free)
			wantSlice(t, "verdicts", e.verdicts(), semel.VerdictError)
			wantSlice(t, "ends", e.endings())
		})
	}
}

func TestClaimWithEndedContextTouchesNothing(t *testing.T) {
	s := newSeam()
	s.claim = func(context.Context, semel.Request, func() (semel.Answer, error)) (semel.Answer, error) {
		t.Error("the store was asked")
		return semel.Answer{}, nil
	}
	for _, mk := range []func() (context.Context, context.CancelFunc){
		func() (context.Context, context.CancelFunc) {
			return context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		},
		func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx, cancel
		},
	} {
		ctx, cancel := mk()
		_, _, err := newKeeper(t, s, nil).Claim(ctx, key, nil)
		if ended := ctx.Err(); !errors.Is(err, ended) {
			t.Error(err)
		}
		cancel()
	}
}

// An open transaction on the key is no verdict: the attempt stays open under
// its id and version for as long as the caller is patient, and its duty is
// undone after that.
func TestOpenTransactionKeepsOneAttempt(t *testing.T) {
	for _, patient := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s, e := newSeam(), newEar(t)
			attempts := map[semel.AttemptID]int{}
			open := time.Now().Add(10 * time.Second)
			s.claim = func(_ context.Context, req semel.Request, next func() (semel.Answer, error)) (semel.Answer, error) {
				attempts[req.Attempt]++
				if time.Now().Before(open) {
					return semel.Answer{}, semel.ErrBusy
				}
				return next()
			}
			wait := time.Duration(0)
			if patient {
				wait = time.Minute
			}
			k := newKeeper(t, s, &semel.Options{Observer: e.observer(), Wait: wait})
			l, _, err := k.Claim(t.Context(), key, nil)
			if patient {
				if l == nil || len(attempts) != 1 {
					t.Fatalf("%v, %d attempts", err, len(attempts))
				}
				l.Release(t.Context())
			} else {
				wantErr(t, err, semel.ErrBusy)
				wantSlice(t, "verdicts", e.verdicts(), semel.VerdictBusy)
				if k.Undoing() != 1 {
					t.Error("the open attempt is not undone")
				}
			}
			if err := k.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			if !patient {
				wantState(t, s, semel.Free)
			}
			if len(e.failed) != 0 {
				t.Errorf("busy is not a failure of the store: %v", e.failed)
			}
		})
	}
}

// C037: a claim that is refused although nothing is found, or always meets
// another version, tries again, bounded, and never runs without a win.
func TestRacingVersionsEndBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeam()
		seen := map[semel.AttemptID]bool{}
		s.claim = func(_ context.Context, req semel.Request, _ func() (semel.Answer, error)) (semel.Answer, error) {
			if seen[req.Attempt] {
				t.Error("an attempt id that was answered is sent again")
			}
			seen[req.Attempt] = true
			return semel.Answer{}, nil
		}
		l, _, err := newKeeper(t, s, nil).Claim(t.Context(), key, nil)
		wantErr(t, err, semel.ErrBusy)
		if l != nil || len(seen) < 2 || len(seen) > 20 {
			t.Errorf("lease %v after %d attempts", l, len(seen))
		}
	})
}

// C007: one mismatch rule for every state, and it beats every other verdict.
// What was given back or is expired is about nothing any more.
func TestMismatchInEveryState(t *testing.T) {
	mine := &semel.ClaimOptions{Fingerprint: []byte("v1:amount 10")}
	for _, c := range []struct {
		name     string
		mark     bool
		prepare  func(k *semel.Keeper, l *semel.Lease)
		mismatch bool
	}{
		{"in flight", false, func(*semel.Keeper, *semel.Lease) {}, true},
		{"marked", true, func(*semel.Keeper, *semel.Lease) {}, true},
		{"done", false, func(_ *semel.Keeper, l *semel.Lease) { l.Complete(context.Background(), nil) }, true},
		{"dead", false, func(_ *semel.Keeper, l *semel.Lease) { l.Dead(context.Background(), "x") }, true},
		{"lapsed", false, func(*semel.Keeper, *semel.Lease) { time.Sleep(time.Minute) }, true},  // sleep: fake time
		{"in doubt", true, func(*semel.Keeper, *semel.Lease) { time.Sleep(time.Minute) }, true}, // sleep: fake time
		{"released", false, func(_ *semel.Keeper, l *semel.Lease) { l.Release(context.Background()) }, false},
		{"expired", false, func(_ *semel.Keeper, l *semel.Lease) {
			l.Complete(context.Background(), nil)
			time.Sleep(72 * time.Hour) // sleep: fake time
		}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, e := memstore.New(), newEar(t)
			k := newKeeper(t, s, &semel.Options{Observer: e.observer()})
			o := *mine
			if c.mark {
				o.Note = []byte("n")
			}
			c.prepare(k, mustClaim(t, k, &o))
			before, _ := s.Get(t.Context(), key)
			for range 2 { // the first refusal must not clear the way for a second
				other := &semel.ClaimOptions{Fingerprint: []byte("v1:amount 20"), Wait: time.Minute}
				l, _, err := k.Claim(t.Context(), key, other)
				if !c.mismatch {
					if l == nil {
						t.Errorf("%s: %v", c.name, err)
					}
					return
				}
				if l != nil || !errors.Is(err, semel.ErrMismatch) {
					t.Errorf("%s: lease %v, %v", c.name, l, err)
				}
			}
			after, _ := s.Get(t.Context(), key)
			if av, bv := after.Version(), before.Version(); !av.Equal(bv) {
				t.Errorf("%s: the mismatch changed the record: %+v", c.name, after)
			}
			same, _, err := k.Claim(t.Context(), key, mine)
			if same == nil && errors.Is(err, semel.ErrMismatch) {
				t.Errorf("%s: a retry of the same work is refused", c.name)
			}
			bare, _, err := k.Claim(t.Context(), key, nil)
			if bare == nil && errors.Is(err, semel.ErrMismatch) {
				t.Errorf("%s: a claim without a fingerprint was compared", c.name)
			}
		})
	}
}

func TestSameDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, memstore.New(), nil)
		l := mustClaim(t, k, &semel.ClaimOptions{Fingerprint: []byte("v1:a")})
		l.Complete(t.Context(), []byte("r"))
		called := 0
		same := func(stored, given []byte) bool {
			called++
			return bytes.Equal(stored[3:], given[3:])
		}
		for given, want := range map[string]error{"v2:a": nil, "v2:b": semel.ErrMismatch} {
			_, rec, err := k.Claim(t.Context(), key, &semel.ClaimOptions{Fingerprint: []byte(given), Same: same})
			if !errors.Is(err, want) || (want == nil && string(rec.Result) != "r") {
				t.Errorf("%s: %v, result %q", given, err, rec.Result)
			}
		}
		if called != 2 {
			t.Errorf("Same was called %d times", called)
		}
	})
}

// C001, C069, C071: a claim alone suppresses nothing for longer than its
// lease. A takeover keeps the first fingerprint and counts.
func TestCrashedHolderIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEar(t)
		k := newKeeper(t, memstore.New(), &semel.Options{Observer: e.observer()})
		first := mustClaim(t, k, &semel.ClaimOptions{Fingerprint: []byte("f"), By: "host:1"})
		time.Sleep(30*time.Second - time.Millisecond) // sleep: fake time
		_, rec, err := k.Claim(t.Context(), key, nil)
		wantErr(t, err, semel.ErrBusy)
		if rec.By != "host:1" || rec.Until.Sub(rec.Now) != time.Millisecond {
			t.Errorf("the refused one cannot tell who holds and how long: %+v", rec)
		}
		time.Sleep(time.Millisecond) // sleep: fake time
		second := mustClaim(t, k, nil)
		if r := second.Record(); r.Attempts != 2 || string(r.Fingerprint) != "f" || r.Token <= first.Token() || r.Note != nil {
			t.Errorf("%+v", r)
		}
		wantSlice(t, "verdicts", e.verdicts(), semel.VerdictWon, semel.VerdictBusy, semel.VerdictTakenOver)
	})
}

// C003, C071: a marked one is not; it answers in doubt until it is settled.
func TestCrashedMarkedHolderIsInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		k := newKeeper(t, s, nil)
		mustClaim(t, k, marked)
		time.Sleep(1000 * time.Hour) // sleep: fake time
		if p, err := k.Prune(t.Context(), 100); err != nil || p != (semel.Pruned{}) {
			t.Errorf("pruned %+v, %v", p, err)
		}
		_, rec, err := k.Claim(t.Context(), key, marked)
		wantErr(t, err, semel.ErrInDoubt)
		if string(rec.Note) != "charge 7" {
			t.Errorf("the refused one gets note %q", rec.Note)
		}
	})
}

// C083: every refusal carries the record that stands.
func TestVerdictsCarryWhatStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEar(t)
		k := newKeeper(t, memstore.New(), &semel.Options{Observer: e.observer()})
		l := mustClaim(t, k, nil)
		time.Sleep(time.Second) // sleep: fake time
		l.ReleaseWith(t.Context(), semel.ReleaseOptions{After: time.Minute, Why: "503"})
		_, rec, err := k.Claim(t.Context(), key, nil)
		wantErr(t, err, semel.ErrBusy)
		if rec.NotBefore.Sub(rec.Now) != time.Minute || rec.Why != "503" {
			t.Errorf("backing off: %+v", rec)
		}
		time.Sleep(time.Minute) // sleep: fake time
		l = mustClaim(t, k, nil)
		if l.Record().Attempts != 2 {
			t.Errorf("%d attempts", l.Record().Attempts)
		}
		l.Dead(t.Context(), "no such account")
		_, rec, err = k.Claim(t.Context(), key, nil)
		var dead *semel.DeadError
		if !errors.As(err, &dead) || dead.Reason != "no such account" || dead.Key != key || rec.State != semel.Dead {
			t.Errorf("%+v, %v", rec, err)
		}
		wantSlice(t, "verdicts", e.verdicts(), semel.VerdictWon, semel.VerdictBackingOff, semel.VerdictWon, semel.VerdictDead)
		var ages []time.Duration
		for _, c := range e.claims {
			ages = append(ages, c.Age())
		}
		wantSlice(t, "ages", ages, 0, time.Second, 0, 61*time.Second)
	})
}

// C037 under load: many claimants of many keys with the shortest leases; two
// holders never trust at once, and each key's work is done.
func TestRacersNeverOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, memstore.New(), &semel.Options{Lease: semel.MinLease, Wait: time.Minute})
		done := make(chan error)
		const keys, racers = 20, 8
		var ran, holding [keys]int
		for i := range keys {
			for range racers {
				go func() {
					_, err := k.Do(t.Context(), semel.Key{Scope: "s", ID: string(rune('a' + i))}, func(_ context.Context, l *semel.Lease) ([]byte, error) {
						ran[i]++
						if holding[i]++; holding[i] > 1 {
							t.Error("two at once")
						}
						time.Sleep(95 * time.Millisecond) // sleep: fake time
						holding[i]--
						return nil, nil
					})
					done <- err
				}()
			}
		}
		for range keys * racers {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		for i, n := range ran {
			if n != 1 {
				t.Errorf("key %d ran %d times", i, n)
			}
		}
	})
}
