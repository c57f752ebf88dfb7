package semel_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/memstore"
)

// Trust is counted from the send of the request that was answered, not from
// its answer, and ends a margin before the lease.
func TestTrustCountsFromTheSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeam()
		s.claim = func(_ context.Context, _ semel.Request, next func() (semel.Answer, error)) (semel.Answer, error) {
			a, err := next()
			time.Sleep(4 * time.Second) // the answer is on its way // sleep: fake time
			return a, err
		}
		l := mustClaim(t, newKeeper(t, s, nil), nil)
		time.Sleep(23*time.Second - time.Nanosecond) // 30 s - 3 s margin - 4 s // sleep: fake time
		if !l.Trusted() || l.Start() != nil {
			t.Error("trust ended too soon")
		}
		time.Sleep(time.Nanosecond) // sleep: fake time
		if l.Trusted() {
			t.Error("trust outlives the lease less its margin")
		}
		wantErr(t, l.Start(), semel.ErrLost)
	})
}

func TestTrustComesFromTheAnswerNotTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeam()
		s.claim = func(_ context.Context, req semel.Request, _ func() (semel.Answer, error)) (semel.Answer, error) {
			req.Lease = 10 * time.Second // the store grants less than was asked for
			return s.Store.Claim(context.Background(), req)
		}
		l := mustClaim(t, newKeeper(t, s, nil), nil)
		time.Sleep(7 * time.Second) // sleep: fake time
		if l.Trusted() {
			t.Error("trusted by the lease that was asked for")
		}
	})
}

// A renewal that was sent early and answered late must not shorten what a later
// one has granted, nor hide the mark that it wrote.
func TestAnswersMayOvertakeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeam()
		var calls atomic.Int32
		s.update = func(_ context.Context, _ semel.Change, next func() (semel.Record, error)) (semel.Record, error) {
			rec, err := next()
			if calls.Add(1) == 1 {
				time.Sleep(4 * time.Second) // sleep: fake time
			}
			return rec, err
		}
		k := newKeeper(t, s, nil)
		l := mustClaim(t, k, nil)
		go l.Renew(t.Context())     // applied now, answered in 4 s
		time.Sleep(2 * time.Second) // sleep: fake time
		if err := l.Mark(t.Context(), []byte("sent")); err != nil {
			t.Fatal(err)
		}
		until := l.Record().Until
		time.Sleep(3 * time.Second) // sleep: fake time
		if r := l.Record(); string(r.Note) != "sent" || !r.Until.Equal(until) {
			t.Errorf("the late answer hides the mark: note %q, until %v, want %v", r.Note, r.Until, until)
		}
		time.Sleep(23 * time.Second) // 26 s after the mark, 28 s after the first renewal // sleep: fake time
		if !l.Trusted() {
			t.Error("the late answer shortened trust")
		}
	})
}

// The monotonic clock stands still while the machine sleeps, the wall clock can
// be set: whichever is ahead ends trust.
func TestTrustEndsByEitherClock(t *testing.T) {
	now := time.Now()
	end := now.Add(10 * time.Second)
	slept := now.Add(20 * time.Second)
	*monotonic(&slept) -= int64(20 * time.Second) // wall +20 s, monotonic +0
	setBack := now.Add(20 * time.Second).Add(-25 * time.Second)
	*monotonic(&setBack) += int64(25 * time.Second) // wall -5 s, monotonic +20 s
	for _, c := range []struct {
		name string
		at   time.Time
		want time.Duration
	}{
		{"both agree", now.Add(4 * time.Second), 6 * time.Second},
		{"after a suspend", slept, -10 * time.Second},
		{"after the wall clock was set back", setBack, -10 * time.Second},
	} {
		if got := semel.Until(end, c.at); got != c.want {
			t.Errorf("%s: %v left, want %v", c.name, got, c.want)
		}
	}
}

// monotonic gives access to the second word of a Time that was read from the
// clock: no public function makes the two readings disagree, a suspend does.
func monotonic(t *time.Time) *int64 {
	return &(*struct {
		wall uint64
		ext  int64
		loc  *time.Location
	})(unsafe.Pointer(t)).ext
}

func TestRenewNeverShortens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		long := newKeeper(t, s, &semel.Options{Lease: time.Hour})
		l := mustClaim(t, long, nil)
		rec := l.Record()
		c := semel.Change{From: semel.Held, To: semel.Held, For: time.Second}
		after, err := s.Update(t.Context(), key, rec.Token, c)
		if err != nil || !after.Until.Equal(rec.Until) {
			t.Errorf("a shorter renewal moved the end from %v to %v (%v)", rec.Until, after.Until, err)
		}
		l.Release(t.Context())
	})
}

