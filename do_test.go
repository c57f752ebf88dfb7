package semel_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
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
			time.Sleep(5 * time.Minute) // ten leases: it has to be renewed // sleep: fake time
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
		time.Sleep(time.Second) // sleep: fake time
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

// What each way out of fn does to the key, unmarked and marked, and what Do
// returns. C021: no way out leaves it held without an end.
func TestWaysOutOfWork(t *testing.T) {
	for _, c := range []struct {
		name             string
		err              error
		unmarked, marked semel.End
	}{
		{"success", nil, semel.EndDone, semel.EndDone},
		{"error", errWork, semel.EndReleased, semel.EndDoubted},
		{"no effect", semel.NoEffect(errWork), semel.EndReleased, semel.EndReleased},
		{"permanent", semel.Permanent(errWork), semel.EndDead, semel.EndDead},
		{"in doubt", semel.InDoubt(errWork), semel.EndDoubted, semel.EndDoubted},
		{"wrapped", fmt.Errorf("pay: %w", semel.Permanent(errWork)), semel.EndDead, semel.EndDead},
		{"outermost wins", semel.NoEffect(semel.InDoubt(errWork)), semel.EndReleased, semel.EndReleased},
	} {
		for _, mark := range []string{"", "from the start", "by the work"} {
			synctest.Test(t, func(t *testing.T) {
				s, e := memstore.New(), newEar(t)
				k := newKeeper(t, s, &semel.Options{Observer: e.observer()})
				o, want := &semel.ClaimOptions{}, c.unmarked
				if mark != "" {
					want = c.marked
				}
				if mark == "from the start" {
					o = marked
				}
				out, err := k.DoWith(t.Context(), key, o, func(ctx context.Context, l *semel.Lease) ([]byte, error) {
					if mark == "by the work" {
						if err := l.Mark(ctx, nil); err != nil {
							t.Error(err)
						}
					}
					return []byte("r"), c.err
				})
				if string(out.Result) != "r" || out.Replayed || out.Token == 0 {
					t.Errorf("%s, marked %q: outcome %+v", c.name, mark, out)
				}
				if !errors.Is(err, c.err) || errors.Is(err, semel.ErrInDoubt) != (want == semel.EndDoubted) {
					t.Errorf("%s, marked %q: error %v", c.name, mark, err)
				}
				wantSlice(t, c.name+", marked "+mark, e.endings(), want)
				states := map[semel.End]semel.State{
					semel.EndDone: semel.Done, semel.EndReleased: semel.Free,
					semel.EndDead: semel.Dead, semel.EndDoubted: semel.Held,
				}
				rec := wantState(t, s, states[want])
				if backs := rec.NotBefore.After(rec.Now); backs != (want == semel.EndReleased) {
					t.Errorf("%s, marked %q: back-off %v", c.name, mark, backs)
				}
				if (want == semel.EndDoubted) != rec.InDoubt() {
					t.Errorf("%s, marked %q: in doubt is %v", c.name, mark, rec.InDoubt())
				}
			})
		}
	}
}

func TestMeaningOfNilIsNil(t *testing.T) {
	if semel.NoEffect(nil) != nil || semel.Permanent(nil) != nil || semel.InDoubt(nil) != nil {
		t.Error("a wrapped nil is not nil")
	}
}

// A panic and Goexit end the lease like an error, and go on.
func TestPanicAndGoexit(t *testing.T) {
	for _, o := range []*semel.ClaimOptions{nil, marked} {
		for _, exit := range []func(){func() { panic("boom") }, runtime.Goexit, func() { var p *int; *p = 1 }} {
			synctest.Test(t, func(t *testing.T) {
				s, e := memstore.New(), newEar(t)
				k := newKeeper(t, s, &semel.Options{Observer: e.observer()})
				ended := make(chan any)
				returned := false
				go func() {
					defer func() { ended <- recover() }()
					k.DoWith(t.Context(), key, o, func(context.Context, *semel.Lease) ([]byte, error) {
						exit()
						return nil, nil
					})
					returned = true
				}()
				<-ended
				if returned {
					t.Error("Do returned")
				}
				want := semel.EndReleased
				if o != nil {
					want = semel.EndDoubted
				}
				wantSlice(t, "ends", e.endings(), want)
			})
		}
	}
}

