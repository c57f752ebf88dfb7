// Package memstore keeps claims in the memory of one process: for tests, and
// for work that one process does and whose repetition after a restart is
// harmless. It is the reference implementation of [semel.Store]: package
// internal/rules decides, this package adds a lock and a clock.
package memstore

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules"
)

// shards bounds how often claims of different keys meet at one lock.
const shards = 64

// Store is a [semel.Store] in memory. Its methods may be called concurrently;
// none of them waits.
type Store struct {
	boot    time.Time // with a monotonic reading: the clock never steps
	started time.Time // what the clock showed then
	seed    maphash.Seed
	shards  [shards]shard
}

type shard struct {
	mu   sync.Mutex
	rows map[semel.Key]*rules.Row
	high semel.Token // the highest token pruned here
}

// New returns an empty store.
func New() *Store {
	boot := time.Now()
	s := &Store{boot: boot, started: boot.Round(0).UTC(), seed: maphash.MakeSeed()}
	for i := range s.shards {
		s.shards[i].rows = make(map[semel.Key]*rules.Row)
	}
	return s
}

// now is the store's clock. It runs in microseconds, as every store's does. It
// is read under a shard's lock.
func (s *Store) now() time.Time {
	return s.started.Add(time.Since(s.boot)).Truncate(time.Microsecond)
}

func (s *Store) shard(key semel.Key) *shard {
	return &s.shards[maphash.Comparable(s.seed, key)%shards]
}

// Claim implements [semel.Store].
func (s *Store) Claim(ctx context.Context, req semel.Request) (semel.Answer, error) {
	if err := req.Check(); err != nil {
		return semel.Answer{}, err
	}
	if err := ctx.Err(); err != nil {
		return semel.Answer{}, err
	}
	sh := s.shard(req.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	row := sh.rows[req.Key]
	if row == nil {
		row = &rules.Row{}
	}
	next, answer := rules.Claim(*row, sh.high, &req, s.now())
	if answer.Won {
		if !answer.Again {
			next.Fingerprint, next.Note = slices.Clone(next.Fingerprint), slices.Clone(next.Note)
		}
		*row = next
		sh.rows[req.Key] = row
	}
	return answer, nil
}

// Update implements [semel.Store].
func (s *Store) Update(ctx context.Context, key semel.Key, token semel.Token, c semel.Change) (semel.Record, error) {
	if err := cmp.Or(key.Check(), c.Check(), ctx.Err()); err != nil {
		return semel.Record{}, err
	}
	c.Note, c.Result = slices.Clone(c.Note), slices.Clone(c.Result)
	sh := s.shard(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	row := sh.rows[key]
	if row == nil {
		row = &rules.Row{}
	}
	next, rec, err := rules.Update(*row, token, &c, s.now())
	if err == nil {
		*row = next
	}
	return rec, err
}

// Get implements [semel.Store].
func (s *Store) Get(ctx context.Context, key semel.Key) (semel.Record, error) {
	if err := cmp.Or(key.Check(), ctx.Err()); err != nil {
		return semel.Record{}, err
	}
	sh := s.shard(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	row := sh.rows[key]
	if row == nil {
		return semel.Record{}, semel.ErrNotFound
	}
	return row.Seen(s.now()), nil
}

// Prune implements [semel.Store].
func (s *Store) Prune(ctx context.Context, limit int) (semel.Pruned, error) {
	var p semel.Pruned
	for i := range s.shards {
		if err := ctx.Err(); err != nil {
			return p, err
		}
		s.prune(&s.shards[i], limit, &p)
	}
	return p, nil
}

func (s *Store) prune(sh *shard, limit int, p *semel.Pruned) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.now()
	for key, row := range sh.rows {
		switch rec := row.Seen(now); {
		case rules.Prunable(row, now) && p.Records < limit:
			sh.high = max(sh.high, row.Token)
			delete(sh.rows, key)
			p.Records++
		case row.Result != nil && rec.Result == nil && p.Results < limit:
			row.Result, row.Kept = nil, rec.Kept
			p.Results++
		}
	}
}

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
			f(row.Seen(now))
		}
		sh.mu.Unlock()
	}
}