func TestCompleteIsRetriedInsideTheLease(t *testing.T) {
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, e := newSeam(), newEar(t)
			l := mustClaim(t, newKeeper(t, s, &semel.Options{Observer: e.observer()}), nil)
			back := time.Now().Add(20 * time.Second)
			s.update = func(_ context.Context, _ semel.Change, next func() (semel.Record, error)) (semel.Record, error) {
				if time.Now().After(back) {
					return next()
				}
				if lost { // committed, answer lost
					next()
				}
				return semel.Record{}, errDown
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // the ending goes on all the same
			if err := l.Complete(ctx, []byte("r")); err != nil {
				t.Errorf("lost=%v: %v", lost, err)
			}
			if rec := wantState(t, s, semel.Done); string(rec.Result) != "r" || rec.Attempts != 1 {
				t.Errorf("lost=%v: %+v", lost, rec)
			}
			wantSlice(t, "ends", e.endings(), semel.EndDone)
			if len(e.failed) == 0 {
				t.Error("nobody heard of the store's errors")
			}
		})
	}
}

func TestUnrecordedCanBeSaidAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := newSeam(), newEar(t)
		l := mustClaim(t, newKeeper(t, s, &semel.Options{Observer: e.observer()}), nil)
		down := true
		s.update = func(_ context.Context, _ semel.Change, next func() (semel.Record, error)) (semel.Record, error) {
			if down {
				return semel.Record{}, errDown
			}
			return next()
		}
		start := time.Now()
		err := l.Complete(t.Context(), []byte("r"))
		wantErr(t, err, semel.ErrUnrecorded)
		wantErr(t, err, errDown)
		if took := time.Since(start); took < 27*time.Second || took > 30*time.Second {
			t.Errorf("gave up after %v, the lease is trusted for 27 s", took)
		}
		if l.Trusted() {
			t.Error("trusted after the last word")
		}
		// A deferred release must not give away what may be done.
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		wantState(t, s, semel.Held)
		down = false
		if err := l.Complete(t.Context(), []byte("r")); err != nil {
			t.Error(err)
		}
		wantState(t, s, semel.Done)
		wantSlice(t, "ends", e.endings(), semel.EndUnrecorded)
	})
}

func TestUnrecordedReleaseCanBeSaidAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeam()
		l := mustClaim(t, newKeeper(t, s, nil), nil)
		s.update = func(context.Context, semel.Change, func() (semel.Record, error)) (semel.Record, error) {
			return semel.Record{}, errDown
		}
		wantErr(t, l.Release(t.Context()), semel.ErrUnrecorded)
		s.update = nil
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		wantState(t, s, semel.Free)
	})
}

// What a second last word comes to, after each first one.
func TestSecondLastWord(t *testing.T) {
	ways := map[string]func(*semel.Lease) error{
		"complete": func(l *semel.Lease) error { return l.Complete(context.Background(), []byte("r")) },
		"dead":     func(l *semel.Lease) error { return l.Dead(context.Background(), "no") },
		"release":  func(l *semel.Lease) error { return l.Release(context.Background()) },
		"doubt":    func(l *semel.Lease) error { return l.Doubt(context.Background(), "?") },
		"renew":    func(l *semel.Lease) error { return l.Renew(context.Background()) },
		"mark":     func(l *semel.Lease) error { return l.Mark(context.Background(), nil) },
	}
	states := map[string]semel.State{"complete": semel.Done, "dead": semel.Dead, "release": semel.Free, "doubt": semel.Held}
	for first, state := range states {
		for second, do := range ways {
			synctest.Test(t, func(t *testing.T) {
				s, e := memstore.New(), newEar(t)
				l := mustClaim(t, newKeeper(t, s, &semel.Options{Observer: e.observer()}), nil)
				if err := ways[first](l); err != nil {
					t.Fatalf("%s: %v", first, err)
				}
				err := do(l)
				wantState := state
				switch {
				case first == second, second == "release" && (first == "complete" || first == "dead"):
					if err != nil {
						t.Errorf("%s after %s: %v", second, first, err)
					}
				case first == "doubt" && (second == "complete" || second == "dead"): // a late answer heals
					wantState = states[second]
					if err != nil {
						t.Errorf("%s after %s: %v", second, first, err)
					}
				case !errors.Is(err, semel.ErrLost):
					t.Errorf("%s after %s: %v, want ErrLost", second, first, err)
				}
				if rec, _ := s.Get(t.Context(), key); rec.State != wantState {
					t.Errorf("%s after %s: the key is %v, want %v", second, first, rec.State, wantState)
				}
				if len(e.ends) != 1 || len(e.lates) != 0 {
					t.Errorf("%s after %s: %d ends, %d late outcomes reported", second, first, len(e.ends), len(e.lates))
				}
			})
		}
	}
}

