package model

import (
	"time"

	"github.com/semel-dev/semel"
)

// transitions asks the rules, and remembers what they said: they are pure, and
// few of the transitions of an exploration differ in what concerns them.
type transitions struct {
	rules   Rules
	cfg     *Config
	claims  map[claimCase]claimVerdict
	updates map[updateCase]updateVerdict
	prunes  map[pruneCase]bool
}

type claimCase struct {
	row             row
	high, now       uint8
	attempt         uint8
	marked, recover bool
	seen            version
}

type claimVerdict struct {
	row                   row
	won, again, recovered bool
	left                  uint8 // of the lease, from now
	proofFrom             uint8
}

type updateCase struct {
	row        row
	now, token uint8
	op         operation
	result     uint8
	backOff    bool
}

type updateVerdict struct {
	row  row
	lost bool
	left uint8
}

type pruneCase struct {
	row row
	now uint8
}

func newTransitions(r Rules, cfg *Config) *transitions {
	return &transitions{
		rules:   r,
		cfg:     cfg,
		claims:  map[claimCase]claimVerdict{},
		updates: map[updateCase]updateVerdict{},
		prunes:  map[pruneCase]bool{},
	}
}

// remembered returns memory[k], computing it the first time.
func remembered[K comparable, V any](memory map[K]V, k K, compute func(K) V) V {
	v, ok := memory[k]
	if !ok {
		v = compute(k)
		memory[k] = v
	}
	return v
}

func (t *transitions) claim(c claimCase) claimVerdict {
	return remembered(t.claims, c, func(c claimCase) claimVerdict {
		req := semel.Request{
			Key:     theKey,
			Attempt: attemptID(c.attempt),
			Seen:    c.seen.expand(),
			Lease:   ticks(lease),
			Keep:    ticks(keep),
			Recover: c.recover,
		}
		if c.marked {
			req.Note = theNote
		}
		next, a := t.rules.Claim(c.row.expand(), semel.Token(c.high), &req, instant(c.now))
		v := claimVerdict{row: compact(next), won: a.Won, again: a.Again}
		if a.Won {
			v.recovered, v.left = a.Record.Recovered, left(&a.Record)
		}
		switch {
		case v.recovered && a.Again: // when the earlier lease ended is no longer known
			v.proofFrom = tick(a.Record.Now)
		case v.recovered:
			v.proofFrom = tick(a.Before.Until)
		}
		return v
	})
}

func (t *transitions) update(u updateCase) updateVerdict {
	return remembered(t.updates, u, func(u updateCase) updateVerdict {
		change := t.change(&u)
		next, rec, err := t.rules.Update(u.row.expand(), semel.Token(u.token), &change, instant(u.now))
		v := updateVerdict{row: compact(next), lost: err != nil}
		if !v.lost && (u.op == renew || u.op == mark) {
			v.left = left(&rec)
		}
		return v
	})
}

// change returns the change that u's operation asks for.
func (t *transitions) change(u *updateCase) semel.Change {
	var c semel.Change
	c.From, c.To = u.op.ends()
	switch u.op {
	case renew:
		c.For = ticks(renewal)
	case mark:
		c.For, c.Note = ticks(lease), theNote
	case doubt:
		c.Note = theNote
	case complete:
		c.For, c.Result = ticks(window), results[u.result]
	case release, forget:
		c.For = ticks(memory)
		if u.backOff {
			c.After = ticks(t.cfg.BackOff)
		}
	}
	return c
}

func (t *transitions) prunable(r row, now uint8) bool {
	return r.token != 0 && remembered(t.prunes, pruneCase{r, now}, func(c pruneCase) bool {
		full := c.row.expand()
		return t.rules.Prunable(&full, instant(c.now))
	})
}

// left returns how much of rec's lease is left.
func left(rec *semel.Record) uint8 {
	return small(max(rec.Until.Sub(rec.Now), 0) / time.Microsecond)
}
