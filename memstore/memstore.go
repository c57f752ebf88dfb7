// Package memstore keeps claims in the memory of one process: for tests, and
// for work that one process does and whose repetition after a restart is
// harmless. It is the reference implementation of [semel.Store]: package
// internal/rules decides, this package adds a lock and a clock.
package memstore

import (
	"cmp"
	"context"
	"hash/maphash"
	"math"
	"slices"
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
	started int64     // what the clock showed then, in microseconds
	seed    maphash.Seed
	mask    uint64 // of the hashes: all ones, but for tests of keys that collide
	shards  [shards]shard
}

// shard is a part of the rows. They are found by the hash of their keys, which
// is cheaper to keep in a map than the keys; rows with the same hash are linked.
type shard struct {
	mu   sync.Mutex
	rows map[uint64]*row
	high semel.Token // the highest token pruned here
	_    [40]byte    // keeps the locks on cache lines of their own
}

type row struct {
	rules.Row
	next *row
}

// New returns an empty store.
func New() *Store {
	boot := time.Now()
	s := &Store{boot: boot, started: boot.UnixMicro(), seed: maphash.MakeSeed(), mask: math.MaxUint64}
	for i := range s.shards {
		s.shards[i].rows = make(map[uint64]*row)
	}
	return s
}

// now is the store's clock. It runs in microseconds, as every store's does. It
// is read under a shard's lock.
func (s *Store) now() time.Time {
	return time.UnixMicro(s.started + time.Since(s.boot).Microseconds()).UTC()
}

// lock locks the part of the store that holds the key, and returns it with the
// key's hash and row, nil if there is none.
func (s *Store) lock(key semel.Key) (sh *shard, hash uint64, r *row) {
	hash = maphash.Comparable(s.seed, key) & s.mask
	sh = &s.shards[hash%shards]
	sh.mu.Lock()
	for r = sh.rows[hash]; r != nil && r.Key != key; r = r.next {
	}
	return sh, hash, r
}

// rule returns what the rules call the row: the zero one is absent.
func (r *row) rule() rules.Row {
	if r == nil {
		return rules.Row{}
	}
	return r.Row
}

// Claim implements [semel.Store].
func (s *Store) Claim(ctx context.Context, req semel.Request) (semel.Answer, error) {
	if err := req.Check(); err != nil {
		return semel.Answer{}, err
	}
	if err := ctx.Err(); err != nil {
		return semel.Answer{}, err
	}
	sh, hash, r := s.lock(req.Key)
	defer sh.mu.Unlock()
	next, answer := rules.Claim(r.rule(), sh.high, &req, s.now())
	if !answer.Won {
		return answer, nil
	}
	if !answer.Again {
		next.Fingerprint, next.Note = slices.Clone(next.Fingerprint), slices.Clone(next.Note)
	}
	if r == nil {
		r = &row{next: sh.rows[hash]}
		sh.rows[hash] = r
	}
	r.Row = next
	return answer, nil
}

// Update implements [semel.Store].
func (s *Store) Update(ctx context.Context, key semel.Key, token semel.Token, c semel.Change) (semel.Record, error) {
	if err := cmp.Or(key.Check(), c.Check(), ctx.Err()); err != nil {
		return semel.Record{}, err
	}
	c.Note, c.Result = slices.Clone(c.Note), slices.Clone(c.Result)
	sh, _, r := s.lock(key)
	defer sh.mu.Unlock()
	next, rec, err := rules.Update(r.rule(), token, &c, s.now())
	if err == nil {
		r.Row = next
	}
	return rec, err
}

// Get implements [semel.Store].
func (s *Store) Get(ctx context.Context, key semel.Key) (semel.Record, error) {
	if err := cmp.Or(key.Check(), ctx.Err()); err != nil {
		return semel.Record{}, err
	}
	sh, _, r := s.lock(key)
	defer sh.mu.Unlock()
	if r == nil {
		return semel.Record{}, semel.ErrNotFound
	}
	return r.Seen(s.now()), nil
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
	for hash, r := range sh.rows {
		for ; r != nil; r = r.next {
			switch rec := r.Seen(now); {
			case rules.Prunable(&r.Row, now) && p.Records < limit:
				sh.high = max(sh.high, r.Token)
				sh.remove(hash, r)
				p.Records++
			case r.Result != nil && rec.Result == nil && p.Results < limit:
				r.Result, r.Kept = nil, rec.Kept
				p.Results++
			}
		}
	}
}

func (sh *shard) remove(hash uint64, r *row) {
	first := sh.rows[hash]
	switch {
	case first != r:
		for first.next != r {
			first = first.next
		}
		first.next = r.next
	case r.next != nil:
		sh.rows[hash] = r.next
	default:
		delete(sh.rows, hash)
	}
}
