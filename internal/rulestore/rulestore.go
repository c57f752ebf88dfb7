// Package rulestore is the smallest store for tests: the rules under one lock,
// a clock that moves on command, and every decision replaceable, so that a
// test can have a store that is wrong in exactly one point.
package rulestore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules"
)

// Rules are the decisions of a store. New fills them with those of package
// rules; a test replaces one before the store is used.
type Rules struct {
	Check    func(err error) error           // what becomes of an invalid argument
	Key      func(key semel.Key) semel.Key   // what a row is found by
	Clone    func(text []byte) []byte        // what is kept of a text
	Context  func(ctx context.Context) error // whether a call is begun
	Read     func(*rules.Row, time.Time) semel.Record
	Claim    func(rules.Row, semel.Token, *semel.Request, time.Time) (rules.Row, semel.Answer)
	Update   func(rules.Row, semel.Token, *semel.Change, time.Time) (rules.Row, semel.Record, error)
	Prunable func(*rules.Row, time.Time) bool
	Empties  bool           // a prune takes out results past their retention
	Limits   bool           // a prune heeds its limit
	Between  func()         // called between a claim's decision and its write
	Reopen   func(s *Store) // what a reopening does to a store
}

// Store is a [semel.Store]. Its methods may be called concurrently.
type Store struct {
	Rules Rules
	Rows  map[semel.Key]*rules.Row // behind the lock
	High  semel.Token              // the highest token pruned
	mu    sync.Mutex
	now   time.Time
}

// New returns an empty store that follows the rules. Each answer moves its
// clock by a microsecond, and nothing else does but Advance.
func New() *Store {
	return &Store{
		Rows: map[semel.Key]*rules.Row{},
		now:  time.Now().UTC().Truncate(time.Microsecond),
		Rules: Rules{
			Check:    func(err error) error { return err },
			Key:      func(key semel.Key) semel.Key { return key },
			Clone:    slices.Clone[[]byte],
			Context:  context.Context.Err,
			Read:     (*rules.Row).Seen,
			Claim:    rules.Claim,
			Update:   rules.Update,
			Prunable: rules.Prunable,
			Empties:  true,
			Limits:   true,
			Reopen:   func(*Store) {},
		},
	}
}

// Advance moves the clock forward.
func (s *Store) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// lock locks the store and returns the time and the row, which is zero if the
// key is absent.
func (s *Store) lock(key semel.Key) (time.Time, rules.Row) {
	s.mu.Lock()
	s.now = s.now.Add(time.Microsecond)
	var row rules.Row
	if r := s.Rows[s.Rules.Key(key)]; r != nil {
		row = *r
	}
	return s.now, row
}

// Claim implements [semel.Store].
func (s *Store) Claim(ctx context.Context, req semel.Request) (semel.Answer, error) {
	if err := cmp.Or(s.Rules.Check(req.Check()), s.Rules.Context(ctx)); err != nil {
		return semel.Answer{}, err
	}
	req.Note, req.Fingerprint = s.Rules.Clone(req.Note), s.Rules.Clone(req.Fingerprint)
	now, row := s.lock(req.Key)
	defer s.mu.Unlock()
	next, answer := s.Rules.Claim(row, s.High, &req, now)
	if s.Rules.Between != nil {
		s.mu.Unlock()
		s.Rules.Between()
		s.mu.Lock()
	}
	if answer.Won {
		s.Rows[s.Rules.Key(req.Key)] = &next
	}
	return answer, nil
}

// Update implements [semel.Store].
func (s *Store) Update(ctx context.Context, key semel.Key, token semel.Token, c semel.Change) (semel.Record, error) {
	if err := cmp.Or(s.Rules.Check(key.Check()), s.Rules.Check(c.Check()), s.Rules.Context(ctx)); err != nil {
		return semel.Record{}, err
	}
	c.Note, c.Result = s.Rules.Clone(c.Note), s.Rules.Clone(c.Result)
	now, row := s.lock(key)
	defer s.mu.Unlock()
	next, rec, err := s.Rules.Update(row, token, &c, now)
	if err == nil {
		s.Rows[s.Rules.Key(key)] = &next
	}
	return rec, err
}

// Get implements [semel.Store].
func (s *Store) Get(ctx context.Context, key semel.Key) (semel.Record, error) {
	if err := cmp.Or(s.Rules.Check(key.Check()), s.Rules.Context(ctx)); err != nil {
		return semel.Record{}, err
	}
	now, row := s.lock(key)
	defer s.mu.Unlock()
	if row.Token == 0 {
		return semel.Record{}, semel.ErrNotFound
	}
	return s.Rules.Read(&row, now), nil
}

// Prune implements [semel.Store].
func (s *Store) Prune(ctx context.Context, limit int) (semel.Pruned, error) {
	var p semel.Pruned
	if err := s.Rules.Context(ctx); err != nil {
		return p, err
	}
	now, _ := s.lock(semel.Key{})
	defer s.mu.Unlock()
	for key, row := range s.Rows {
		switch rec := row.Seen(now); {
		case s.Rules.Prunable(row, now) && (p.Records < limit || !s.Rules.Limits):
			s.High = max(s.High, row.Token)
			delete(s.Rows, key)
			p.Records++
		case row.Result != nil && rec.Result == nil && p.Results < limit && s.Rules.Empties:
			row.Result, row.Kept = nil, rec.Kept
			p.Results++
		}
	}
	return p, nil
}
