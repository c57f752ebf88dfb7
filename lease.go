package semel

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Lease is a claim that was won. It is held for a limited time and has to be
// ended: by Complete, Dead, Release or Doubt. Its methods may be called
// concurrently.
//
// The ending methods go on when their context is cancelled, and repeat what the
// store did not answer for as long as the lease lasts, at least for
// [Options.Timeout]. They return ErrLost if somebody else has taken or settled
// the key or the holder has ended the lease otherwise, an error that wraps
// ErrUnrecorded if the store could not be told (then they may be called again),
// and ErrInvalid, changing nothing, for arguments out of range.
type Lease struct {
	keeper *Keeper
	claim  *claim
	token  Token

	ending chan struct{} // full while a last word is on its way to the store

	mu        sync.Mutex
	rec       Record    // as the store last answered
	note      []byte    // the last one sent, answered or not
	trust     time.Time // local time at which trust ends; with a monotonic reading
	said      End       // the holder's last word; empty: not yet
	ended     End       // what became of the lease; empty: it is held
	late      bool      // the Observer has heard of a late outcome
	finishing bool      // somebody completes it in a transaction
}

func newLease(k *Keeper, c *claim, rec Record, sent time.Time) *Lease {
	k.leases.add()
	l := &Lease{keeper: k, claim: c, token: rec.Token, ending: make(chan struct{}, 1), rec: rec}
	l.renewed(rec, sent)
	return l
}

// renewed takes in an answer of the store to a request that was sent at sent.
// The lease that the answer grants began no earlier than that. Answers may
// overtake each other: an older one extends trust at most, and never hides a
// mark.
func (l *Lease) renewed(rec Record, sent time.Time) {
	if end := sent.Add(rec.Until.Sub(rec.Now) - l.margin()); end.After(l.trust) {
		l.trust = end
	}
	if rec.Note == nil {
		rec.Note = l.rec.Note
	}
	if !rec.Now.Before(l.rec.Now) {
		l.rec = rec
	} else if l.rec.Note == nil {
		l.rec.Note = rec.Note
	}
}

// margin is taken off the lease for clocks that do not run alike.
func (l *Lease) margin() time.Duration { return min(l.claim.opts.Lease/10, 5*time.Second) }

// Key returns the key that is held.
func (l *Lease) Key() Key { return l.claim.key }

// Token returns the token of this holder. It is greater than that of every
// holder before: give it to the effect, which then refuses smaller ones.
func (l *Lease) Token() Token { return l.token }

// Record returns the record as the store last answered.
func (l *Lease) Record() Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rec
}

// Trusted reports whether nobody else can hold the key now. It turns false a
// margin before the lease ends, judged by the monotonic and the wall clock,
// whichever is ahead. What can happen between the answer and the effect, only
// the token at the effect closes.
func (l *Lease) Trusted() bool { return l.trustLeft() > 0 }

// trustLeft is zero or less from the holder's last word on.
func (l *Lease) trustLeft() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said != "" || l.ended != "" {
		return 0
	}
	return until(l.trust, time.Now())
}

// until returns the time from now to end by the monotonic or the wall clock,
// whichever is shorter: the monotonic one stands still while the machine
// sleeps, the wall clock can be set.
func until(end, now time.Time) time.Duration {
	return min(end.Sub(now), end.Round(0).Sub(now.Round(0)))
}

// Start returns nil if the effect may begin now, and an error that wraps
// ErrLost if the lease is not trusted any more. Call it directly before each
// external call: that a marked lease cannot be taken over is no leave to start
// late.
func (l *Lease) Start() error {
	if l.Trusted() {
		return nil
	}
	return fmt.Errorf("%w: trust in the lease has ended; do not start the effect", ErrLost)
}

// DerivedKey returns an idempotency key for the next hop: the same on every
// attempt at this key, another one after a forget. It is a hexadecimal HMAC of
// the key and its generation under [Options.Secret].
func (l *Lease) DerivedKey() string {
	digest := l.Key().Digest()
	mac := hmac.New(sha256.New, l.keeper.opts.Secret)
	mac.Write(digest[:])
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(l.Record().Generation)))
	return hex.EncodeToString(mac.Sum(nil))
}