// C058, C076: a failed attempt frees the key for the next, with a back-off
// that doubles; the attempts are counted, the effect happens once.
func TestFailThreeTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		k := newKeeper(t, s, &semel.Options{Wait: time.Hour})
		runs := 0
		var backOffs []time.Duration
		for {
			out, err := k.Do(t.Context(), key, func(context.Context, *semel.Lease) ([]byte, error) {
				if runs++; runs < 4 {
					return nil, errWork
				}
				return []byte("sent"), nil
			})
			if err == nil {
				if out.Attempts != 4 || runs != 4 {
					t.Errorf("%d runs, %+v", runs, out)
				}
				break
			}
			rec := wantState(t, s, semel.Free)
			backOffs = append(backOffs, rec.NotBefore.Sub(rec.Now))
		}
		for i, d := range backOffs {
			if limit := time.Second << i; d < limit/2 || d > limit {
				t.Errorf("back-off %d is %v", i+1, d)
			}
		}
	})
}

// Shutdown: the context ends under the work. An unmarked key is free at once
// and the attempt forgiven; a marked one is never released.
func TestShutdown(t *testing.T) {
	for _, o := range []*semel.ClaimOptions{nil, marked} {
		synctest.Test(t, func(t *testing.T) {
			s := memstore.New()
			ctx, cancel := context.WithCancel(t.Context())
			_, err := newKeeper(t, s, nil).DoWith(ctx, key, o, func(ctx context.Context, l *semel.Lease) ([]byte, error) {
				cancel()
				<-ctx.Done()
				return nil, ctx.Err()
			})
			wantErr(t, err, context.Canceled)
			if o == nil {
				rec := wantState(t, s, semel.Free)
				if rec.Attempts != 0 || !rec.Claimable(false) {
					t.Errorf("%+v", rec)
				}
			} else if rec := wantState(t, s, semel.Held); !rec.InDoubt() {
				t.Errorf("%+v", rec)
			}
		})
	}
}

func TestNestedDoIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, memstore.New(), &semel.Options{Wait: time.Hour})
		other := semel.Key{Scope: "tenant", ID: "order-2"}
		start := time.Now()
		_, err := k.Do(t.Context(), key, func(ctx context.Context, _ *semel.Lease) ([]byte, error) {
			_, err := k.Do(ctx, other, func(ctx context.Context, _ *semel.Lease) ([]byte, error) {
				_, err := k.Do(ctx, key, forbidden(t))
				wantErr(t, err, semel.ErrInvalid)
				return nil, nil
			})
			return nil, err
		})
		if err != nil || time.Since(start) != 0 {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// C075: an outage of the store shorter than trust is survived; a longer one
// ends the work before the lease does, unless it is marked. The store may fail
// at once or hang.
func TestStoreAwayDuringWork(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		for _, c := range []struct {
			name    string
			options *semel.ClaimOptions
			outage  time.Duration
			cancels bool
		}{
			{"short", nil, 9 * time.Second, false},
			{"long", nil, 2 * time.Minute, true},
			{"short, marked", marked, 9 * time.Second, false},
			{"long, marked", marked, 2 * time.Minute, false},
		} {
			synctest.Test(t, func(t *testing.T) {
				s, e := newSeam(), newEar(t)
				start := time.Now()
				from, to := start.Add(5*time.Second), start.Add(5*time.Second+c.outage)
				s.update = func(ctx context.Context, _ semel.Change, next func() (semel.Record, error)) (semel.Record, error) {
					if now := time.Now(); now.Before(from) || now.After(to) {
						return next()
					}
					if hangs {
						<-ctx.Done()
						return semel.Record{}, ctx.Err()
					}
					return semel.Record{}, errDown
				}
				var until time.Time
				k := newKeeper(t, s, &semel.Options{Observer: e.observer(), Timeout: 20 * time.Second})
				_, err := k.DoWith(t.Context(), key, c.options, func(ctx context.Context, l *semel.Lease) ([]byte, error) {
					until = start.Add(30 * time.Second)
					select {
					case <-ctx.Done():
						if !c.cancels || !time.Now().Before(until) {
							t.Errorf("%s, hangs=%v: cancelled after %v: %v", c.name, hangs, time.Since(start), context.Cause(ctx))
						}
						wantErr(t, context.Cause(ctx), semel.ErrLost)
						return nil, context.Cause(ctx)
					case <-time.After(5 * time.Minute):
						if c.cancels {
							t.Errorf("%s, hangs=%v: the work went on", c.name, hangs)
						}
						if !l.Trusted() {
							t.Errorf("%s, hangs=%v: trust did not return", c.name, hangs)
						}
						return nil, nil
					}
				})
				if !c.cancels && err != nil {
					t.Errorf("%s, hangs=%v: %v", c.name, hangs, err)
				}
				if len(e.ends) != 1 {
					t.Errorf("%s: ends %v", c.name, e.ends)
				}
			})
		}
	}
}

