package sqlstore

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel"
)

// List implements [semel.Lister], in the order of the keys' digests. What is in
// doubt has an index; other filters read as many records as it takes to fill
// the page.
func (s *Store) List(ctx context.Context, f semel.Filter) (semel.Page, error) {
	limit := f.Limit
	if limit <= 0 {
		limit = 100
	}
	limit = min(limit, 1000)
	query, args, err := s.d.listing(&f, limit+1)
	if err != nil {
		return semel.Page{}, err
	}
	var page semel.Page
	err = s.run(ctx, "list", func() (err error) {
		page.Records, err = s.records(ctx, query, args)
		return err
	})
	if err != nil {
		return semel.Page{}, err
	}
	if len(page.Records) > limit {
		page.Records = page.Records[:limit]
		page.Cursor = page.Records[limit-1].Key.ClaimID()
	}
	return page, nil
}

// listing builds the statement that f asks for.
func (d *dialect) listing(f *semel.Filter, limit int) (query string, args []any, err error) {
	var where []string
	bind := func(v any) string {
		args = append(args, v)
		return d.param(len(args))
	}
	if f.Cursor != "" {
		after, err := hex.DecodeString(f.Cursor)
		if err != nil {
			return "", nil, fmt.Errorf("%w: %q is no cursor of this store", semel.ErrInvalid, f.Cursor)
		}
		where = append(where, "digest > "+bind(after))
	}
	if f.Scope != "" {
		where = append(where, "scope = "+bind(f.Scope))
	}
	if len(f.States) > 0 {
		states := make([]string, len(f.States))
		for i, st := range f.States {
			states[i] = strconv.Itoa(int(st))
		}
		where = append(where, "state IN ("+strings.Join(states, ", ")+")")
	}
	if f.InDoubt {
		where = append(where, d.inDoubt)
	}
	query = d.list
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	return query + " ORDER BY digest LIMIT " + bind(limit), args, nil
}

func (s *Store) records(ctx context.Context, query string, args []any) ([]semel.Record, error) {
	rows, err := s.db.DB.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var recs []semel.Record
	for rows.Next() {
		row, err := scanRow(rows)
		if err != nil {
			return nil, err
		}
		rec := row.Seen(row.Now)
		rec.Result = nil
		recs = append(recs, rec)
	}
	return recs, rows.Err()
}

// Stats implements [semel.Statser]. It reads the whole table once.
func (s *Store) Stats(ctx context.Context) (semel.Stats, error) {
	var st semel.Stats
	err := s.run(ctx, "stats", func() error {
		var oldest, doubt int64
		if err := s.db.QueryRowContext(ctx, s.d.stats).Scan(&st.Rows, &oldest, &st.InDoubt, &doubt); err != nil {
			return err
		}
		st.Oldest, st.Doubt = time.Duration(oldest)*time.Microsecond, time.Duration(doubt)*time.Microsecond
		return nil
	})
	return st, err
}
