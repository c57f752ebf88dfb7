package broken

import (
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules"
	"github.com/semel-dev/semel/internal/rulestore"
)

var updateStores = []Store{
	{Name: "says not found where an update is lost", Catches: []string{"rule 8: an update of an absent key is lost"}, Break: func(r *rulestore.Rules) {
		r.Update = func(row rules.Row, token semel.Token, c *semel.Change, now time.Time) (rules.Row, semel.Record, error) {
			if row.Token == 0 {
				return row, semel.Record{}, semel.ErrNotFound
			}
			return rules.Update(row, token, c, now)
		}
	}},
	{Name: "keeps the last result", Coarse: true, Catches: []string{"rule 8: the first result stands"}, Break: changed(func(d *decision) {
		if d.change.To == semel.Done {
			d.next.Result = d.change.Result
		}
	})},
	{Name: "heeds no token", Catches: []string{
		"rule 11: after a takeover the old holder is lost",
		"rule 8: an update under another token is lost",
		"rule 9: after a doubt a recovering claim takes the key",
	}, Break: bidden(func(d *decision, token *semel.Token) {
		if d.row.Token != 0 {
			*token = d.row.Token
		}
	})},
	{Name: "heeds no state", Coarse: true, Catches: []string{"rule 8: an update from a state the record is not in is lost"}, Break: bidden(func(d *decision, _ *semel.Token) {
		if d.row.State != d.change.From && d.row.State != d.change.To {
			d.row.State = d.change.From
		}
	})},
	{Name: "does a repeat again", Coarse: true, Catches: []string{"rule 8: a repeated update succeeds and changes nothing"}, Break: bidden(func(d *decision, _ *semel.Token) {
		if d.row.State == d.change.To && d.row.From == d.change.From {
			d.row.State = d.change.From
		}
	})},
	{Name: "refuses a repeat", Coarse: true, Catches: []string{"rule 8: a repeated update succeeds and changes nothing"}, Break: bidden(func(d *decision, _ *semel.Token) { d.row.From = semel.Free })},
	{Name: "takes another way for a repeat", Catches: []string{
		"rule 8: a repeat by another way is lost",
		"exact: everything survives a reopening",
	}, Break: bidden(func(d *decision, _ *semel.Token) {
		if d.row.State == d.change.To && d.row.State == semel.Free {
			d.row.From = d.change.From
		}
	})},
	{Name: "lets a release free what was completed", Catches: []string{
		"rule 11: after a takeover the old holder is lost",
		"rule 8: an update from a state the record is not in is lost",
		"rule 9: a deferred release does not free what was completed",
	}, Break: bidden(func(d *decision, _ *semel.Token) {
		if d.change.From == semel.Held && d.change.To == semel.Free && d.row.State != semel.Free {
			d.row.State = semel.Held
		}
	})},
	{Name: "shortens a renewed lease", Catches: []string{"rule 9: a renewal never shortens the lease"}, Break: changed(func(d *decision) {
		if d.change.To == semel.Held && !d.change.Doubts() {
			d.next.Until = d.now.Add(d.change.For)
		}
	})},
	{Name: "clears the note of a renewed lease", Catches: []string{
		"rule 2: what was recovered stays recovered until it ends",
		"rule 9: a renewal changes nothing but the lease's end",
		"rule 9: a mark sets the note and another replaces it",
	}, Break: changed(func(d *decision) {
		if d.change.To == semel.Held && !d.change.Doubts() {
			d.next.Note = d.change.Note
		}
	})},
	{Name: "names who renewed", Catches: []string{"rule 9: a renewal changes nothing but the lease's end"}, Break: changed(func(d *decision) {
		if d.change.To == semel.Held && !d.change.Doubts() {
			d.next.By = d.change.By
		}
	})},
	{Name: "keeps the first mark", Catches: []string{"rule 9: a mark sets the note and another replaces it"}, Break: changed(func(d *decision) {
		if d.change.To == semel.Held && d.row.Note != nil && !d.change.Doubts() {
			d.next.Note = d.row.Note
		}
	})},
	{Name: "refuses a lapsed holder's renewal", Catches: []string{
		"rule 10: a lapsed holder whose key nobody took may renew",
		"rule 16: a prune spares a key that was claimed anew",
	}, Break: refuses(func(row rules.Row, c *semel.Change, now time.Time) bool {
		return c.To == semel.Held && c.For > 0 && row.State == semel.Held && !now.Before(row.Until)
	})},
	{Name: "refuses a lapsed holder's outcome", Catches: []string{"rule 10: a lapsed holder whose key nobody took may end"}, Break: refuses(func(row rules.Row, c *semel.Change, now time.Time) bool {
		return c.To != semel.Held && row.State == semel.Held && !row.Doubted && !now.Before(row.Until)
	})},
	{Name: "refuses a doubtful holder's outcome", Catches: []string{"rule 9: after a doubt the holder can still end the key"}, Break: refuses(func(row rules.Row, c *semel.Change, now time.Time) bool {
		return c.To != semel.Held && row.State == semel.Held && row.Doubted
	})},
	{Name: "refuses a lapsed holder's doubt", Catches: []string{"rule 9: a lapsed lease can still be put in doubt"}, Break: refuses(func(row rules.Row, c *semel.Change, now time.Time) bool {
		return c.Doubts() && !row.Doubted && !now.Before(row.Until)
	})},
	{Name: "doubts without a note", Catches: []string{
		"rule 11: after a takeover the old holder is lost",
		"rule 8: an update from a state the record is not in is lost",
		"rule 9: a doubt without a note is lost",
	}, Break: bidden(func(d *decision, _ *semel.Token) {
		if d.change.Doubts() && d.row.Note == nil && d.change.Note == nil {
			d.row.Note = []byte{}
		}
	})},
	{Name: "lets a doubt wait for the lease's end", Coarse: true, Catches: []string{"rule 9: a doubt ends the lease at once and is remembered"}, Break: changed(func(d *decision) {
		if d.change.Doubts() && !d.row.Doubted && d.now.Before(d.row.Until) {
			d.next.Until = d.row.Until
		}
	})},
	{Name: "drops the note of a doubt", Catches: []string{"rule 9: a doubt may bring the note"}, Break: bidden(func(d *decision, _ *semel.Token) {
		if d.change.Doubts() && d.row.Note != nil {
			d.change.Note = nil
		}
	})},
	{Name: "renews a doubt", Catches: []string{"rule 9: after a doubt neither renewal nor mark applies"}, Break: bidden(func(d *decision, _ *semel.Token) {
		if d.change.To == semel.Held && d.change.For > 0 {
			d.row.Doubted = false
		}
	})},
	{Name: "refuses a repeated doubt", Catches: []string{"rule 9: a repeated doubt succeeds and changes nothing"}, Break: refuses(func(row rules.Row, c *semel.Change, now time.Time) bool {
		return c.Doubts() && row.Doubted
	})},
	{Name: "doubts anew", Catches: []string{"rule 9: a repeated doubt succeeds and changes nothing"}, Break: bidden(func(d *decision, _ *semel.Token) {
		if d.change.Doubts() && d.row.Note != nil {
			d.row.Doubted = false
		}
	})},
	{Name: "says nothing with ErrLost", Coarse: true, Catches: []string{"rule 8: an update under another token is lost"}, Break: func(r *rulestore.Rules) {
		r.Update = func(row rules.Row, token semel.Token, c *semel.Change, now time.Time) (rules.Row, semel.Record, error) {
			next, rec, err := rules.Update(row, token, c, now)
			if err != nil {
				rec = semel.Record{Now: now}
			}
			return next, rec, err
		}
	}},
}

