package memstore

import (
	"context"
	"slices"
	"strings"

	"github.com/semel-dev/semel"
)

// List implements [semel.Lister], in the order of the keys.
func (s *Store) List(ctx context.Context, f semel.Filter) (semel.Page, error) {
	if err := ctx.Err(); err != nil {
		return semel.Page{}, err
	}
	limit := f.Limit
	if limit <= 0 {
		limit = 100
	}
	limit = min(limit, 1000)
	var page semel.Page
	s.each(func(rec semel.Record) {
		if matches(&f, &rec) {
			rec.Result = nil
			page.Records = append(page.Records, rec)
		}
	})
	slices.SortFunc(page.Records, func(a, b semel.Record) int {
		return strings.Compare(a.Key.ClaimID(), b.Key.ClaimID())
	})
	if len(page.Records) > limit {
		page.Records = page.Records[:limit]
		page.Cursor = page.Records[limit-1].Key.ClaimID()
	}
	return page, nil
}

func matches(f *semel.Filter, rec *semel.Record) bool {
	return (f.Scope == "" || f.Scope == rec.Key.Scope) &&
		(len(f.States) == 0 || slices.Contains(f.States, rec.State)) &&
		(!f.InDoubt || rec.InDoubt()) &&
		(f.Cursor == "" || rec.Key.ClaimID() > f.Cursor)
}

// Stats implements [semel.Statser].
func (s *Store) Stats(ctx context.Context) (semel.Stats, error) {
	var st semel.Stats
	s.each(func(rec semel.Record) {
		st.Rows++
		st.Oldest = max(st.Oldest, rec.Now.Sub(rec.Created))
		if rec.InDoubt() {
			st.InDoubt++
			st.Doubt = max(st.Doubt, rec.Now.Sub(rec.Until))
		}
	})
	return st, ctx.Err()
}

// Ping implements [semel.Pinger].
func (s *Store) Ping(ctx context.Context) error { return ctx.Err() }

func (s *Store) each(f func(semel.Record)) {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		now := s.now()
		for _, row := range sh.rows {
			for ; row != nil; row = row.next {
				f(row.Seen(now))
			}
		}
		sh.mu.Unlock()
	}
}
