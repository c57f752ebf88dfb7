// Package broken holds stores that are wrong in one point each. They show that
// every rule has a case that would notice if a store broke it.
package broken

import (
	"slices"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules"
	"github.com/semel-dev/semel/internal/rulestore"
)

// Store is a way to be wrong.
type Store struct {
	Name    string
	Catches []string // the cases that notice, and no other does
	Coarse  bool     // unless the fault is one that many cases run into
	Break   func(r *rulestore.Rules)
}

// Open returns such a store.
func (b Store) Open() *rulestore.Store {
	s := rulestore.New()
	b.Break(&s.Rules)
	return s
}

// Stores are all of them, in the order of the contract.
var Stores = slices.Concat(claimStores, moreClaimStores, takeoverStores, updateStores, endStores, timeStores, pruneStores, exactStores)

// decision is a claim or an update that the rules have decided, to be spoiled.
type decision struct {
	row, next rules.Row // before and after
	high      semel.Token
	req       *semel.Request // of a claim
	answer    semel.Answer
	change    *semel.Change // of an update
	err       error
	now       time.Time
}

// asked spoils what a claim is decided from.
func asked(spoil func(d *decision)) func(*rulestore.Rules) {
	return func(r *rulestore.Rules) {
		r.Claim = func(row rules.Row, high semel.Token, req *semel.Request, now time.Time) (rules.Row, semel.Answer) {
			d := decision{row: row, high: high, req: req, now: now}
			spoil(&d)
			return rules.Claim(d.row, d.high, d.req, d.now)
		}
	}
}

// won spoils what a claim that won writes and answers.
func won(spoil func(d *decision)) func(*rulestore.Rules) {
	return func(r *rulestore.Rules) {
		r.Claim = func(row rules.Row, high semel.Token, req *semel.Request, now time.Time) (rules.Row, semel.Answer) {
			d := decision{row: row, req: req, now: now}
			if d.next, d.answer = rules.Claim(row, high, req, now); d.answer.Won {
				spoil(&d)
				d.answer.Record = d.next.Seen(now)
			}
			return d.next, d.answer
		}
	}
}

// told spoils only what the claimer hears.
func told(spoil func(d *decision)) func(*rulestore.Rules) {
	return func(r *rulestore.Rules) {
		r.Claim = func(row rules.Row, high semel.Token, req *semel.Request, now time.Time) (rules.Row, semel.Answer) {
			d := decision{row: row, req: req, now: now}
			d.next, d.answer = rules.Claim(row, high, req, now)
			spoil(&d)
			return d.next, d.answer
		}
	}
}

// bidden spoils what an update is decided from.
func bidden(spoil func(d *decision, token *semel.Token)) func(*rulestore.Rules) {
	return func(r *rulestore.Rules) {
		r.Update = func(row rules.Row, token semel.Token, c *semel.Change, now time.Time) (rules.Row, semel.Record, error) {
			d := decision{row: row, change: c, now: now}
			spoil(&d, &token)
			return rules.Update(d.row, token, d.change, d.now)
		}
	}
}

// changed spoils what an update that applied writes and answers.
func changed(spoil func(d *decision)) func(*rulestore.Rules) {
	return func(r *rulestore.Rules) {
		r.Update = func(row rules.Row, token semel.Token, c *semel.Change, now time.Time) (rules.Row, semel.Record, error) {
			d := decision{row: row, change: c, now: now}
			var rec semel.Record
			d.next, rec, d.err = rules.Update(row, token, c, now)
			if d.err != nil {
				return d.next, rec, d.err
			}
			spoil(&d)
			return d.next, d.next.Seen(now), d.err
		}
	}
}
