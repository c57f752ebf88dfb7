package semel

import (
	"bytes"
	"cmp"
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
// The ending methods go on when their context is cancelled, repeat what the
// store did not answer for as long as the lease lasts, and return ErrLost if
// somebody else has taken or settled the key, or an error that wraps
// ErrUnrecorded if the store could not be told.
type Lease struct {
	keeper *Keeper
	claim  *claim

	mu        sync.Mutex
	rec       Record    // as the store last answered
	trust     time.Time // local time at which trust ends; with a monotonic reading
	last      End       // how the holder ended it; empty: not yet
	reported  bool      // the Observer has heard the end
	finishing bool      // somebody completes it in a transaction
}

func newLease(k *Keeper, c *claim, rec Record, sent time.Time) *Lease {
	l := &Lease{keeper: k, claim: c}
	l.renewed(rec, sent)
	return l
}

// renewed takes in an answer of the store to a request that was sent at sent.
// The lease that the answer grants began no earlier than that.
func (l *Lease) renewed(rec Record, sent time.Time) {
	l.rec = rec
	if end := sent.Add(rec.Until.Sub(rec.Now) - l.margin()); end.After(l.trust) {
		l.trust = end
	}
}

// margin is taken off the lease for clocks that do not run alike.
func (l *Lease) margin() time.Duration { return min(l.claim.opts.Lease/10, 5*time.Second) }

// Key returns the key that is held.
func (l *Lease) Key() Key { return l.claim.key }

// Token returns the token of this holder. It is greater than that of every
// holder before: give it to the effect, which then refuses smaller ones.
func (l *Lease) Token() Token {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rec.Token
}

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

func (l *Lease) trustLeft() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trustLeftLocked()
}

func (l *Lease) trustLeftLocked() time.Duration {
	if l.last != "" {
		return 0
	}
	now := time.Now()
	return min(l.trust.Sub(now), l.trust.Round(0).Sub(now.Round(0)))
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
	l.mu.Lock()
	token, last, finishing := l.rec.Token, l.last, l.finishing
	l.mu.Unlock()
	switch {
	case last != "":
		return ErrLost
	case finishing: // the transaction holds the record
		return nil
	}
	sent := time.Now()
	c := Change{From: Held, To: Held, For: l.claim.opts.Lease, Note: note, By: l.claim.opts.By}
	rec, err := l.keeper.updateOnce(ctx, l.Key(), token, c)
	if errors.Is(err, ErrLost) {
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

// Complete records that the work is done. The result, nil for none, is kept for
// those who repeat it; one beyond [Options.MaxResult] is not, and the key is
// done all the same.
func (l *Lease) Complete(ctx context.Context, result []byte) error {
	switch {
	case result == nil:
		return l.CompleteKept(ctx, nil, KeptNone, 0)
	case len(result) > l.keeper.opts.MaxResult:
		return l.CompleteKept(ctx, nil, KeptTooLarge, int64(len(result)))
	}
	return l.CompleteKept(ctx, result, "", int64(len(result)))
}

// CompleteKept records that the work is done, and why its full result of size
// bytes is not kept; what is kept of it may still be given.
func (l *Lease) CompleteKept(ctx context.Context, result []byte, kept Kept, size int64) error {
	return l.finish(ctx, EndDone, Change{
		From: Held, To: Done, For: l.claim.opts.Window, ResultFor: l.claim.opts.ResultFor,
		Result: result, Kept: kept, Size: size,
	})
}

// Dead records that the work failed for good: no attempt can succeed. Later
// ones get a [DeadError] with the reason.
func (l *Lease) Dead(ctx context.Context, reason string) error {
	return l.finish(ctx, EndDead, Change{From: Held, To: Dead, For: l.claim.opts.Window, Kept: KeptNone, Why: reason})
}

// Release gives the key back: the work had no effect, the next attempt may
// run. After another end it does nothing, so that it can be deferred. A key
// that was taken over from in doubt goes back into doubt instead.
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
	l.mu.Lock()
	last, recovered := l.last, l.rec.Recovered
	l.mu.Unlock()
	switch {
	case last == EndDoubted:
		return ErrLost
	case last != "":
		return nil
	case recovered:
		return l.Doubt(ctx, cmp.Or(o.Why, "given back undecided"))
	}
	return l.finish(ctx, EndReleased, Change{
		From: Held, To: Free, For: l.claim.opts.Keep, After: max(0, ms(o.After)), Forgive: o.Forgive, Why: o.Why,
	})
}

// Doubt records that the work may have taken effect: nobody runs it again until
// the key is settled. A late outcome can still be recorded by Complete or Dead.
func (l *Lease) Doubt(ctx context.Context, why string) error {
	return l.finish(ctx, EndDoubted, Change{From: Held, To: Held, Note: l.doubtNote(), Why: why})
}

// doubtNote makes a mark for a lease that has none; nil leaves the note alone.
func (l *Lease) doubtNote() []byte {
	if l.Record().Note == nil {
		return []byte{}
	}
	return nil
}

// finish records the holder's last word, or an outcome after its doubt.
func (l *Lease) finish(ctx context.Context, end End, c Change) error {
	l.mu.Lock()
	last, token := l.last, l.rec.Token
	within := l.trustLeftLocked()
	if last == "" {
		l.last = end // from here on this holder trusts nothing
	}
	l.mu.Unlock()
	late := last == EndDoubted && (end == EndDone || end == EndDead)
	switch {
	case last == end:
		return nil
	case last != "" && !late && last != EndUnrecorded && last != EndLost:
		return ErrLost
	}
	c.By = l.claim.opts.By
	rec, err := l.keeper.update(context.WithoutCancel(ctx), l.Key(), token, c, within)
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

// end remembers how the lease ended, and tells the Observer once.
func (l *Lease) end(end End, why string, rec Record) {
	l.mu.Lock()
	first := !l.reported
	l.reported, l.last = true, end
	if rec.Token == l.rec.Token {
		l.rec = rec
	}
	token := l.rec.Token
	l.mu.Unlock()
	if first {
		l.keeper.opts.Observer.ended(EndEvent{l.Key(), token, end, why})
	}
}

// reportLate makes sure that an outcome which came after the key was settled
// is not lost without a word.
func (l *Lease) reportLate(end End, c *Change, stands Record) {
	agrees := stands.State == c.To
	if end == EndDone && stands.Result != nil && c.Result != nil {
		agrees = agrees && bytes.Equal(stands.Result, c.Result)
	}
	l.keeper.opts.Observer.late(LateEvent{l.Key(), l.Token(), end, agrees, stands})
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

// Window returns the window and the retention of results that completing this
// lease sets. sqlstore's CompleteTx uses them.
func (l *Lease) Window() (window, resultFor time.Duration) {
	return l.claim.opts.Window, l.claim.opts.ResultFor
}
