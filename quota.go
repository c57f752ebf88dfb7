package semel

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Bounds of what a process counts for quotas.
const (
	maxScopes    = 100_000         // scopes counted at a time
	doubtRecheck = 5 * time.Second // how old the picture of what is in doubt may be
)

// quota counts new keys per scope, and remembers which scopes have too many
// keys in doubt. Both are approximate: with n processes a scope may get n times
// as much. The zero quota is ready to use.
type quota struct {
	mu      sync.Mutex
	scopes  map[string]*counted
	doubted map[string]bool // scopes over MaxInDoubt
	checked time.Time
	looking bool
}

// counted is the number of new keys of a scope within a window from its first.
type counted struct {
	n   int
	end time.Time
}

func (q *quota) count(scope string, window time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	c := q.scopes[scope]
	if c == nil || now.After(c.end) {
		if len(q.scopes) >= maxScopes {
			q.forget(now)
		}
		if q.scopes == nil {
			q.scopes = make(map[string]*counted)
		}
		c = &counted{end: now.Add(window)}
		q.scopes[scope] = c
	}
	c.n++
}

// forget drops what has ended, or everything if that is less than half, so
// that the next time is far off: a count that is too low lets a scope go on,
// counts that grow without bound stop the process.
func (q *quota) forget(now time.Time) {
	for scope, c := range q.scopes {
		if now.After(c.end) {
			delete(q.scopes, scope)
		}
	}
	if len(q.scopes) > maxScopes/2 {
		clear(q.scopes)
	}
}

// admit refuses a new key of a scope that is over a quota. Known keys are let
// through: their answers cost the store nothing new.
func (k *Keeper) admit(ctx context.Context, c *claim) (Record, error) {
	refused := k.overQuota(ctx, c)
	if refused == nil {
		return Record{}, nil
	}
	rec, err := k.Get(ctx, c.key)
	switch {
	case errors.Is(err, ErrNotFound), err == nil && rec.Expired():
		return rec, refused
	case err != nil:
		return rec, err
	}
	return rec, nil
}

func (k *Keeper) overQuota(ctx context.Context, c *claim) error {
	scope := c.key.Scope
	if limit := c.opts.MaxNew; limit > 0 {
		k.quota.mu.Lock()
		n := k.quota.scopes[scope]
		over := n != nil && n.n >= limit && !time.Now().After(n.end)
		k.quota.mu.Unlock()
		if over {
			return &QuotaError{Scope: scope, Limit: limit}
		}
	}
	// An unmarked claim counts as well: its holder may mark it later.
	if limit := c.opts.MaxInDoubt; limit > 0 && k.inDoubt(ctx, limit)[scope] {
		return &QuotaError{Scope: scope, Limit: limit, InDoubt: true}
	}
	return nil
}

// inDoubt returns the scopes with more than limit keys in doubt, from a picture
// that one caller at a time renews.
func (k *Keeper) inDoubt(ctx context.Context, limit int) map[string]bool {
	q := &k.quota
	lister, ok := k.store.(Lister)
	if !ok {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.looking || time.Since(q.checked) < doubtRecheck {
		return q.doubted
	}
	q.looking = true
	q.mu.Unlock()
	over, err := countInDoubt(ctx, lister, limit, k.opts.Timeout)
	q.mu.Lock()
	q.looking, q.checked = false, time.Now()
	// What was counted before an error is true all the same: a list too long to
	// be read in time must not lift the limit.
	if err == nil || len(over) > 0 {
		q.doubted = over
	}
	return q.doubted
}

// countInDoubt returns the scopes with more than limit keys in doubt; with an
// error, those found up to it.
func countInDoubt(ctx context.Context, lister Lister, limit int, timeout time.Duration) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	counts := make(map[string]int)
	over := make(map[string]bool)
	for f := (Filter{InDoubt: true, Limit: 1000}); ; {
		page, err := lister.List(ctx, f)
		if err != nil {
			return over, err
		}
		for i := range page.Records {
			scope := page.Records[i].Key.Scope
			if counts[scope]++; counts[scope] > limit {
				over[scope] = true
			}
		}
		if page.Cursor == "" {
			return over, nil
		}
		f.Cursor = page.Cursor
	}
}
