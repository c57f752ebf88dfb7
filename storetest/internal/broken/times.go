package broken

import (
	"bytes"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules"
	"github.com/semel-dev/semel/internal/rulestore"
)

// read spoils what is read.
func read(spoil func(rec *semel.Record, row *rules.Row)) func(*rulestore.Rules) {
	return func(r *rulestore.Rules) {
		r.Read = func(row *rules.Row, now time.Time) semel.Record {
			rec := row.Seen(now)
			spoil(&rec, row)
			return rec
		}
	}
}

// numbered decides claims with tokens that follow the last one and no clock.
func numbered(last func(row rules.Row, high semel.Token) semel.Token) func(rules.Row, semel.Token, *semel.Request, time.Time) (rules.Row, semel.Answer) {
	return func(row rules.Row, high semel.Token, req *semel.Request, now time.Time) (rules.Row, semel.Answer) {
		next, answer := rules.Claim(row, high, req, now)
		if answer.Won && !answer.Again {
			next.Token = last(row, high) + 1
			answer.Record = next.Seen(now)
		}
		return next, answer
	}
}

var timeStores = []Store{
	{Name: "tells no time when read", Coarse: true, Catches: []string{"rule 13: every answer carries the store's time, which never falls"}, Break: read(func(rec *semel.Record, _ *rules.Row) { rec.Now = time.Time{} })},
	{Name: "counts the window from the claim", Coarse: true, Catches: []string{"rule 15: the window is counted from the completion"}, Break: ended(func(d *decision) {
		if d.change.To != semel.Free {
			d.next.Until = d.row.Until.Add(d.change.For)
		}
	})},
	{Name: "moves the window with every duplicate", Coarse: true, Catches: []string{"rule 15: duplicates never move the window"}, Break: func(r *rulestore.Rules) {
		r.Claim = func(row rules.Row, high semel.Token, req *semel.Request, now time.Time) (rules.Row, semel.Answer) {
			next, answer := rules.Claim(row, high, req, now)
			if !answer.Won && row.State == semel.Done && now.Before(row.Until) {
				next.Until = row.Until.Add(time.Minute)
				return next, semel.Answer{Won: true, Record: answer.Record}
			}
			return next, answer
		}
	}},
	{Name: "shows a result for ever", Catches: []string{
		"rule 17: a result past its retention reads as expired, its key does not",
		"rule 17: a prune empties results past their retention",
	}, Break: read(func(rec *semel.Record, row *rules.Row) { rec.Result, rec.Kept = row.Result, row.Kept })},
	{Name: "keeps no result where nothing is said", Coarse: true, Catches: []string{"rule 17: a result is kept as long as its key where nothing else is said"}, Break: ended(func(d *decision) {
		if d.change.ResultFor == 0 && d.change.To != semel.Free {
			d.next.ResultUntil = d.now.Add(time.Hour)
		}
	})},
	{Name: "shows the time of the claim", Coarse: true, Catches: []string{"rule 13: the store's time moves as the harness says"}, Break: read(func(rec *semel.Record, _ *rules.Row) { rec.Now = rec.Created })},
	{Name: "gives the old token after forgetting", Catches: []string{"rule 14: tokens rise across every end of a claim"}, Break: won(func(d *decision) {
		if d.row.Generation > 0 && d.row.State == semel.Free {
			d.next.Token = d.row.Token
		}
	})},
	{Name: "numbers the tokens of each record from one", Catches: []string{
		"rule 14: a token is the store's clock in microseconds",
		"rule 14: tokens rise across a prune",
		"rule 14: tokens rise across a reopening",
	}, Break: func(r *rulestore.Rules) {
		r.Claim = numbered(func(row rules.Row, _ semel.Token) semel.Token { return row.Token })
	}},
	{Name: "numbers the tokens of each opening from one", Catches: []string{
		"rule 14: a token is the store's clock in microseconds",
		"rule 14: tokens rise across a reopening",
		"exact: everything survives a reopening",
	}, Break: func(r *rulestore.Rules) {
		r.Claim = numbered(func(row rules.Row, high semel.Token) semel.Token { return max(row.Token, high) })
		r.Reopen = func(s *rulestore.Store) { clear(s.Rows); s.High = 0 }
	}},
	{Name: "numbers its tokens from one", Catches: []string{"rule 14: a token is the store's clock in microseconds"}, Break: func(r *rulestore.Rules) {
		r.Claim = numbered(func(row rules.Row, high semel.Token) semel.Token { return max(row.Token, high) })
	}},
	{Name: "gives the token of the clock, come what may", Coarse: true, Catches: []string{"rule 14: tokens rise faster than the clock where they must"}, Break: func(r *rulestore.Rules) {
		r.Claim = func(row rules.Row, high semel.Token, req *semel.Request, now time.Time) (rules.Row, semel.Answer) {
			next, answer := rules.Claim(row, high, req, now)
			if answer.Won && !answer.Again {
				next.Token = semel.Token(now.Truncate(time.Second).UnixMicro())
				answer.Record = next.Seen(now)
			}
			return next, answer
		}
	}},
	{Name: "loses everything when reopened", Catches: []string{"exact: everything survives a reopening"}, Break: func(r *rulestore.Rules) {
		r.Reopen = func(s *rulestore.Store) { clear(s.Rows) }
	}},
	{Name: "loses how a record came about when reopened", Catches: []string{"exact: everything survives a reopening"}, Break: func(r *rulestore.Rules) {
		r.Reopen = func(s *rulestore.Store) {
			for _, row := range s.Rows {
				row.From = semel.Free
			}
		}
	}},
}

