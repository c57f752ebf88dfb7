package model

import (
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules"
)

// The rules of the store, each broken in one place: wrappers around the rules
// that ship, so that everything else of them stays.

// onClaim breaks what a claim is told or asks, before the rules see it.
func onClaim(before func(r *rules.Row, high *semel.Token, req *semel.Request, now time.Time)) func(*Variant) {
	return func(v *Variant) {
		claim := v.Claim
		v.Claim = func(r rules.Row, high semel.Token, req *semel.Request, now time.Time) (rules.Row, semel.Answer) {
			asked := *req
			before(&r, &high, &asked, now)
			return claim(r, high, &asked, now)
		}
	}
}

// afterWin breaks what a claim that won leaves behind and answers.
func afterWin(after func(old, r *rules.Row, a *semel.Answer, req *semel.Request, now time.Time)) func(*Variant) {
	return func(v *Variant) {
		claim := v.Claim
		v.Claim = func(r rules.Row, high semel.Token, req *semel.Request, now time.Time) (rules.Row, semel.Answer) {
			next, a := claim(r, high, req, now)
			if a.Won {
				after(&r, &next, &a, req, now)
			}
			return next, a
		}
	}
}

// onUpdate breaks what an update is told or asks, before the rules see it.
func onUpdate(before func(r *rules.Row, token *semel.Token, c *semel.Change, now time.Time)) func(*Variant) {
	return func(v *Variant) {
		update := v.Update
		v.Update = func(r rules.Row, token semel.Token, c *semel.Change, now time.Time) (rules.Row, semel.Record, error) {
			asked := *c
			before(&r, &token, &asked, now)
			return update(r, token, &asked, now)
		}
	}
}

// afterUpdate breaks what an update that applied leaves behind and answers.
func afterUpdate(after func(old, r *rules.Row, c *semel.Change, now time.Time)) func(*Variant) {
	return func(v *Variant) {
		update := v.Update
		v.Update = func(r rules.Row, token semel.Token, c *semel.Change, now time.Time) (rules.Row, semel.Record, error) {
			next, rec, err := update(r, token, c, now)
			if err == nil {
				after(&r, &next, c, now)
				rec = next.Seen(now)
			}
			return next, rec, err
		}
	}
}

// refusing makes updates lost that should apply.
func refusing(refuses func(r *rules.Row, c *semel.Change, now time.Time) bool) func(*Variant) {
	return func(v *Variant) {
		update := v.Update
		v.Update = func(r rules.Row, token semel.Token, c *semel.Change, now time.Time) (rules.Row, semel.Record, error) {
			if refuses(&r, c, now) {
				return r, r.Seen(now), semel.ErrLost
			}
			return update(r, token, c, now)
		}
	}
}

// onPrune breaks what prune sees of a row.
func onPrune(before func(r *rules.Row)) func(*Variant) {
	return func(v *Variant) {
		prunable := v.Prunable
		v.Prunable = func(r *rules.Row, now time.Time) bool {
			seen := *r
			before(&seen)
			return prunable(&seen, now)
		}
	}
}

func renews(c *semel.Change) bool { return c.To == semel.Held && c.For > 0 }

var (
	ignoresVersion = onClaim(func(r *rules.Row, _ *semel.Token, req *semel.Request, _ time.Time) {
		req.Seen = r.Version()
	})
	takesMarked = onClaim(func(_ *rules.Row, _ *semel.Token, req *semel.Request, _ time.Time) {
		req.Recover = true
	})
	againRevives = onClaim(func(r *rules.Row, _ *semel.Token, req *semel.Request, _ time.Time) {
		r.Doubted = r.Doubted && r.Attempt != req.Attempt
	})
	forgetsHolderOnFree = onClaim(func(r *rules.Row, _ *semel.Token, _ *semel.Request, _ time.Time) {
		if r.State == semel.Free {
			r.Attempt = semel.AttemptID{}
		}
	})
	forgetsHolderOnDone = onClaim(func(r *rules.Row, _ *semel.Token, _ *semel.Request, _ time.Time) {
		if r.State == semel.Done {
			r.Attempt = semel.AttemptID{}
		}
	})
	forgetsPruned = onClaim(func(_ *rules.Row, high *semel.Token, _ *semel.Request, _ time.Time) {
		*high = 0
	})
)

