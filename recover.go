package semel

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Finding is what a [RecoverFunc] found out about an effect.
type Finding uint8

// The findings. The zero Finding decides nothing.
const (
	Unknown Finding = iota
	Happened
	DidNotHappen
)

// RecoverFunc finds out, usually by asking the outside system, whether the
// effect of a key in doubt happened. The record's Note and Key say what to ask
// about. With Happened it may return the result for those who repeat the work.
// DidNotHappen is believed only when said twice in a row, a second apart, after
// [Options.EffectDeadline] has passed since the lapsed lease ended: until then
// the effect may still be on its way. An error counts as Unknown and is joined
// to the ErrInDoubt that the caller gets. It may be called concurrently for
// different keys, and for one key by different processes.
type RecoverFunc func(ctx context.Context, rec Record) (f Finding, result []byte, err error)

// proofGap is the distance between the two answers that prove a non-event.
const proofGap = time.Second

// recover asks about a record in doubt and settles it if the answer allows. It
// goes on when its caller leaves: an answer takes as long as it takes, and the
// next caller finds it. One process asks about a key once at a time.
func (k *Keeper) recover(ctx context.Context, c *claim, rec *Record) (Record, error) {
	if _, asking := k.asking.LoadOrStore(c.key, nil); asking {
		return *rec, ErrInDoubt
	}
	asked := *rec // the caller may be gone while this is read
	stands, err := asked, error(nil)
	done := make(chan struct{})
	if !k.undo.start(func(duty context.Context) {
		defer close(done)
		defer k.asking.Delete(c.key)
		defer func() {
			// Nobody else could catch it here, and nothing was decided.
			if p := recover(); p != nil {
				err = fmt.Errorf("%w: the RecoverFunc panicked: %v", ErrInDoubt, p)
			}
		}()
		stands, err = k.inquire(duty, c, &asked)
	}) {
		k.asking.Delete(c.key)
		return *rec, ErrInDoubt
	}
	select {
	case <-done:
		return stands, err
	case <-ctx.Done():
		return *rec, join(ErrInDoubt, context.Cause(ctx))
	}
}

// inquire writes nothing before it has an answer, so that asking does not put
// off the moment at which a non-event is proven; the settling claim names the
// version that was asked about. It returns the record that stands.
func (k *Keeper) inquire(ctx context.Context, c *claim, rec *Record) (Record, error) {
	finding, result, err := c.opts.Recover(ctx, *rec)
	switch {
	case err != nil:
		return *rec, join(ErrInDoubt, err)
	case finding == Happened:
		return k.settleFound(ctx, c, rec, c.doneBy(result, "found to have happened"))
	case finding != DidNotHappen:
		return *rec, ErrInDoubt
	}
	if wait := k.unproven(rec); wait > 0 {
		return *rec, fmt.Errorf("%w: not found, but it could still happen for %v", ErrInDoubt, wait)
	}
	if !pause(ctx, proofGap) {
		return *rec, join(ErrInDoubt, context.Cause(ctx))
	}
	if finding, _, err = c.opts.Recover(ctx, *rec); err != nil || finding != DidNotHappen {
		return *rec, join(ErrInDoubt, err)
	}
	return k.settleFound(ctx, c, rec, c.freeBy("found not to have happened"))
}

// settleFound settles what was found out. If somebody else was faster, what
// stands is as good.
func (k *Keeper) settleFound(ctx context.Context, c *claim, rec *Record, change Change) (Record, error) {
	after, err := k.settle(ctx, c, rec, change)
	if errors.Is(err, errOvertaken) {
		return after, nil
	}
	if err != nil {
		err = join(ErrInDoubt, err)
	}
	return after, err
}

// unproven returns how long rec's effect may still be on its way.
func (k *Keeper) unproven(rec *Record) time.Duration {
	return rec.Until.Add(k.opts.EffectDeadline).Sub(rec.Now)
}