// prunable adds a condition for pruning.
func prunable(when func(row rules.Row, now time.Time) bool) func(*rulestore.Rules) {
	return func(r *rulestore.Rules) {
		r.Prunable = func(row *rules.Row, now time.Time) bool { return when(*row, now) }
	}
}

var pruneStores = []Store{
	{Name: "prunes at the end", Catches: []string{
		"rule 14: nothing is pruned before its end and its memory",
		"rule 14: the memory is the one of the last claim",
	}, Break: prunable(func(row rules.Row, now time.Time) bool { row.Keep = 0; return rules.Prunable(&row, now) })},
	{Name: "prunes what is in doubt", Catches: []string{"rule 18: what is or may come to be in doubt is never pruned"}, Break: prunable(func(row rules.Row, now time.Time) bool { row.Note = nil; return rules.Prunable(&row, now) })},
	{Name: "prunes what has an empty note", Catches: []string{"rule 18: what is or may come to be in doubt is never pruned"}, Break: prunable(func(row rules.Row, now time.Time) bool {
		if len(row.Note) == 0 {
			row.Note = nil
		}
		return rules.Prunable(&row, now)
	})},
	{Name: "prunes nothing", Coarse: true, Catches: []string{
		"rule 14: nothing is pruned before its end and its memory",
		"rule 16: a prune tells what is over from what is not",
	}, Break: prunable(func(rules.Row, time.Time) bool { return false })},
	{Name: "prunes by age", Catches: []string{
		"rule 14: the memory is the one of the last claim",
		"rule 16: a prune spares a key that was claimed anew",
		"rule 16: a prune tells what is over from what is not",
	}, Break: prunable(func(row rules.Row, now time.Time) bool {
		return row.Note == nil && !now.Before(row.Created.Add(row.Keep+time.Hour))
	})},
	{Name: "prunes without a limit", Catches: []string{"rule 16: a prune removes at most as many as it was told"}, Break: func(r *rulestore.Rules) { r.Limits = false }},
	{Name: "empties no result", Catches: []string{"rule 17: a prune empties results past their retention"}, Break: func(r *rulestore.Rules) { r.Empties = false }},
	{Name: "remembers as long as the first claim said", Catches: []string{"rule 14: the memory is the one of the last claim"}, Break: won(func(d *decision) {
		if d.row.Token != 0 && d.row.State == semel.Free {
			d.next.Keep = d.row.Keep
		}
	})},
}

// keyed finds rows by another key.
func keyed(f func(semel.Key) semel.Key) func(*rulestore.Rules) {
	return func(r *rulestore.Rules) { r.Key = f }
}

var exactStores = []Store{
	{Name: "ignores case", Catches: []string{"exact: keys are compared byte for byte"}, Break: keyed(func(k semel.Key) semel.Key { k.ID = strings.ToLower(k.ID); return k })},
	{Name: "ignores blanks at the end", Catches: []string{"exact: keys are compared byte for byte"}, Break: keyed(func(k semel.Key) semel.Key { k.ID = strings.TrimRight(k.ID, " "); return k })},
	{Name: "ends a key at a zero byte", Catches: []string{"exact: keys are compared byte for byte"}, Break: keyed(func(k semel.Key) semel.Key { k.ID, _, _ = strings.Cut(k.ID, "\x00"); return k })},
	{Name: "repairs invalid text", Catches: []string{"exact: keys are compared byte for byte"}, Break: keyed(func(k semel.Key) semel.Key { k.Scope = strings.ToValidUTF8(k.Scope, "?"); return k })},
	{Name: "joins the halves of a key", Catches: []string{"exact: scope and id are not mixed up"}, Break: keyed(func(k semel.Key) semel.Key { return semel.Key{ID: k.Scope + k.ID} })},
	{Name: "cuts long keys", Catches: []string{"exact: keys may be as long as the limit says"}, Break: keyed(func(k semel.Key) semel.Key { k.ID = k.ID[:min(len(k.ID), 254)]; return k })},
	{Name: "takes the empty text for nothing", Coarse: true, Catches: []string{"exact: nothing and the empty text are kept apart"}, Break: func(r *rulestore.Rules) {
		r.Clone = func(text []byte) []byte {
			if len(text) == 0 {
				return nil
			}
			return bytes.Clone(text)
		}
	}},
	{Name: "keeps the caller's buffers", Catches: []string{"exact: the caller may reuse its buffers"}, Break: func(r *rulestore.Rules) { r.Clone = func(text []byte) []byte { return text } }},
	{Name: "keeps text to the first zero byte", Catches: []string{"exact: bytes come back as they were given"}, Break: func(r *rulestore.Rules) {
		r.Clone = func(text []byte) []byte {
			head, _, found := bytes.Cut(text, []byte{0})
			if found {
				return head
			}
			return bytes.Clone(text)
		}
	}},
	{Name: "keeps instants to the millisecond", Coarse: true, Catches: []string{"exact: a version read back names the record it was read from"}, Break: read(func(rec *semel.Record, _ *rules.Row) { rec.Until = rec.Until.Truncate(time.Millisecond) })},
}