// A definite loss cancels at once, marked or not, with ErrLost as the cause.
func TestDefiniteLossCancels(t *testing.T) {
	for _, o := range []*semel.ClaimOptions{nil, marked} {
		synctest.Test(t, func(t *testing.T) {
			s, e := newSeam(), newEar(t)
			k := newKeeper(t, s, &semel.Options{Observer: e.observer()})
			s.update = func(context.Context, semel.Change, func() (semel.Record, error)) (semel.Record, error) {
				return semel.Record{State: semel.Held, Token: 1 << 50}, semel.ErrLost
			}
			start := time.Now()
			out, err := k.DoWith(t.Context(), key, o, func(ctx context.Context, l *semel.Lease) ([]byte, error) {
				<-ctx.Done()
				wantErr(t, context.Cause(ctx), semel.ErrLost)
				wantErr(t, l.Start(), semel.ErrLost)
				return []byte("r"), nil // it was too late to stop
			})
			wantErr(t, err, semel.ErrLost)
			if time.Since(start) != 10*time.Second || string(out.Result) != "r" {
				t.Errorf("after %v: %+v", time.Since(start), out)
			}
			wantSlice(t, "ends", e.endings(), semel.EndLost)
			if len(e.lates) != 1 || e.lates[0].Agrees || e.lates[0].End != semel.EndDone {
				t.Errorf("late outcomes: %+v", e.lates)
			}
		})
	}
}

func TestUnrecordedResultIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := newSeam(), newEar(t)
		s.update = func(context.Context, semel.Change, func() (semel.Record, error)) (semel.Record, error) {
			return semel.Record{}, errDown
		}
		out, err := newKeeper(t, s, &semel.Options{Observer: e.observer()}).Do(t.Context(), key, work("paid"))
		wantErr(t, err, semel.ErrUnrecorded)
		if string(out.Result) != "paid" {
			t.Errorf("%+v", out)
		}
		wantSlice(t, "ends", e.endings(), semel.EndUnrecorded)
	})
}

// C072: work of many leases is never taken over while it renews.
func TestLongWorkKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, memstore.New(), nil)
		go k.Do(t.Context(), key, func(context.Context, *semel.Lease) ([]byte, error) {
			time.Sleep(15 * time.Minute) // sleep: fake time
			return nil, nil
		})
		synctest.Wait()
		for range 179 {
			time.Sleep(5 * time.Second) // sleep: fake time
			if _, _, err := k.Claim(t.Context(), key, nil); !errors.Is(err, semel.ErrBusy) {
				t.Error(err)
			}
		}
		time.Sleep(time.Minute) // sleep: fake time
	})
}

