package semel

import (
	"context"
	"errors"
	"sync"
	"time"
)

// maxUndo bounds the claims without an answer that one Keeper undoes at a
// time. Beyond it a claim that the store may have granted is left to lapse.
const maxUndo = 10_000

var errNoUndo = errors.New("semel: a claim without an answer is left to lapse: too many are being undone")

// undoer repeats claims whose answer was lost and whose caller has left, until
// the store says what became of them, and gives back what they won.
type undoer struct {
	ctx    context.Context // ended by a Drain that gives up
	cancel context.CancelFunc

	mu     sync.Mutex
	n      int
	closed bool
	wg     sync.WaitGroup
}

func newUndoer() *undoer {
	u := &undoer{}
	u.ctx, u.cancel = context.WithCancel(context.Background())
	return u
}

// start lets f work behind its caller's back, until it is done or a Drain gives
// up on it. It reports false if there is too much of that already.
func (u *undoer) start(f func(context.Context)) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed || u.n == maxUndo {
		return false
	}
	u.n++
	u.wg.Go(func() {
		f(u.ctx)
		u.mu.Lock()
		u.n--
		u.mu.Unlock()
	})
	return true
}

// undoClaim repeats the claim rather than reading: only a verdict on this very
// attempt rules out that a copy of it wins later. When the claim is too old to
// be repeated, a read has to do.
func (k *Keeper) undoClaim(ctx context.Context, req Request, first time.Time) {
	for n := 1; pause(ctx, backOff(50*time.Millisecond, 30*time.Second, n)); n++ {
		if k.repeatable(req, first) {
			if answer, err := k.send(ctx, req); err == nil {
				if answer.Won {
					k.giveBack(ctx, answer.Record)
				}
				return
			}
			continue
		}
		rec, err := k.Get(ctx, req.Key)
		if err == nil && rec.State == Held && rec.Attempt == req.Attempt {
			k.giveBack(ctx, rec)
		}
		if err == nil || errors.Is(err, ErrNotFound) {
			return
		}
	}
}

// giveBack ends a lease whose effect was never started: by release, or by doubt
// if it was taken over from in doubt, since that doubt is not this attempt's
// to lift.
func (k *Keeper) giveBack(ctx context.Context, rec Record) {
	c := Change{From: Held, To: Free, For: k.opts.Keep, Forgive: true, By: k.opts.By, Why: "given back unused"}
	if rec.Recovered {
		c = Change{From: Held, To: Held, By: k.opts.By, Why: "given back undecided"}
	}
	// An error leaves the lease to lapse.
	_, _ = k.update(ctx, rec.Key, rec.Token, c, 0)
}

// update carries out a last word on a lease and repeats it until the store
// answers, within (at least the store's time-out) has passed, or ctx ends.
func (k *Keeper) update(ctx context.Context, key Key, token Token, c Change, within time.Duration) (Record, error) {
	deadline := time.Now().Add(max(within, k.opts.Timeout))
	for n := 1; ; n++ {
		rec, err := k.updateOnce(ctx, key, token, c)
		if err == nil || errors.Is(err, ErrLost) || errors.Is(err, ErrInvalid) {
			k.watch.poke(key)
			return rec, err
		}
		if time.Now().After(deadline) || !pause(ctx, backOff(20*time.Millisecond, time.Second, n)) {
			return rec, err
		}
	}
}

func (k *Keeper) updateOnce(ctx context.Context, key Key, token Token, c Change) (Record, error) {
	timed, cancel := context.WithTimeout(ctx, k.opts.Timeout)
	defer cancel()
	rec, err := k.store.Update(timed, key, token, c)
	k.failed(ctx, "update", err)
	return rec, err
}

// Drain waits until every lease has been ended and no claim without an answer is
// left to undo. When ctx ends it gives up on what is left, whose leases then
// lapse, and returns the context's error. Claims must not be made any more.
func (k *Keeper) Drain(ctx context.Context) error {
	select {
	case <-k.leases.nothing():
	case <-ctx.Done():
	}
	u := k.undo
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	done := make(chan struct{})
	go func() {
		u.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return context.Cause(ctx)
	case <-ctx.Done():
		u.cancel()
		<-done
		return context.Cause(ctx)
	}
}