func (c *claim) doneBy(result []byte, why string) Change {
	change := c.done(result)
	change.By, change.Why = c.opts.By, text(why)
	return change
}

func (c *claim) freeBy(why string) Change {
	return Change{From: Held, To: Free, For: c.opts.Keep, By: c.opts.By, Why: text(why)}
}

// errOvertaken says that the record was changed by somebody else meanwhile.
var errOvertaken = fmt.Errorf("%w: somebody else changed the key while it was settled", ErrBusy)

// settle takes rec over from in doubt and changes it. It returns the record
// that stands.
func (k *Keeper) settle(ctx context.Context, c *claim, rec *Record, change Change) (Record, error) {
	req := c.request(rec.Version())
	req.Recover = true
	answer, _, err := k.ask(ctx, req, 0)
	switch {
	case err != nil:
		return *rec, err
	case !answer.Won:
		return answer.Record, errOvertaken
	}
	after, err := k.update(context.WithoutCancel(ctx), c.key, answer.Record.Token, change, c.opts.Lease)
	switch {
	case errors.Is(err, ErrLost):
		return after, errOvertaken
	case err != nil:
		return answer.Record, err
	}
	return after, nil
}

// Settlement is somebody's word on a key in doubt.
type Settlement struct {
	Happened bool   // false: the effect did not happen, the key becomes free
	Result   []byte // Happened: for those who repeat the work; nil: none
	By, Why  string // for people; By: the Keeper's if empty
	// Force believes that nothing happened although the effect could still be
	// on its way.
	Force bool
}

// Settle ends the doubt about key. It returns the record that stands, and
// ErrNotFound if the store knows nothing of the key; ErrInvalid if the key is
// not in doubt, or if "did not happen" comes before [Options.EffectDeadline] has
// passed since the lapsed lease ended and Force is not set; ErrBusy if somebody
// else changed the record meanwhile.
func (k *Keeper) Settle(ctx context.Context, key Key, s Settlement) (Record, error) {
	c, err := k.newClaim(ctx, key, &ClaimOptions{By: s.By})
	if err != nil {
		return Record{}, err
	}
	rec, err := k.Get(ctx, key)
	if err != nil {
		return rec, err
	}
	if !rec.InDoubt() {
		return rec, fmt.Errorf("%w: the key is %v and not in doubt, there is nothing to settle", ErrInvalid, rec.State)
	}
	change := c.doneBy(s.Result, s.Why)
	if !s.Happened {
		if wait := k.unproven(&rec); wait > 0 && !s.Force {
			return rec, fmt.Errorf("%w: the lease ended %v ago; the effect could still happen for %v", ErrInvalid, rec.Now.Sub(rec.Until), wait)
		}
		change = c.freeBy(s.Why)
	}
	return k.settle(ctx, c, &rec, change)
}

// Forget frees a done or dead key, so that its work may run again on purpose.
// It returns the record that stands, and ErrNotFound if the store knows nothing
// of the key; ErrBusy if the key is held; ErrInDoubt if it is in doubt;
// ErrInvalid if it is free; ErrLost if it changed meanwhile.
func (k *Keeper) Forget(ctx context.Context, key Key, by, why string) (Record, error) {
	c, err := k.newClaim(ctx, key, &ClaimOptions{By: by})
	if err != nil {
		return Record{}, err
	}
	rec, err := k.Get(ctx, key)
	switch {
	case err != nil:
		return rec, err
	case rec.InDoubt():
		return rec, fmt.Errorf("%w: settle the key instead", ErrInDoubt)
	case rec.State == Held:
		return rec, ErrBusy
	case rec.State == Free:
		return rec, fmt.Errorf("%w: the key is free, there is nothing to forget", ErrInvalid)
	}
	change := Change{From: rec.State, To: Free, For: c.opts.Keep, By: c.opts.By, Why: text(why)}
	return k.update(ctx, key, rec.Token, change, 0)
}