// C015: what is too large is done all the same, and the first caller gets it.
func TestResultsThatAreNotKept(t *testing.T) {
	for result, kept := range map[string]semel.Kept{"": "", "1234": "", "12345": semel.KeptTooLarge, "nil": semel.KeptNone} {
		synctest.Test(t, func(t *testing.T) {
			k := newKeeper(t, memstore.New(), &semel.Options{MaxResult: 4})
			bytes := []byte(result)
			if result == "nil" {
				bytes = nil
			}
			first, err := k.Do(t.Context(), key, func(context.Context, *semel.Lease) ([]byte, error) { return bytes, nil })
			if err != nil || !slices.Equal(first.Result, bytes) || first.Kept != kept {
				t.Errorf("%q: %+v, %v", result, first, err)
			}
			again, err := k.Do(t.Context(), key, forbidden(t))
			if err != nil || !again.Replayed || again.Kept != kept || again.Size != int64(len(bytes)) {
				t.Errorf("%q: %+v, %v", result, again, err)
			}
			if kept == "" && string(again.Result) != result {
				t.Errorf("%q was replayed as %q", result, again.Result)
			}
		})
	}
}

func TestResultRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEar(t)
		k := newKeeper(t, memstore.New(), &semel.Options{ResultFor: time.Hour, Observer: e.observer()})
		k.Do(t.Context(), key, work("r"))
		time.Sleep(time.Hour - time.Millisecond) // sleep: fake time
		if out, _ := k.Do(t.Context(), key, forbidden(t)); string(out.Result) != "r" {
			t.Errorf("%+v", out)
		}
		time.Sleep(time.Millisecond) // sleep: fake time
		out, err := k.Do(t.Context(), key, forbidden(t))
		if err != nil || out.Result != nil || out.Kept != semel.KeptExpired {
			t.Errorf("%+v, %v", out, err)
		}
		k.Prune(t.Context(), 10)
		if e.pruned != (semel.Pruned{Results: 1}) {
			t.Errorf("pruned %+v", e.pruned)
		}
	})
}

// The window counts from completion, and no duplicate moves it.
func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEar(t)
		k := newKeeper(t, memstore.New(), &semel.Options{Window: time.Hour, Observer: e.observer()})
		k.Do(t.Context(), key, func(context.Context, *semel.Lease) ([]byte, error) {
			time.Sleep(time.Minute) // sleep: fake time
			return nil, nil
		})
		for range 59 {
			time.Sleep(time.Minute) // sleep: fake time
			k.Do(t.Context(), key, forbidden(t))
		}
		time.Sleep(time.Minute - time.Millisecond) // sleep: fake time
		k.Do(t.Context(), key, forbidden(t))
		time.Sleep(time.Minute) // sleep: fake time
		if out, err := k.Do(t.Context(), key, work("again")); err != nil || out.Replayed || out.Attempts != 1 {
			t.Errorf("%+v, %v", out, err)
		}
		wantSlice(t, "windows missed by", e.missed, time.Minute-time.Millisecond)
	})
}

// A transaction of the caller's completes the lease. Do reads what became of
// it: committed is success whatever fn returned.
func TestCompletionInATransaction(t *testing.T) {
	commit := func(s *seam, l *semel.Lease) {
		s.Store.Update(context.Background(), key, l.Token(), l.Completion([]byte("tx")))
	}
	takeOver := func(s *seam, _ *semel.Lease) {
		time.Sleep(time.Minute) // sleep: fake time
		rec, _ := s.Store.Get(context.Background(), key)
		s.Store.Claim(context.Background(), semel.Request{
			Key: key, Attempt: semel.NewAttemptID(), Seen: rec.Version(), Lease: time.Minute, Keep: time.Hour,
		})
	}
	for _, c := range []struct {
		name      string
		tx        func(*seam, *semel.Lease)
		err, want error
		mark      bool
		state     semel.State
		end       semel.End
	}{
		{"committed", commit, nil, nil, false, semel.Done, semel.EndDone},
		{"committed, fn failed after it", commit, errWork, nil, false, semel.Done, semel.EndDone},
		{"rolled back, fn's error decides", nil, errWork, errWork, false, semel.Free, semel.EndReleased},
		{"rolled back, marked", nil, errWork, semel.ErrInDoubt, true, semel.Held, semel.EndDoubted},
		{"rolled back, fn silent", nil, nil, errAny, false, semel.Free, semel.EndReleased},
		{"taken over", takeOver, nil, semel.ErrLost, false, semel.Held, semel.EndLost},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, e := newSeam(), newEar(t)
			reads := 0
			s.get = func(_ context.Context, next func() (semel.Record, error)) (semel.Record, error) {
				if reads++; reads < 3 { // the store is away for a moment
					return semel.Record{}, errDown
				}
				return next()
			}
			o := &semel.ClaimOptions{}
			if c.mark {
				o = marked
			}
			out, err := newKeeper(t, s, &semel.Options{Observer: e.observer()}).DoWith(t.Context(), key, o, func(_ context.Context, l *semel.Lease) ([]byte, error) {
				l.Finishing()
				s.update = func(_ context.Context, ch semel.Change, next func() (semel.Record, error)) (semel.Record, error) {
					if ch.To == semel.Held && ch.For > 0 {
						t.Errorf("%s: a renewal was sent", c.name)
					}
					return next()
				}
				time.Sleep(time.Minute) // sleep: fake time
				if c.tx != nil {
					c.tx(s, l)
				}
				return []byte("fn"), c.err
			})
			if errors.Is(c.want, errAny) && err == nil || !errors.Is(c.want, errAny) && !errors.Is(err, c.want) {
				t.Errorf("%s: error %v, want %v", c.name, err, c.want)
			}
			if string(out.Result) != "fn" {
				t.Errorf("%s: %+v", c.name, out)
			}
			wantState(t, s.Store, c.state)
			wantSlice(t, c.name, e.endings(), c.end)
		})
	}
}

