package semel

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Func is the work of a key. Its context ends when the caller's does, and when
// the lease is lost. Call [Lease.Start] directly before an effect. The error
// says what became of the effect, see [Keeper.Do].
type Func func(ctx context.Context, lease *Lease) (result []byte, err error)

// Outcome is what became of a key's work.
type Outcome struct {
	Result   []byte // of this run, or of the one it repeats: do not change it
	Kept     Kept   // why there is no result, or not all of it
	Size     int64  // of the full result, in bytes
	Replayed bool   // the work was done before; fn did not run
	Attempts int    // claims of this key, this one included
	Token    Token
}

// Do does the work of key once. If it is done, Do returns its result without
// calling fn. Otherwise it claims the key, as [Keeper.Claim] does, runs fn with
// the lease renewed, and records the outcome:
//
//   - fn returned no error: the key is done, its result is kept.
//   - An error: the key is released, with back-off, if the lease is not marked;
//     in doubt if it is. The wrappers NoEffect (released), Permanent (dead) and
//     InDoubt (in doubt) say otherwise. Do returns fn's error, joined with
//     ErrInDoubt where the key is in doubt.
//   - A panic or runtime.Goexit: like an error; it goes on after that.
//
// When fn has returned a result, Do returns it always: with ErrLost if another
// holder exists, with an error that wraps ErrUnrecorded if the store could not
// be told, so that the next attempt may run or be held.
//
// If the lease is lost, fn's context ends with ErrLost as its cause. When mere
// trust in it ends, because the store does not answer renewals, that happens
// only if the lease is not marked: nobody can take over a marked one.
//
// A Do on the same key under fn's context is refused with ErrInvalid: it would
// wait for itself.
func (k *Keeper) Do(ctx context.Context, key Key, fn Func) (Outcome, error) {
	return k.DoWith(ctx, key, nil, fn)
}

// DoWith is Do with options for its claim.
func (k *Keeper) DoWith(ctx context.Context, key Key, opts *ClaimOptions, fn Func) (Outcome, error) {
	if isUnder(ctx, k, key) {
		return Outcome{}, fmt.Errorf("%w: Do on a key inside its own work", ErrInvalid)
	}
	lease, rec, err := k.Claim(ctx, key, opts)
	if lease == nil {
		o := Outcome{Kept: rec.Kept, Size: rec.Size, Attempts: rec.Attempts, Token: rec.Token}
		if err == nil {
			o.Result, o.Replayed = rec.Result, true
		}
		return o, err
	}
	r := run{keeper: k, lease: lease}
	return r.do(ctx, fn)
}

// under is the context value that names the key whose work is being done.
type under struct {
	keeper *Keeper
	key    Key
	outer  *under
}

type underKey struct{}

func isUnder(ctx context.Context, k *Keeper, key Key) bool {
	u, _ := ctx.Value(underKey{}).(*under)
	for ; u != nil; u = u.outer {
		if u.keeper == k && u.key == key {
			return true
		}
	}
	return false
}

// run is one execution of a Func under a lease.
type run struct {
	keeper *Keeper
	lease  *Lease
	result []byte
	err    error
}

func (r *run) do(ctx context.Context, fn Func) (Outcome, error) {
	outer, _ := ctx.Value(underKey{}).(*under)
	work := context.WithValue(ctx, underKey{}, &under{r.keeper, r.lease.Key(), outer})
	work, stop := r.lease.KeepAlive(work)
	returned := false
	defer func() {
		if !returned { // a panic or Goexit, which goes on after this
			stop()
			r.err = errors.New("the work panicked or ended its goroutine")
			_, _ = r.settle(ctx)
		}
	}()
	r.result, r.err = fn(work, r.lease)
	returned = true
	stop()
	return r.settle(ctx)
}

