package semel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Keeper gives out claims on the keys of one store and owns all policy:
// validation, the comparison of fingerprints, trust in leases, renewal,
// recovery, waiting, quotas, observation. Its methods may be called
// concurrently. It starts no goroutine until there is work for it; [Keeper.Drain]
// waits for those that outlive a call.
type Keeper struct {
	store  Store
	opts   Options
	watch  watch
	quota  quota
	undo   *undoer
	leases tally    // that were won and not ended
	asking sync.Map // Key → struct{}: recovery under way in this process
}

// New returns a Keeper of the claims in store. It refuses options that cannot
// be safe, such as a window shorter than two leases, with ErrInvalid.
func New(store Store, opts *Options) (*Keeper, error) {
	if store == nil {
		return nil, fmt.Errorf("%w: no store", ErrInvalid)
	}
	if opts == nil {
		opts = &Options{}
	}
	o := withDefaults(*opts)
	if err := o.check(); err != nil {
		return nil, err
	}
	return &Keeper{store: store, opts: o, undo: newUndoer()}, nil
}

// Claim takes the right to do the work of key. Exactly one of these holds:
//
//   - The lease is not nil: the caller has won and must end it, by Complete,
//     Dead, Release or Doubt.
//   - Lease and error are nil: the work is done, the record holds its result.
//   - The error says why not: ErrBusy, ErrInDoubt, ErrMismatch, a [DeadError] or
//     a [QuotaError], each with the record that stands; ErrInvalid for arguments
//     out of range; the context's error; or an error of the store. After the last
//     two, nothing is held: what the store may have granted is given back, at
//     once or, while the store does not answer, behind the caller's back.
//
// A claim is not torn off when ctx ends: Claim then returns when the store has
// answered, after [Options.Timeout] at the latest for each call.
func (k *Keeper) Claim(ctx context.Context, key Key, opts *ClaimOptions) (*Lease, Record, error) {
	c, err := k.newClaim(ctx, key, opts)
	if err != nil {
		return nil, Record{}, err
	}
	lease, rec, err := k.claimOrWait(ctx, c)
	if lease == nil {
		k.opts.Observer.claimed(ClaimEvent{key, refusal(&rec, err), c.source, rec, time.Since(c.start), err})
	}
	return lease, rec, err
}

// refusal names the verdict behind a claim that gave no lease.
func refusal(rec *Record, err error) Verdict {
	var dead *DeadError
	switch {
	case err == nil:
		return VerdictDone
	case errors.As(err, &dead):
		return VerdictDead
	case errors.Is(err, ErrMismatch):
		return VerdictMismatch
	case errors.Is(err, ErrInDoubt):
		return VerdictInDoubt
	case errors.Is(err, ErrBusy) && rec.State == Free && rec.Token != 0:
		return VerdictBackingOff
	case errors.Is(err, ErrBusy):
		return VerdictBusy
	}
	return VerdictError
}

func (k *Keeper) claimOrWait(ctx context.Context, c *claim) (*Lease, Record, error) {
	var known Record
	for {
		lease, rec, err := k.try(ctx, c, known)
		left := c.patience()
		if !errors.Is(err, ErrBusy) || left <= 0 {
			return lease, rec, err
		}
		var changed bool
		if known, changed = k.watch.wait(ctx, k, c.key, left); !changed {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, rec, err
		}
	}
}

// maxRaces bounds how often one try meets a version that somebody else has
// just replaced.
const maxRaces = 8

// try makes one attempt to win. A claim names the version that it saw, rec at
// first; a refusal shows the next one to name, with an attempt id of its own.
func (k *Keeper) try(ctx context.Context, c *claim, rec Record) (*Lease, Record, error) {
	if ctx.Err() != nil {
		return nil, Record{}, context.Cause(ctx)
	}
	if over, err := k.admit(ctx, c); err != nil {
		return nil, over, err
	}
	for range maxRaces {
		// A lapsed lease may be taken over, but not for other work.
		if !rec.Claimable(false) || rec.Lapsed() && c.differs(&rec) {
			if recovered, err := k.verdict(ctx, c, &rec); !recovered {
				return nil, rec, err
			}
		}
		answer, sent, err := k.ask(ctx, c.request(rec.Version()), c.patience())
		if err != nil {
			return nil, answer.Record, err
		}
		if answer.Won {
			return k.won(ctx, c, answer, sent)
		}
		rec = answer.Record
	}
	return nil, rec, fmt.Errorf("%w: its record changed %d times while this attempt looked", ErrBusy, maxRaces)
}

// request makes a new attempt: an attempt id that was answered is never sent
// again.
func (c *claim) request(seen Version) Request {
	return Request{
		Key: c.key, Attempt: NewAttemptID(), Seen: seen,
		Lease: c.opts.Lease, Keep: c.opts.Keep,
		Note: c.note, Fingerprint: c.fingerprint,
		Source: c.source, By: c.opts.By,
	}
}

// verdict says what a record that cannot be claimed means for c. It reports
// true if recovery has changed the record, into rec, so that c may try again.
func (k *Keeper) verdict(ctx context.Context, c *claim, rec *Record) (recovered bool, err error) {
	if c.differs(rec) {
		return false, ErrMismatch
	}
	switch {
	case rec.State == Done:
		return false, nil
	case rec.State == Dead:
		return false, &DeadError{rec.Key, rec.Why}
	case !rec.InDoubt():
		return false, ErrBusy
	case c.opts.Recover == nil:
		return false, ErrInDoubt
	}
	if *rec, err = k.recover(ctx, c, rec); err != nil {
		return false, err
	}
	if rec.Claimable(false) {
		return true, nil
	}
	return k.verdict(ctx, c.withoutRecovery(), rec)
}