var errAny = errors.New("any error")

// What became of the transaction cannot be read: nobody guesses.
func TestTransactionOfUnknownFate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := newSeam(), newEar(t)
		s.get = func(context.Context, func() (semel.Record, error)) (semel.Record, error) {
			return semel.Record{}, errDown
		}
		out, err := newKeeper(t, s, &semel.Options{Observer: e.observer()}).Do(t.Context(), key, func(_ context.Context, l *semel.Lease) ([]byte, error) {
			l.Finishing()
			return []byte("fn"), errWork
		})
		wantErr(t, err, semel.ErrUnrecorded)
		wantErr(t, err, errWork)
		if string(out.Result) != "fn" {
			t.Errorf("%+v", out)
		}
		wantState(t, s.Store, semel.Held)
		wantSlice(t, "ends", e.endings(), semel.EndUnrecorded)
	})
}

// Work that ends its lease itself is not cancelled by the missing renewals.
func TestWorkMayEndItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := memstore.New(), newEar(t)
		k := newKeeper(t, s, &semel.Options{Observer: e.observer()})
		_, err := k.Do(t.Context(), key, func(ctx context.Context, l *semel.Lease) ([]byte, error) {
			if err := l.Complete(ctx, []byte("early")); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Hour) // sleep: fake time
			return nil, ctx.Err()
		})
		if err != nil {
			t.Error(err)
		}
		if rec := wantState(t, s, semel.Done); string(rec.Result) != "early" {
			t.Errorf("%q", rec.Result)
		}
		wantSlice(t, "ends", e.endings(), semel.EndDone)
	})
}

// C118: a marked call whose answer is cut off is asked about before any other.
func TestCutOffCallIsProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		charges := 0
		k := newKeeper(t, memstore.New(), &semel.Options{Recover: func(context.Context, semel.Record) (semel.Finding, []byte, error) {
			if charges > 0 {
				return semel.Happened, []byte("charge-1"), nil
			}
			return semel.DidNotHappen, nil, nil
		}})
		charge := func(ctx context.Context, l *semel.Lease) ([]byte, error) {
			if err := l.Start(); err != nil {
				return nil, semel.NoEffect(err)
			}
			charges++
			time.Sleep(3 * time.Second)          // sleep: fake time
			return nil, context.DeadlineExceeded // the provider was slower than the caller
		}
		k.DoWith(t.Context(), key, marked, charge)
		out, err := k.DoWith(t.Context(), key, marked, charge)
		if err != nil || string(out.Result) != "charge-1" || !out.Replayed || charges != 1 {
			t.Errorf("%+v, %v, %d charges", out, err, charges)
		}
	})
}