// Renew extends the lease by its full length from now; it never shortens it.
// Do renews by itself. After ErrLost the work must stop.
func (l *Lease) Renew(ctx context.Context) error { return l.hold(ctx, nil) }

// Mark records, before an effect that cannot share a transaction with the
// claim, that the effect may happen. From then on an attempt that ends without
// an outcome leaves the key in doubt. The note is what recovery needs to find
// out; nil counts as an empty note. Mark renews the lease as well.
func (l *Lease) Mark(ctx context.Context, note []byte) error {
	if note == nil {
		note = []byte{}
	}
	return l.hold(ctx, note)
}

func (l *Lease) hold(ctx context.Context, note []byte) error {
	c := Change{From: Held, To: Held, For: l.claim.opts.Lease, Note: note, By: l.claim.opts.By}
	if err := c.Check(); err != nil {
		return err
	}
	if renews, err := l.mayHold(note); !renews {
		return err
	}
	sent := time.Now()
	rec, err := l.keeper.updateOnce(ctx, l.Key(), l.token, c)
	if errors.Is(err, ErrLost) {
		// The holder's own last word may have been faster.
		if renews, err := l.mayHold(nil); !renews {
			return err
		}
		l.end(EndLost, "", rec)
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed(rec, sent)
	return nil
}

// mayHold reports whether the lease can be renewed. It cannot be after its
// end, and need not be while a transaction holds the record; that is no error.
func (l *Lease) mayHold(note []byte) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.said != "" || l.ended != "":
		return false, ErrLost
	case l.finishing:
		return false, nil
	case note != nil:
		l.note = bytes.Clone(note)
	}
	return true, nil
}

// over reports whether the holder has said its last word.
func (l *Lease) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said != ""
}

// Complete records that the work is done. The result, nil for none, is kept for
// those who repeat it; one beyond [Options.MaxResult] is not, and the key is
// done all the same.
func (l *Lease) Complete(ctx context.Context, result []byte) error {
	return l.finish(ctx, EndDone, l.claim.done(result))
}

// done is the change that completes c's key.
func (c *claim) done(result []byte) Change {
	change := Change{
		From: Held, To: Done, For: c.opts.Window, ResultFor: c.opts.ResultFor,
		Kept: keptOf(result, c.opts.MaxResult), Size: int64(len(result)),
	}
	if change.Kept == "" {
		change.Result = result
	}
	return change
}

// keptOf says why result is not kept; empty: it is.
func keptOf(result []byte, limit int) Kept {
	switch {
	case result == nil:
		return KeptNone
	case len(result) > limit:
		return KeptTooLarge
	}
	return ""
}

// CompleteKept records that the work is done, and why its full result of size
// bytes is not kept; what is kept of it may still be given.
func (l *Lease) CompleteKept(ctx context.Context, result []byte, kept Kept, size int64) error {
	c := l.claim.done(nil)
	c.Result, c.Kept, c.Size = result, kept, size
	return l.finish(ctx, EndDone, c)
}

// Dead records that the work failed for good: no attempt can succeed. Later
// ones get a [DeadError] with the reason.
func (l *Lease) Dead(ctx context.Context, reason string) error {
	return l.finish(ctx, EndDead, Change{From: Held, To: Dead, For: l.claim.opts.Window, Kept: KeptNone, Why: reason})
}

// Release gives the key back: the work had no effect, the next attempt may
// run. After Complete or Dead it does nothing, so that it can be deferred.
func (l *Lease) Release(ctx context.Context) error {
	return l.ReleaseWith(ctx, ReleaseOptions{})
}

// ReleaseOptions say more about a release.
type ReleaseOptions struct {
	After   time.Duration // back-off: the key is not claimable before; 0: at once
	Forgive bool          // the attempt does not count
	Why     string        // for people
}

// ReleaseWith is Release with options.
func (l *Lease) ReleaseWith(ctx context.Context, o ReleaseOptions) error {
	return l.finish(ctx, EndReleased, Change{
		From: Held, To: Free, For: l.claim.opts.Keep, After: max(0, ms(o.After)), Forgive: o.Forgive, Why: o.Why,
	})
}