// A second ending waits for the first: nobody may hear "recorded" before it is.
func TestConcurrentCompletesAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeam()
		l := mustClaim(t, newKeeper(t, s, nil), nil)
		s.update = func(context.Context, semel.Change, func() (semel.Record, error)) (semel.Record, error) {
			return semel.Record{}, errDown
		}
		errs := make(chan error, 2)
		for range 2 {
			go func() { errs <- l.Complete(t.Context(), nil) }()
		}
		for range 2 {
			wantErr(t, <-errs, semel.ErrUnrecorded)
		}
	})
}

// The holder's own completion must not be taken for a loss by a renewal that
// was on its way.
func TestRenewalRacesOwnCompletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := newSeam(), newEar(t)
		l := mustClaim(t, newKeeper(t, s, &semel.Options{Observer: e.observer()}), nil)
		s.update = func(_ context.Context, c semel.Change, next func() (semel.Record, error)) (semel.Record, error) {
			if c.To == semel.Held {
				time.Sleep(2 * time.Second) // overtaken by the completion // sleep: fake time
				return next()
			}
			rec, err := next()
			time.Sleep(3 * time.Second) // which is answered after it // sleep: fake time
			return rec, err
		}
		renewed := make(chan error)
		go func() { renewed <- l.Renew(t.Context()) }()
		time.Sleep(time.Second) // sleep: fake time
		go func() { wantErr(t, <-renewed, semel.ErrLost) }()
		if err := l.Complete(t.Context(), []byte("r")); err != nil {
			t.Error(err)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		wantSlice(t, "ends", e.endings(), semel.EndDone)
		wantState(t, s, semel.Done)
	})
}

// C073, C074: a stalled holder whose key was taken over can do nothing to its
// successor, and its outcome is reported, once.
func TestStaleHolderIsFenced(t *testing.T) {
	for _, first := range []string{"renew", "complete", "release", "dead", "doubt"} {
		synctest.Test(t, func(t *testing.T) {
			s, e := memstore.New(), newEar(t)
			k := newKeeper(t, s, &semel.Options{Observer: e.observer()})
			a := mustClaim(t, k, nil)
			time.Sleep(time.Minute) // sleep: fake time
			b := mustClaim(t, k, nil)
			if b.Token() <= a.Token() {
				t.Errorf("token %d after %d", b.Token(), a.Token())
			}
			ways := map[string]func() error{
				"renew":    func() error { return a.Renew(t.Context()) },
				"complete": func() error { return a.Complete(t.Context(), []byte("a")) },
				"release":  func() error { return a.Release(t.Context()) },
				"dead":     func() error { return a.Dead(t.Context(), "a") },
				"doubt":    func() error { return a.Doubt(t.Context(), "a") },
			}
			wantErr(t, ways[first](), semel.ErrLost)
			if rec := wantState(t, s, semel.Held); rec.Token != b.Token() {
				t.Errorf("%s touched the successor: %+v", first, rec)
			}
			if err := b.Complete(t.Context(), []byte("b")); err != nil {
				t.Error(err)
			}
			wantErr(t, a.Complete(t.Context(), []byte("a")), semel.ErrLost)
			wantErr(t, a.Release(t.Context()), semel.ErrLost)
			if rec := wantState(t, s, semel.Done); string(rec.Result) != "b" {
				t.Errorf("the result is %q", rec.Result)
			}
			wantSlice(t, "ends", e.endings(), semel.EndLost, semel.EndDone)
			want := 1
			if first == "doubt" { // no outcome
				want = 0
			}
			if len(e.lates) != want {
				t.Errorf("%s: %d late outcomes reported, want %d: %+v", first, len(e.lates), want, e.lates)
			}
		})
	}
}

func TestLateOutcomeSaysWhetherItAgrees(t *testing.T) {
	for _, c := range []struct {
		name   string
		settle semel.Settlement
		say    func(*semel.Lease) error
		agrees bool
	}{
		{"same result", semel.Settlement{Happened: true, Result: []byte("r")},
			func(l *semel.Lease) error { return l.Complete(context.Background(), []byte("r")) }, true},
		{"other result", semel.Settlement{Happened: true, Result: []byte("x")},
			func(l *semel.Lease) error { return l.Complete(context.Background(), []byte("r")) }, false},
		{"result unknown to the settler", semel.Settlement{Happened: true},
			func(l *semel.Lease) error { return l.Complete(context.Background(), []byte("r")) }, true},
		{"settled as not done", semel.Settlement{Force: true},
			func(l *semel.Lease) error { return l.Complete(context.Background(), []byte("r")) }, false},
		{"did not start, settled as done", semel.Settlement{Happened: true},
			func(l *semel.Lease) error { return l.Release(context.Background()) }, false},
		{"did not start, settled as not done", semel.Settlement{Force: true},
			func(l *semel.Lease) error { return l.Release(context.Background()) }, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := newEar(t)
			k := newKeeper(t, memstore.New(), &semel.Options{Observer: e.observer()})
			l := mustClaim(t, k, marked)
			time.Sleep(time.Minute) // sleep: fake time
			if _, err := k.Settle(t.Context(), key, c.settle); err != nil {
				t.Fatal(err)
			}
			wantErr(t, c.say(l), semel.ErrLost)
			if len(e.lates) != 1 || e.lates[0].Agrees != c.agrees {
				t.Errorf("%s: %+v", c.name, e.lates)
			}
		})
	}
}