// refuses loses the updates that when chooses.
func refuses(when func(rules.Row, *semel.Change, time.Time) bool) func(*rulestore.Rules) {
	return func(r *rulestore.Rules) {
		r.Update = func(row rules.Row, token semel.Token, c *semel.Change, now time.Time) (rules.Row, semel.Record, error) {
			if row.Token == token && when(row, c, now) {
				return row, row.Seen(now), semel.ErrLost
			}
			return rules.Update(row, token, c, now)
		}
	}
}

// ended spoils only what really ends or frees a key, not a repeat.
func ended(spoil func(d *decision)) func(*rulestore.Rules) {
	return changed(func(d *decision) {
		if d.change.To != semel.Held && d.row.State != d.change.To {
			spoil(d)
		}
	})
}

var endStores = []Store{
	{Name: "keeps nothing beyond a year", Catches: []string{"valid: the ends of every range are accepted"}, Break: ended(func(d *decision) {
		if year := d.now.AddDate(1, 0, 0); d.next.Until.After(year) {
			d.next.Until = year
		}
	})},
	{Name: "keeps the note of what has ended", Catches: []string{
		"rule 9: after a doubt the holder can still end the key",
		"rule 8: an end keeps what it was given and drops the note",
	}, Break: ended(func(d *decision) { d.next.Note = d.row.Note })},
	{Name: "keeps the doubt of what has ended", Catches: []string{"rule 9: after a doubt the holder can still end the key"}, Break: ended(func(d *decision) { d.next.Doubted = d.row.Doubted })},
	{Name: "keeps that it recovered what has ended", Catches: []string{"rule 2: what was recovered stays recovered until it ends"}, Break: ended(func(d *decision) { d.next.Recovered = d.row.Recovered })},
	{Name: "does not say who ended", Catches: []string{"rule 8: an end keeps what it was given and drops the note"}, Break: ended(func(d *decision) { d.next.By = d.row.By })},
	{Name: "trusts no stated size", Catches: []string{
		"rule 8: the size of a result is its length unless it is said",
		"rule 8: a release keeps no result",
	}, Break: ended(func(d *decision) { d.next.Size = int64(len(d.change.Result)) })},
	{Name: "keeps a released result", Catches: []string{"rule 8: a release keeps no result"}, Break: ended(func(d *decision) { d.next.Result = d.change.Result })},
	{Name: "forgives nothing", Catches: []string{"rule 8: a release that forgives does not count the attempt"}, Break: bidden(func(d *decision, _ *semel.Token) { d.change.Forgive = false })},
	{Name: "keeps its generation", Catches: []string{
		"rule 9: forgetting raises the generation and the key is free",
		"rule 9: the generation outlives claims, takeovers and ends",
	}, Break: ended(func(d *decision) { d.next.Generation = d.row.Generation })},
	{Name: "raises the generation on release", Catches: []string{"rule 8: an end keeps what it was given and drops the note"}, Break: ended(func(d *decision) {
		if d.change.To == semel.Free && d.row.State == semel.Held {
			d.next.Generation++
		}
	})},
	{Name: "begins every claim in generation 0", Catches: []string{"rule 9: the generation outlives claims, takeovers and ends"}, Break: won(func(d *decision) { d.next.Generation = 0 })},
	{Name: "counts attempts on after forgetting", Catches: []string{"rule 9: forgetting raises the generation and the key is free"}, Break: ended(func(d *decision) {
		if d.row.State != semel.Held {
			d.next.Attempts = d.row.Attempts
		}
	})},
	{Name: "lets forgetting not back off", Catches: []string{"rule 9: a forgotten key may back off"}, Break: ended(func(d *decision) {
		if d.row.State != semel.Held {
			d.next.NotBefore = time.Time{}
		}
	})},
	{Name: "forgets a back-off with the memory", Catches: []string{"rule 14: a back-off beyond the memory extends it"}, Break: ended(func(d *decision) { d.next.Until = d.now.Add(d.change.For) })},
}
