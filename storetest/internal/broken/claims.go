package broken

import (
	"context"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules"
	"github.com/semel-dev/semel/internal/rulestore"
)

var claimStores = []Store{
	{Name: "checks no argument", Catches: []string{
		"valid: a claim with a lease outside the range is refused and changes nothing",
		"valid: a claim with a memory outside the range is refused and changes nothing",
		"valid: a claim without an attempt id is refused and changes nothing",
		"valid: an empty or too long key is refused by every method",
		"valid: a change with a duration outside the range is refused and changes nothing",
		"valid: a change that leads where none leads is refused and changes nothing",
		"valid: bytes and texts beyond their limits are refused and change nothing",
	}, Break: func(r *rulestore.Rules) { r.Check = func(error) error { return nil } }},
	{Name: "begins calls whose context is over", Catches: []string{"valid: a context that is over changes nothing"}, Break: func(r *rulestore.Rules) { r.Context = func(context.Context) error { return nil } }},
	{Name: "heeds no version", Coarse: true, Catches: []string{"rule 0: a claim that saw nothing does not win a record"}, Break: asked(func(d *decision) { d.req.Seen = d.row.Version() })},
	{Name: "takes having seen nothing for having seen all", Catches: []string{
		"rule 0: a claim that saw nothing does not win a record",
		"rule 0: a delayed copy of a refused claim wins nothing later",
		"rule 4: an attempt that was replaced does not win again",
	}, Break: asked(func(d *decision) {
		if d.req.Seen.Token == 0 {
			d.req.Seen = d.row.Version()
		}
	})},
	{Name: "creates what a claim saw and is gone", Catches: []string{"rule 0: a claim that saw a record does not win an absent key"}, Break: asked(func(d *decision) {
		if d.row.Token == 0 {
			d.req.Seen = semel.Version{}
		}
	})},
	{Name: "compares versions to the millisecond", Catches: []string{"rule 0: an instant is compared to the microsecond"}, Break: asked(func(d *decision) {
		if v := d.row.Version(); d.req.Seen.Until.Sub(v.Until).Abs() < time.Millisecond {
			d.req.Seen.Until = v.Until
		}
	})},
	{Name: "compares no state", Catches: []string{"rule 0: each part of the version counts"}, Break: asked(func(d *decision) { d.req.Seen.State = d.row.State })},
	{Name: "compares no doubt", Catches: []string{"rule 0: each part of the version counts"}, Break: asked(func(d *decision) { d.req.Seen.Doubted = d.row.Doubted })},
	{Name: "compares no token", Catches: []string{"rule 0: each part of the version counts"}, Break: asked(func(d *decision) {
		if d.req.Seen.Token != 0 {
			d.req.Seen.Token = d.row.Token
		}
	})},
	{Name: "heeds no back-off", Catches: []string{
		"rule 3: a released key is not won before its back-off is over",
		"rule 9: a forgotten key may back off",
		"rule 14: a back-off beyond the memory extends it",
	}, Break: asked(func(d *decision) { d.row.NotBefore = time.Time{} })},
	{Name: "keeps an old note", Catches: []string{
		"rule 1: a released key is won with the request's fingerprint and note",
		"rule 1: a claim of an expired key starts anew and shows what it replaced",
	}, Break: won(func(d *decision) {
		if d.next.Note == nil {
			d.next.Note = d.req.Note
		}
		if d.row.State == semel.Free && d.row.Token != 0 {
			d.next.Fingerprint = d.row.Fingerprint
		}
	})},
	{Name: "does not count on", Catches: []string{
		"rule 1: a claim of a released key counts on and shows what it replaced",
		"rule 2: a lapsed lease without a note is taken over",
		"rule 8: a release that forgives does not count the attempt",
	}, Break: won(func(d *decision) { d.next.Attempts = 1 })},
	{Name: "counts on after the window", Catches: []string{"rule 1: a claim of an expired key starts anew and shows what it replaced"}, Break: won(func(d *decision) {
		if d.row.State == semel.Done && !d.now.Before(d.row.Until) {
			d.next.Attempts = d.row.Attempts + 1
		}
	})},
	{Name: "wins a dead key", Coarse: true, Catches: []string{"rule 3: a dead key is not won in its window"}, Break: asked(func(d *decision) {
		if d.row.State == semel.Dead {
			d.row.Until = d.now
			d.req.Seen.Until = d.now
		}
	})},
	{Name: "wins a done key", Coarse: true, Catches: []string{"rule 3: a done key is not won in its window"}, Break: asked(func(d *decision) {
		if d.row.State == semel.Done {
			d.row.Until = d.now
			d.req.Seen.Until = d.now
		}
	})},
	{Name: "says nothing of what a claim replaced", Coarse: true, Catches: []string{"rule 1: a claim of a released key counts on and shows what it replaced"}, Break: told(func(d *decision) { d.answer.Before = semel.Record{} })},
	{Name: "tells a refused claim nothing", Coarse: true, Catches: []string{"rule 3: a held key is not won in trust"}, Break: told(func(d *decision) {
		if !d.answer.Won {
			d.answer.Record = semel.Record{Now: d.now}
		}
	})},
	{Name: "writes a refused claim's name", Coarse: true, Catches: []string{"rule 6: a refused claim writes nothing"}, Break: writesRefused},
	{Name: "forgets who came last", Coarse: true, Catches: []string{"rule 4: a delayed copy of a claim does not revive what has ended"}, Break: asked(func(d *decision) {
		if d.row.State != semel.Held {
			d.row.Attempt = semel.AttemptID{}
		}
	})},
	{Name: "revives what has ended", Catches: []string{
		"rule 4: a delayed copy of a claim does not revive what has ended",
		"rule 4: a delayed copy of a claim does not take what has expired",
		"rule 15: duplicates never move the window",
	}, Break: asked(func(d *decision) {
		if d.row.State != semel.Held && d.row.Attempt == d.req.Attempt {
			d.row.Attempt, d.req.Seen = semel.AttemptID{}, d.row.Version()
			d.row.Until, d.req.Seen.Until = d.now, d.now
		}
	})},
	{Name: "revives what has expired", Catches: []string{
		"rule 1: a claim of an expired key starts anew and shows what it replaced",
		"rule 4: a delayed copy of a claim does not take what has expired",
	}, Break: asked(func(d *decision) {
		if d.row.State != semel.Held && !d.now.Before(d.row.Until) {
			d.row.Attempt = semel.AttemptID{}
		}
	})},
	{Name: "revives a doubt", Catches: []string{"rule 9: after a doubt the same attempt does not win again"}, Break: asked(func(d *decision) {
		if d.row.Attempt == d.req.Attempt {
			d.row.Doubted = false
		}
	})},
	{Name: "refuses the same attempt when it has lapsed", Catches: []string{
		"rule 4: the same attempt wins again when its lease lapsed",
		"rule 4: a delayed copy of a claim does not take what has expired",
	}, Break: asked(func(d *decision) {
		if d.row.Attempt == d.req.Attempt && d.row.Note == nil && !d.now.Before(d.row.Until) {
			d.row.Attempt = semel.AttemptID{}
		}
	})},
	{Name: "refuses the same attempt when it is in doubt", Catches: []string{
		"rule 4: the same attempt wins again when it is marked and lapsed",
		"rule 9: after a doubt the same attempt does not win again",
	}, Break: asked(func(d *decision) {
		if d.row.Attempt == d.req.Attempt && d.row.Note != nil && !d.now.Before(d.row.Until) {
			d.row.Attempt = semel.AttemptID{}
		}
	})},
	{Name: "refuses the same attempt by another version", Catches: []string{
		"rule 4: the same attempt wins again whatever version it names",
		"rule 4: a delayed copy of a claim does not revive what has ended",
		"rule 4: a delayed copy of a claim does not take what has expired",
	}, Break: asked(func(d *decision) {
		if d.row.Attempt == d.req.Attempt && d.req.Seen.Token != 0 {
			d.row.Attempt = semel.AttemptID{}
		}
	})},
	{Name: "shortens a lease that is won again", Catches: []string{"rule 4: the same attempt wins again and its lease only grows"}, Break: won(func(d *decision) {
		if d.answer.Again {
			d.next.Until = d.now.Add(d.req.Lease)
		}
	})},
	{Name: "does not extend a lease that is won again", Catches: []string{"rule 4: the same attempt wins again and its lease only grows"}, Break: won(func(d *decision) {
		if d.answer.Again && d.now.Before(d.row.Until) {
			d.next.Until = d.row.Until
		}
	})},
	{Name: "gives a new token when won again", Coarse: true, Catches: []string{"rule 4: the same attempt wins again and its lease only grows"}, Break: won(func(d *decision) {
		if d.answer.Again {
			d.next.Token++
		}
	})},
	{Name: "counts what is won again", Catches: []string{
		"rule 4: winning again changes nothing but the lease's end",
		"rule 4: the same attempt wins again when its lease lapsed",
	}, Break: won(func(d *decision) {
		if d.answer.Again {
			d.next.Attempts++
		}
	})},
	{Name: "takes over the note of what is won again", Catches: []string{
		"rule 2: what was recovered stays recovered until it ends",
		"rule 4: winning again changes nothing but the lease's end",
	}, Break: won(func(d *decision) {
		if d.answer.Again {
			d.next.Note = d.req.Note
		}
	})},
}