var (
	noAgain = func(v *Variant) {
		claim := v.Claim
		v.Claim = func(r rules.Row, high semel.Token, req *semel.Request, now time.Time) (rules.Row, semel.Answer) {
			if r.State == semel.Held && r.Attempt == req.Attempt {
				return r, semel.Answer{Record: r.Seen(now)}
			}
			return claim(r, high, req, now)
		}
	}
	againDropsRecovered = afterWin(func(_, _ *rules.Row, a *semel.Answer, _ *semel.Request, _ time.Time) {
		a.Record.Recovered = a.Record.Recovered && !a.Again
	})
	neverRecovered = afterWin(func(_, r *rules.Row, a *semel.Answer, _ *semel.Request, _ time.Time) {
		r.Recovered, a.Record.Recovered = false, false
	})
	againShortens = afterWin(func(_, r *rules.Row, a *semel.Answer, req *semel.Request, now time.Time) {
		if a.Again {
			r.Until = now.Add(req.Lease)
			a.Record = r.Seen(now)
		}
	})
	againKeepsUntil = afterWin(func(old, r *rules.Row, a *semel.Answer, _ *semel.Request, now time.Time) {
		if a.Again {
			r.Until = old.Until
			a.Record = r.Seen(now)
		}
	})
	againResetsNote = afterWin(func(_, r *rules.Row, a *semel.Answer, req *semel.Request, _ time.Time) {
		if a.Again {
			r.Note, a.Record.Note = req.Note, req.Note
		}
	})
	tokenIsClock = afterWin(func(_, r *rules.Row, a *semel.Answer, _ *semel.Request, now time.Time) {
		if !a.Again {
			r.Token = semel.Token(now.UnixMicro())
			a.Record = r.Seen(now)
		}
	})
)

var (
	noFrom = onUpdate(func(r *rules.Row, _ *semel.Token, c *semel.Change, _ time.Time) {
		c.From = r.State
	})
	noToken = onUpdate(func(r *rules.Row, token *semel.Token, _ *semel.Change, _ time.Time) {
		*token = r.Token
	})
	renewalRevives = onUpdate(func(r *rules.Row, _ *semel.Token, c *semel.Change, _ time.Time) {
		r.Doubted = r.Doubted && !renews(c)
	})
	renewalShortens = afterUpdate(func(_, r *rules.Row, c *semel.Change, now time.Time) {
		if renews(c) {
			r.Until = now.Add(c.For)
		}
	})
	renewalClearsNote = afterUpdate(func(_, r *rules.Row, c *semel.Change, _ time.Time) {
		if renews(c) {
			r.Note = c.Note
		}
	})
	repeatReplaces = afterUpdate(func(old, r *rules.Row, c *semel.Change, now time.Time) {
		if old.State == semel.Done && c.To == semel.Done {
			r.Result, r.Until = c.Result, now.Add(c.For)
		}
	})
	forgetKeepsGeneration = afterUpdate(func(old, r *rules.Row, _ *semel.Change, _ time.Time) {
		r.Generation = old.Generation
	})
	noRepeat = refusing(func(r *rules.Row, c *semel.Change, _ time.Time) bool {
		return r.State != c.From
	})
	lapsedMayNotEnd = refusing(func(r *rules.Row, _ *semel.Change, now time.Time) bool {
		rec := r.Seen(now)
		return rec.Lapsed()
	})
	keepsNothing = onPrune(func(r *rules.Row) { r.Keep = 0 })
	prunesMarked = onPrune(func(r *rules.Row) { r.Note = nil })
)