// settle records what fn's return means.
func (r *run) settle(ctx context.Context) (Outcome, error) {
	l := r.lease
	if l.isFinishing() {
		if done, err := r.afterTx(ctx); done {
			return r.outcome(), err
		}
	}
	if r.err == nil {
		err := l.Complete(ctx, r.result)
		return r.outcome(), err
	}
	var err error
	switch m := meaningOf(r.err); {
	case m == meansPermanent:
		err = l.Dead(ctx, r.err.Error())
	case m == meansInDoubt, m == 0 && l.Record().Note != nil:
		if err = l.Doubt(ctx, r.err.Error()); err == nil {
			err = ErrInDoubt
		}
	default:
		err = l.ReleaseWith(ctx, r.release(ctx))
	}
	return r.outcome(), join(r.err, err)
}

// release says how to give the key back: an attempt that was cut short from
// outside does not count and needs no back-off.
func (r *run) release(ctx context.Context) ReleaseOptions {
	o := ReleaseOptions{Why: r.err.Error()}
	if ctx.Err() != nil {
		o.Forgive = true
	} else if base := r.keeper.opts.BackOff; base > 0 {
		o.After = backOff(base, MaxBackOff, r.lease.Record().Attempts)
	}
	return o
}

// afterTx reads what became of a transaction that was to complete the lease.
// It reports true if that decides: done under this token is success whatever
// fn returned. Still held, the transaction was rolled back.
func (r *run) afterTx(ctx context.Context) (bool, error) {
	l := r.lease
	rec, err := r.keeper.read(context.WithoutCancel(ctx), l.Key(), l.trustLeft())
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		l.end(EndUnrecorded, "", Record{})
		return true, join(fmt.Errorf("%w: %w", ErrUnrecorded, err), r.err)
	case rec.Token == l.token && rec.State == Done:
		l.end(EndDone, "", rec)
		r.keeper.watch.poke(l.Key())
		return true, nil
	case rec.Token == l.token && rec.State == Held:
		if r.err == nil {
			r.err = errors.New("semel: the transaction that was to complete the lease was not committed")
		}
		return false, nil
	}
	l.end(EndLost, "", rec)
	return true, join(ErrLost, r.err)
}

// read is Get, repeated until the store answers, within (at least the store's
// time-out) has passed, or ctx ends.
func (k *Keeper) read(ctx context.Context, key Key, within time.Duration) (Record, error) {
	deadline := time.Now().Add(max(within, k.opts.Timeout))
	for n := 1; ; n++ {
		rec, err := k.Get(ctx, key)
		if err == nil || errors.Is(err, ErrNotFound) {
			return rec, err
		}
		if time.Now().After(deadline) || !pause(ctx, backOff(20*time.Millisecond, time.Second, n)) {
			return rec, err
		}
	}
}

func (r *run) outcome() Outcome {
	return Outcome{
		Result:   r.result,
		Kept:     keptOf(r.result, r.keeper.opts.MaxResult),
		Size:     int64(len(r.result)),
		Attempts: r.lease.Record().Attempts,
		Token:    r.lease.token,
	}
}

// join puts b beside a, so that both are found by errors.Is.
func join(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return fmt.Errorf("%w (%w)", a, b)
}

func (l *Lease) isFinishing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.finishing
}

// keepAlive renews the lease, from now until ctx or the lease ends, and ends the
// work when the lease is lost or, unless it is marked, when trust in it ends.
func (l *Lease) keepAlive(ctx context.Context, cancel context.CancelCauseFunc) {
	interval := l.claim.opts.Lease / 3
	wait := time.Duration(0)
	for pause(ctx, wait) {
		err := l.renewInTrust(ctx)
		left := l.trustLeft()
		switch {
		case err == nil:
			wait = interval
		case l.over():
			return
		case errors.Is(err, ErrLost):
			cancel(ErrLost)
			return
		case left > 0: // any other error is retried for as long as trust lasts
			wait = min(interval/4, left)
		case l.Record().Note == nil:
			cancel(fmt.Errorf("%w: the store did not answer renewals: %w", ErrLost, err))
			return
		default:
			wait = interval / 4
		}
	}
}

// renewInTrust leaves a store that hangs time for another try, and gives up
// when trust in an unmarked lease ends: the work must not go on untrusted for
// a store's time-out.
func (l *Lease) renewInTrust(ctx context.Context) error {
	within := l.claim.opts.Lease / 3
	if l.Record().Note == nil {
		within = min(within, l.trustLeft())
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return l.Renew(ctx)
}