// writesRefused keeps the name of whoever asked last.
func writesRefused(r *rulestore.Rules) {
	r.Claim = func(row rules.Row, high semel.Token, req *semel.Request, now time.Time) (rules.Row, semel.Answer) {
		next, answer := rules.Claim(row, high, req, now)
		if !answer.Won && row.Token != 0 {
			next.By = req.By
			return next, semel.Answer{Won: true, Record: answer.Record}
		}
		return next, answer
	}
}

// moreClaimStores are wrong in what a claim keeps, and in what they remember.
var moreClaimStores = []Store{
	{Name: "keeps no source", Catches: []string{"rule 1: an absent key is won with everything that was asked"}, Break: won(func(d *decision) { d.next.Source = "" })},
	{Name: "reads no fingerprint", Coarse: true, Catches: []string{"rule 1: a won claim can be read back"}, Break: read(func(rec *semel.Record, _ *rules.Row) { rec.Fingerprint = nil })},
	{Name: "takes one released record for another", Catches: []string{
		"rule 0: each part of the version counts",
		"rule 0: a version that was claimed does not come back",
	}, Break: asked(func(d *decision) {
		if d.row.State == semel.Free && d.req.Seen.Token != 0 && d.req.Seen.State == semel.Free {
			d.req.Seen = d.row.Version()
		}
	})},
	{Name: "does not expire what is done", Coarse: true, Catches: []string{"rule 16: a window ends at its instant, without anybody's help"}, Break: asked(func(d *decision) {
		if d.row.State == semel.Done {
			d.row.Until = d.now.Add(time.Hour)
		}
	})},
	{Name: "remembers the generation of what it pruned", Catches: []string{"rule 16: what was pruned is as if it had never been"}, Break: func(r *rulestore.Rules) {
		gone := map[semel.Key]int{}
		r.Prunable = func(row *rules.Row, now time.Time) bool {
			gone[row.Key] = row.Generation
			return rules.Prunable(row, now)
		}
		won(func(d *decision) { d.next.Generation = max(d.next.Generation, gone[d.req.Key]) })(r)
	}},
}