// Doubt records that the work may have taken effect: nobody runs it again until
// the key is settled. A late outcome can still be recorded by Complete or Dead.
func (l *Lease) Doubt(ctx context.Context, why string) error {
	return l.finish(ctx, EndDoubted, Change{From: Held, To: Held, Note: l.doubtNote(), Why: why})
}

// doubtNote makes a mark for a lease that has none: of a note whose answer was
// lost, or empty. Nil leaves the note alone.
func (l *Lease) doubtNote() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.rec.Note != nil:
		return nil
	case l.note != nil:
		return l.note
	}
	return []byte{}
}

// finish records the holder's last word, or an outcome after its doubt.
func (l *Lease) finish(ctx context.Context, end End, c Change) error {
	c.By, c.Why = l.claim.opts.By, text(c.Why)
	if err := c.Check(); err != nil {
		return err
	}
	l.ending <- struct{}{}
	defer func() { <-l.ending }()
	within, says, err := l.say(end)
	if !says {
		return err
	}
	rec, err := l.keeper.update(context.WithoutCancel(ctx), l.Key(), l.token, c, within)
	switch {
	case err == nil:
		l.end(end, c.Why, rec)
	case errors.Is(err, ErrLost):
		l.end(EndLost, c.Why, rec)
		l.reportLate(end, &c, rec)
	default:
		l.end(EndUnrecorded, c.Why, Record{})
		err = fmt.Errorf("%w: %w", ErrUnrecorded, err)
	}
	return err
}

// say decides whether the holder may say that the lease ends so, after what it
// has said before, and for how long the lease still lasts.
func (l *Lease) say(end End) (within time.Duration, says bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	outcome := l.ended == EndDone || l.ended == EndDead || l.ended == EndLapsed || l.ended == EndUnrecorded && l.said != EndReleased
	switch {
	case l.ended == end:
		return 0, false, nil
	case l.ended == "":
	case outcome && end == EndReleased: // deferred, it gives nothing away
		return 0, false, nil
	case l.ended == EndUnrecorded, l.ended == EndLapsed:
	case l.ended == EndDoubted && (end == EndDone || end == EndDead):
	case l.ended == EndLost && !l.late: // what stands is still to be reported
	default:
		return 0, false, ErrLost
	}
	l.said = end // from here on this holder trusts nothing
	return until(l.trust, time.Now()), true, nil
}

// end remembers how the lease ended, and tells the Observer the first end.
func (l *Lease) end(end End, why string, rec Record) {
	l.mu.Lock()
	first := l.ended == ""
	l.ended = end
	if rec.Token == l.token {
		l.rec = rec
	}
	l.mu.Unlock()
	if first {
		l.keeper.leases.done()
		l.keeper.opts.Observer.ended(EndEvent{l.Key(), l.token, end, why})
	}
}

// reportLate makes sure that an outcome which came after the key was settled
// is not lost without a word. A doubt is no outcome.
func (l *Lease) reportLate(end End, c *Change, stands Record) {
	l.mu.Lock()
	l.late = true
	l.mu.Unlock()
	if end == EndDoubted {
		return
	}
	agrees := stands.State == c.To
	if end == EndDone && stands.Result != nil && c.Result != nil {
		agrees = agrees && bytes.Equal(stands.Result, c.Result)
	}
	l.keeper.opts.Observer.late(LateEvent{l.Key(), l.token, end, agrees, stands})
}

// Finishing tells the lease that its completion is part of a transaction of
// the caller's: renewals would wait for that transaction, and are no longer
// sent. sqlstore's CompleteTx calls it. Do then reads what became of the
// transaction.
func (l *Lease) Finishing() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finishing = true
}

// Completion returns the change by which Complete would record that the work is
// done, for those who make it in a transaction of the caller's. sqlstore's
// CompleteTx does.
func (l *Lease) Completion(result []byte) Change {
	c := l.claim.done(result)
	c.By = l.claim.opts.By
	return c
}
