// Package rules is the contract of a claim as a pure function: what a record
// becomes, and what the caller hears, given the record, the request and the
// store's time. memstore runs these very functions under a lock, internal/model
// explores them exhaustively, internal/history judges recorded runs by them,
// and the SQL stores decide by them what a row that they read means.
//
// Nothing here has a side effect or looks at a clock.
package rules

import (
	"time"

	"github.com/semel-dev/semel"
)

// Row is what a store keeps of one key: the record and two facts that no
// caller sees. The zero Row is an absent one.
type Row struct {
	semel.Record
	From semel.State   // state before the last update: tells a repeat from a lost race
	Keep time.Duration // how long the row outlives Until
}

// Seen returns the record as it stands at now, with a result past its
// retention taken out.
func (r *Row) Seen(now time.Time) semel.Record {
	rec := r.Record
	rec.Now = now
	if rec.Result != nil && !rec.ResultUntil.IsZero() && !now.Before(rec.ResultUntil) {
		rec.Result, rec.Kept = nil, semel.KeptExpired
	}
	return rec
}

// Claim decides a claim. high is the highest token that was ever pruned.
func Claim(row Row, high semel.Token, req *semel.Request, now time.Time) (Row, semel.Answer) {
	stands := row.Seen(now)
	if row.Token != 0 && row.Attempt == req.Attempt {
		// Only this claimer knows that it did not start, so the lease is its
		// own again, lapsed or marked. A doubt, a release or an outcome was its
		// last word: a delayed copy of the claim must not revive the key.
		if row.State != semel.Held || row.Doubted {
			return row, semel.Answer{Record: stands}
		}
		row.Until = later(row.Until, now.Add(req.Lease))
		return row, semel.Answer{Won: true, Again: true, Record: row.Seen(now)}
	}
	if !stands.Claimable(req.Recover) || !req.Seen.Equal(row.Version()) {
		return row, semel.Answer{Record: stands}
	}
	won := Row{Keep: req.Keep, From: row.State, Record: semel.Record{
		Key:         req.Key,
		State:       semel.Held,
		Token:       NextToken(max(row.Token, high), now),
		Attempts:    1,
		Generation:  row.Generation, // downstream keys stay the same until a forget
		Attempt:     req.Attempt,
		Created:     now,
		Until:       now.Add(req.Lease),
		Fingerprint: req.Fingerprint,
		Note:        req.Note,
		Source:      req.Source,
		By:          req.By,
	}}
	if row.Token != 0 && !stands.Expired() {
		won.Attempts, won.Created = row.Attempts+1, row.Created
	}
	if row.State == semel.Held {
		won.Fingerprint = row.Fingerprint
		if row.Note != nil {
			won.Note, won.Recovered = row.Note, true
		}
	}
	answer := semel.Answer{Won: true, Record: won.Seen(now)}
	if row.Token != 0 {
		answer.Before = stands
	}
	return won, answer
}

// NextToken returns the token after last at now: the store's clock in
// microseconds, or one more than last where the clock has not moved on.
func NextToken(last semel.Token, now time.Time) semel.Token {
	return max(last+1, semel.Token(now.UnixMicro()))
}

// Update decides an update. It returns the record that stands and ErrLost if
// the change does not apply.
func Update(row Row, token semel.Token, c *semel.Change, now time.Time) (Row, semel.Record, error) {
	switch {
	case row.Token == 0 || row.Token != token:
		return row, row.Seen(now), semel.ErrLost
	case row.State == c.From && c.To == semel.Held:
		return hold(row, c, now)
	case row.State == c.From:
		row = finish(row, c, now)
	case row.State == c.To && row.From == c.From: // a repeat: the first one stands
	default:
		return row, row.Seen(now), semel.ErrLost
	}
	return row, row.Seen(now), nil
}

// hold renews, marks or doubts a held row.
func hold(row Row, c *semel.Change, now time.Time) (Row, semel.Record, error) {
	doubts := c.Doubts()
	switch {
	case row.Doubted && doubts:
		return row, row.Seen(now), nil
	case row.Doubted, doubts && row.Note == nil && c.Note == nil:
		// A doubt is the holder's last word but for an outcome; and a doubt
		// without a note would leave nothing to ask about.
		return row, row.Seen(now), semel.ErrLost
	case doubts:
		row.Doubted, row.Until = true, now
		row.By, row.Why = c.By, c.Why
	default:
		row.Until = later(row.Until, now.Add(c.For))
	}
	if c.Note != nil {
		row.Note = c.Note
	}
	return row, row.Seen(now), nil
}

// finish moves a row to Done, Dead or Free.
func finish(row Row, c *semel.Change, now time.Time) Row {
	row.From, row.State = row.State, c.To
	row.Until = now.Add(c.For)
	row.Doubted, row.Recovered = false, false
	row.NotBefore, row.ResultUntil = time.Time{}, time.Time{}
	row.Note, row.Result = nil, c.Result
	row.Kept, row.Size = c.Kept, max(c.Size, int64(len(c.Result)))
	row.By, row.Why = c.By, c.Why
	switch {
	case c.To != semel.Free:
		if c.ResultFor > 0 && c.ResultFor < c.For {
			row.ResultUntil = now.Add(c.ResultFor)
		}
	case row.From == semel.Held:
		if c.Forgive {
			row.Attempts = max(row.Attempts-1, 0)
		}
	default: // forget
		row.Generation++
		row.Attempts = 0
	}
	if c.To == semel.Free {
		row.Result, row.Kept, row.Size = nil, "", 0
		if c.After > 0 {
			row.NotBefore = now.Add(c.After)
			row.Until = later(row.Until, row.NotBefore)
		}
	}
	return row
}

// Prunable reports whether the row may be removed at now. What is or may come
// to be in doubt never is.
func Prunable(row *Row, now time.Time) bool {
	if row.State == semel.Held && row.Note != nil {
		return false
	}
	return !now.Before(row.Until.Add(row.Keep))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