var takeoverStores = []Store{
	{Name: "takes the fingerprint of whoever takes over", Catches: []string{
		"rule 2: who takes over keeps the fingerprint and brings a note",
		"rule 2: a recovering claim takes what is in doubt, note and fingerprint",
	}, Break: won(func(d *decision) {
		if d.row.State == semel.Held && !d.answer.Again {
			d.next.Fingerprint = d.req.Fingerprint
		}
	})},
	{Name: "keeps no note of whoever takes over", Catches: []string{
		"rule 2: who takes over keeps the fingerprint and brings a note",
		"rule 2: a recovering claim of an unmarked lease is a plain takeover",
	}, Break: won(func(d *decision) {
		if d.row.State == semel.Held && d.row.Note == nil && !d.answer.Again {
			d.next.Note = nil
		}
	})},
	{Name: "takes over what is in doubt", Catches: []string{
		"rule 2: a lapsed lease with a note is in doubt and not taken",
		"rule 2: an empty note is a mark",
		"rule 9: a doubt ends the lease at once and is remembered",
	}, Break: asked(func(d *decision) { d.req.Recover = true })},
	{Name: "recovers nothing", Coarse: true, Catches: []string{"rule 2: a recovering claim takes what is in doubt, note and fingerprint"}, Break: asked(func(d *decision) { d.req.Recover = false })},
	{Name: "recovers what is held in trust", Coarse: true, Catches: []string{"rule 3: a held key is not won in trust"}, Break: asked(func(d *decision) {
		if d.req.Recover && d.row.State == semel.Held && d.row.Attempt != d.req.Attempt {
			d.row.Until, d.req.Seen.Until = d.now, d.now
		}
	})},
	{Name: "never takes over", Coarse: true, Catches: []string{"rule 2: a lapsed lease without a note is taken over"}, Break: asked(func(d *decision) {
		if d.row.State == semel.Held && d.row.Note == nil && d.row.Attempt != d.req.Attempt {
			d.row.Until = d.now.Add(time.Hour)
		}
	})},
	{Name: "replaces the note of what is recovered", Catches: []string{"rule 2: a recovering claim takes what is in doubt, note and fingerprint"}, Break: won(func(d *decision) {
		if d.next.Recovered && d.req.Note != nil && !d.answer.Again {
			d.next.Note = d.req.Note
		}
	})},
	{Name: "forgets that it recovered", Catches: []string{
		"rule 2: a recovering claim takes what is in doubt, note and fingerprint",
		"rule 2: what was recovered stays recovered until it ends",
		"rule 9: after a doubt a recovering claim takes the key",
	}, Break: won(func(d *decision) { d.next.Recovered = false })},
	{Name: "counts a plain takeover as recovered", Catches: []string{"rule 2: a recovering claim of an unmarked lease is a plain takeover"}, Break: won(func(d *decision) {
		if d.row.State == semel.Held && d.req.Recover {
			d.next.Recovered = true
		}
	})},
	{Name: "keeps the doubt of what is recovered", Catches: []string{"rule 9: after a doubt a recovering claim takes the key"}, Break: won(func(d *decision) { d.next.Doubted = d.row.Doubted })},
}