// withoutRecovery is c after its one recovery: what stands now is its answer.
func (c *claim) withoutRecovery() *claim {
	d := *c
	d.opts.Recover = nil
	return &d
}

// differs reports whether c asks for other work than rec is about. A key that
// was given back is about nothing any more.
func (c *claim) differs(rec *Record) bool {
	return rec.State != Free && rec.Fingerprint != nil && c.fingerprint != nil && !c.same(rec.Fingerprint, c.fingerprint)
}

// won turns an answer into a lease, unless the caller has left.
func (k *Keeper) won(ctx context.Context, c *claim, answer Answer, sent time.Time) (*Lease, Record, error) {
	rec, before := answer.Record, &answer.Before
	if ctx.Err() != nil {
		k.giveBack(context.WithoutCancel(ctx), rec)
		return nil, rec, context.Cause(ctx)
	}
	verdict := VerdictWon
	switch {
	case answer.Again:
		verdict = VerdictAgain
	case before.State == Held:
		verdict = VerdictTakenOver
	case before.State == Done:
		k.opts.Observer.windowMissed(c.key, before.Now.Sub(before.Until))
	}
	if c.opts.MaxNew > 0 && (before.Token == 0 || before.Expired()) {
		k.quota.count(c.key.Scope, c.opts.Window)
	}
	k.opts.Observer.claimed(ClaimEvent{c.key, verdict, c.source, rec, time.Since(c.start), nil})
	return newLease(k, c, rec, sent), rec, nil
}

// maxAsks bounds how often a claim without an answer is repeated while its
// caller waits. The duty to undo goes on behind its back.
const maxAsks = 3

// ask sends one claim, detached from the caller, and repeats it under the same
// attempt id until it is answered. Busy is no answer: somebody's transaction
// is open, and the attempt stays open for as long as the caller is patient.
// Who gets no answer owns the duty to undo.
func (k *Keeper) ask(ctx context.Context, req Request, patience time.Duration) (Answer, time.Time, error) {
	first := time.Now()
	for asks := 1; ; asks++ {
		sent := time.Now()
		answer, err := k.send(context.WithoutCancel(ctx), req)
		if err == nil || errors.Is(err, ErrInvalid) {
			return answer, sent, err
		}
		again := asks < maxAsks || errors.Is(err, ErrBusy) && elapsed(first) < patience
		if !again || !k.repeatable(req, first) || !pause(ctx, backOff(10*time.Millisecond, maxPoll, asks)) {
			if !k.undo.start(func(ctx context.Context) { k.undoClaim(ctx, req, first) }) {
				k.opts.Observer.storeError("undo", errNoUndo)
			}
			return answer, sent, join(context.Cause(ctx), err)
		}
	}
}

// repeatable reports whether a claim first sent at first may be sent again. A
// claim and its repeats live less than keep, since a record that is forgotten
// cannot refuse a copy.
func (k *Keeper) repeatable(req Request, first time.Time) bool {
	return elapsed(first)+k.opts.Timeout < req.Keep/2
}

func (k *Keeper) send(ctx context.Context, req Request) (Answer, error) {
	timed, cancel := context.WithTimeout(ctx, k.opts.Timeout)
	defer cancel()
	answer, err := k.store.Claim(timed, req)
	k.failed(ctx, "claim", err)
	if err != nil && !errors.Is(err, ErrBusy) {
		err = fmt.Errorf("semel: claim: %w", err)
	}
	return answer, err
}

// Get returns what the store knows of key, or ErrNotFound.
func (k *Keeper) Get(ctx context.Context, key Key) (Record, error) {
	timed, cancel := context.WithTimeout(ctx, k.opts.Timeout)
	defer cancel()
	rec, err := k.store.Get(timed, key)
	k.failed(ctx, "get", err)
	return rec, err
}

// failed tells the Observer about an error that is the store's: not an answer,
// and not the end of ctx.
func (k *Keeper) failed(ctx context.Context, op string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	for _, answer := range [...]error{ErrBusy, ErrLost, ErrNotFound, ErrInvalid} {
		if errors.Is(err, answer) {
			return
		}
	}
	k.opts.Observer.storeError(op, err)
}

// Prune removes at most limit records whose memory is over and as many results
// whose retention is over. Call it every now and then: nothing else does.
func (k *Keeper) Prune(ctx context.Context, limit int) (Pruned, error) {
	p, err := k.store.Prune(ctx, limit)
	k.failed(ctx, "prune", err)
	k.opts.Observer.pruned(p)
	return p, err
}

// pause waits for d, or until ctx ends; then it reports false.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// elapsed returns the time since t by the monotonic or the wall clock,
// whichever is ahead: the monotonic one stands still while the machine sleeps.
func elapsed(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// backOff doubles base with each of n attempts, up to limit, and takes a
// random part of it off so that those who failed together do not return
// together.
func backOff(base, limit time.Duration, n int) time.Duration {
	d := base << min(n-1, 20)
	if d <= 0 || d > limit {
		d = limit
	}
	return d/2 + rand.N(d/2+1)
}
