package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules"
)

// TxOptions adjust one [Store.ClaimTx]. Durations are rounded up to whole
// milliseconds.
type TxOptions struct {
	Window    time.Duration // how long the key is remembered; 0: 72 h
	ResultFor time.Duration // how long Result is kept; 0: as long as the key
	Keep      time.Duration // how long the record outlives its window; 0: a tenth of it, at least 1 h

	// Fingerprint tells a repeated request from a reused key; nil: not compared.
	// Same compares the stored one with it; nil: [bytes.Equal].
	Fingerprint []byte
	Same        func(stored, given []byte) bool

	Result []byte       // for those who repeat the work; nil: none
	Source semel.Source // why a second attempt may exist; empty: unspecified
	By     string       // who, for people
}

// ClaimTx claims key inside the caller's transaction and completes it at once:
// work that is done in the same transaction happens once. If the claim is the
// first, it returns true and a record that is Done; do the work and commit. If
// the work was done (or is dead for good), it returns false and the record that
// stands, and the transaction is as usable as before.
//
// A rollback, also one to a savepoint before the claim, leaves exactly what
// stood before, so claim and work belong in the same (sub)transaction. The
// token of the returned record must not leave the transaction before its
// commit: after a rollback the next claim may get the same one. Nil options are
// the zero TxOptions.
//
// Errors: [semel.ErrBusy] if another attempt holds the key, the key is backing
// off, or another transaction is open and did not end in time;
// [semel.ErrInDoubt] with the record if an earlier attempt may have taken
// effect; [semel.ErrMismatch] with the record if the key was used with another
// fingerprint. In these cases the transaction stays usable.
// [semel.ErrRetryTx]: roll back and run the transaction again; on SQLite this
// happens only to transactions that were not begun IMMEDIATE.
func (s *Store) ClaimTx(ctx context.Context, tx Tx, key semel.Key, o *TxOptions) (first bool, rec semel.Record, err error) {
	if o == nil {
		o = new(TxOptions)
	}
	c, err := o.claim(key)
	if err != nil {
		return false, semel.Record{}, err
	}
	if err := tx.check(); err != nil {
		return false, semel.Record{}, err
	}
	err = within(ctx, s.d, s.wait, "claim", func() (err error) {
		first, rec, err = s.d.claimTx(ctx, tx.q, c)
		return err
	})
	return first, rec, err
}

// txClaim is a claim and its completion.
type txClaim struct {
	req  semel.Request
	done semel.Change
	same func(stored, given []byte) bool
}

// claim returns what o asks for, with its defaults.
func (o *TxOptions) claim(key semel.Key) (*txClaim, error) {
	window := cmp.Or(ceil(o.Window), 72*time.Hour)
	c := &txClaim{
		req: semel.Request{
			Key: key, Attempt: semel.NewAttemptID(), Lease: semel.MinLease,
			Keep:        cmp.Or(ceil(o.Keep), max(time.Hour, ceil(window/10))),
			Fingerprint: o.Fingerprint, Source: o.Source, By: o.By,
		},
		done: semel.Change{From: semel.Held, To: semel.Done, For: window, ResultFor: ceil(o.ResultFor), Result: o.Result, By: o.By},
		same: o.Same,
	}
	if o.Result == nil {
		c.done.Kept = semel.KeptNone
	}
	if c.same == nil {
		c.same = bytes.Equal
	}
	return c, cmp.Or(c.req.Check(), c.done.Check())
}

// ceil rounds d up to what a store can keep.
func ceil(d time.Duration) time.Duration {
	if rest := d % time.Millisecond; rest > 0 {
		return d + time.Millisecond - rest
	}
	return d
}

// claimTx writes first. A transaction that had only read so far could be
// refused the write for good, and one that has written sees nobody else's
// changes any more.
func (d *dialect) claimTx(ctx context.Context, q querier, c *txClaim) (bool, semel.Record, error) {
	var row rules.Row // what was read; at first: nothing
	for range rounds {
		stands := row.Seen(row.Now)
		if err := c.differs(&stands); err != nil {
			return false, stands, err
		}
		c.req.Seen = row.Version()
		next, answer := rules.Claim(row, 0, &c.req, row.Now)
		if !answer.Won {
			return false, stands, refusal(&stands)
		}
		next, _, err := rules.Update(next, next.Token, &c.done, row.Now)
		if err != nil {
			return false, semel.Record{}, err
		}
		after, won, err := d.put(ctx, q, &row, &record{Row: next, life: c.done.For, resultFor: c.resultFor()})
		if err != nil || won {
			return won, after.Seen(after.Now), err
		}
		if row, err = d.read(ctx, q, c.req.Key); err != nil {
			return false, semel.Record{}, err
		}
	}
	return false, semel.Record{}, fmt.Errorf("%w: the record kept changing", semel.ErrBusy)
}

// differs returns ErrMismatch if rec stands for another request.
func (c *txClaim) differs(rec *semel.Record) error {
	if rec.Expired() || rec.State == semel.Free || rec.Fingerprint == nil || c.req.Fingerprint == nil ||
		c.same(rec.Fingerprint, c.req.Fingerprint) {
		return nil
	}
	return semel.ErrMismatch
}

func (c *txClaim) resultFor() time.Duration {
	if c.done.ResultFor >= c.done.For {
		return 0
	}
	return c.done.ResultFor
}

// refusal says why rec was not claimed; nil: its work is over.
func refusal(rec *semel.Record) error {
	switch {
	case rec.State == semel.Done, rec.State == semel.Dead:
		return nil
	case rec.InDoubt():
		return semel.ErrInDoubt
	}
	return semel.ErrBusy
}