// A lapsed holder whose key nobody took may still complete.
func TestLateCompletionHeals(t *testing.T) {
	for _, o := range []*semel.ClaimOptions{nil, marked} {
		synctest.Test(t, func(t *testing.T) {
			s := memstore.New()
			l := mustClaim(t, newKeeper(t, s, nil), o)
			time.Sleep(time.Hour) // sleep: fake time
			if err := l.Complete(t.Context(), []byte("late")); err != nil {
				t.Error(err)
			}
			wantState(t, s, semel.Done)
		})
	}
}

// A doubt of a lease without a mark makes one, and keeps the note whose answer
// was lost.
func TestDoubtMarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeam()
		l := mustClaim(t, newKeeper(t, s, nil), nil)
		s.update = func(_ context.Context, _ semel.Change, next func() (semel.Record, error)) (semel.Record, error) {
			next()
			s.update = nil
			return semel.Record{}, errDown
		}
		wantErr(t, l.Mark(t.Context(), []byte("charge 7")), errDown)
		if err := l.Doubt(t.Context(), "?"); err != nil {
			t.Fatal(err)
		}
		rec := wantState(t, s, semel.Held)
		if !rec.InDoubt() || string(rec.Note) != "charge 7" || !rec.Doubted {
			t.Errorf("%+v", rec)
		}
	})
}

func TestInvalidArgumentsChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEar(t)
		k := newKeeper(t, memstore.New(), &semel.Options{Observer: e.observer()})
		l := mustClaim(t, k, nil)
		wantErr(t, l.ReleaseWith(t.Context(), semel.ReleaseOptions{After: 1 << 62}), semel.ErrInvalid)
		wantErr(t, l.Mark(t.Context(), make([]byte, semel.MaxNoteBytes+1)), semel.ErrInvalid)
		if !l.Trusted() || len(e.ends) != 0 {
			t.Error("an invalid argument ended the lease")
		}
		if err := l.Complete(t.Context(), nil); err != nil {
			t.Error(err)
		}
	})
}

// Error texts come from anywhere: none may keep an outcome from being recorded.
func TestReasonsAreMadeStorable(t *testing.T) {
	for _, why := range []string{"a\x00b", "\xff\xfe", strings.Repeat("ä", 5000), strings.Repeat("\xff", 5000)} {
		synctest.Test(t, func(t *testing.T) {
			s := memstore.New()
			l := mustClaim(t, newKeeper(t, s, nil), &semel.ClaimOptions{By: why, Source: semel.Source(why)})
			if err := l.Dead(t.Context(), why); err != nil {
				t.Fatal(err)
			}
			rec := wantState(t, s, semel.Dead)
			for _, got := range []string{rec.Why, rec.By, string(rec.Source)} {
				if got != strings.ToValidUTF8(got, "") || strings.Contains(got, "\x00") || len(got) > semel.MaxTextBytes || got == "" {
					t.Errorf("%q... was stored as %q", why[:3], got)
				}
			}
		})
	}
}

func TestDerivedKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		k := newKeeper(t, s, &semel.Options{Secret: []byte("s1")})
		first := mustClaim(t, k, nil)
		if other := mustClaim(t, newKeeper(t, memstore.New(), &semel.Options{Secret: []byte("s2")}), nil); other.DerivedKey() == first.DerivedKey() {
			t.Error("the same key under another secret")
		}
		time.Sleep(time.Minute) // sleep: fake time
		second := mustClaim(t, k, nil)
		if second.DerivedKey() != first.DerivedKey() {
			t.Error("another key for the second attempt")
		}
		second.Complete(t.Context(), nil)
		if _, err := k.Forget(t.Context(), key, "ops", "wanted twice"); err != nil {
			t.Fatal(err)
		}
		third := mustClaim(t, k, nil)
		if third.DerivedKey() == first.DerivedKey() {
			t.Error("the same key after a forget")
		}
		if r := third.Record(); r.Generation != 1 || r.Attempts != 1 {
			t.Errorf("generation %d, attempts %d", r.Generation, r.Attempts)
		}
	})
}
