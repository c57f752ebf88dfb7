package sqlstore

import (
	"context"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules"
)

// Update implements [semel.Store]. The write comes first and names token and
// state; only one that did not apply is followed by a read, which tells a
// repeat from a lost lease.
func (s *Store) Update(ctx context.Context, key semel.Key, token semel.Token, c semel.Change) (semel.Record, error) {
	if err := key.Check(); err != nil {
		return semel.Record{}, err
	}
	if err := c.Check(); err != nil {
		return semel.Record{}, err
	}
	var rec semel.Record
	err := s.run(ctx, "update", func() error {
		return s.inTurn(ctx, func() (err error) {
			rec, err = s.d.update(ctx, s.db, key, token, &c)
			return err
		})
	})
	return rec, err
}

func (d *dialect) update(ctx context.Context, q querier, key semel.Key, token semel.Token, c *semel.Change) (semel.Record, error) {
	for range rounds {
		row, applied, err := d.change(ctx, q, key, token, c)
		if err != nil {
			return semel.Record{}, err
		}
		if applied {
			return row.Seen(row.Now), nil
		}
		if row, err = d.read(ctx, q, key); err != nil {
			return semel.Record{}, err
		}
		_, rec, err := rules.Update(row, token, c, row.Now)
		if err != nil {
			return row.Seen(row.Now), err
		}
		if repeats(&row, c) {
			return rec, nil
		}
	}
	return semel.Record{}, fmt.Errorf("%w: the record kept changing", semel.ErrBusy)
}

// repeats reports whether row is what c has already made of it, given that the
// rules do not refuse c.
func repeats(row *rules.Row, c *semel.Change) bool {
	if c.To == semel.Held {
		return row.Doubted
	}
	return row.State == c.To
}

// change makes one attempt at c, and reports whether it applied.
func (d *dialect) change(ctx context.Context, q querier, key semel.Key, token semel.Token, c *semel.Change) (rules.Row, bool, error) {
	digest := key.Digest()
	args := []any{digest[:], key.Scope, key.ID, int64(token)}
	switch {
	case c.Doubts():
		return one(ctx, q, key, d.doubt, append(args, c.Note, c.By, c.Why)...)
	case c.To == semel.Held:
		return one(ctx, q, key, d.hold, append(args, micros(c.For), c.Note)...)
	}
	var after, resultFor, forgive int64
	result, kept, size := c.Result, c.Kept, max(c.Size, int64(len(c.Result)))
	switch {
	case c.To == semel.Free:
		after = micros(c.After)
		result, kept, size = nil, "", 0
	case c.ResultFor < c.For:
		resultFor = micros(c.ResultFor)
	}
	if c.Forgive && c.From == semel.Held && c.To == semel.Free {
		forgive = 1
	}
	return one(ctx, q, key, d.finish, append(args, int64(c.From), int64(c.To),
		max(micros(c.For), after), after, resultFor, c.From != semel.Held, forgive,
		result, string(kept), size, c.By, c.Why)...)
}
