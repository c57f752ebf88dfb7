package sqlstore

import (
	"context"
	"database/sql"

	"github.com/semel-dev/semel"
)

// pruneStep bounds how many rows one transaction prunes, so that claims get
// their turn between two of them.
const pruneStep = 500

// Prune implements [semel.Store]. It works in small transactions; if one fails,
// what the earlier ones removed is returned beside the error.
func (s *Store) Prune(ctx context.Context, limit int) (semel.Pruned, error) {
	var p semel.Pruned
	for p.Records < limit {
		n, err := s.step(ctx, s.pruneRecords, min(limit-p.Records, pruneStep))
		p.Records += n
		if err != nil {
			return p, err
		}
		if n == 0 {
			break
		}
	}
	for p.Results < limit {
		n, err := s.step(ctx, s.pruneResults, min(limit-p.Results, pruneStep))
		p.Results += n
		if err != nil {
			return p, err
		}
		if n == 0 {
			break
		}
	}
	return p, nil
}

func (s *Store) step(ctx context.Context, prune func(context.Context, int) (int, error), limit int) (n int, err error) {
	err = s.run(ctx, "prune", func() error {
		return s.inTurn(ctx, func() (err error) {
			n, err = prune(ctx, limit)
			return err
		})
	})
	return n, err
}

// pruneRecords removes records and raises, in the same transaction, the
// highest token that was ever removed. The delete comes first: a transaction
// that begins by reading may not be allowed to write later.
func (s *Store) pruneRecords(ctx context.Context, limit int) (int, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	n, high, err := tokens(tx.QueryContext(ctx, s.d.prune, limit))
	if err != nil || n == 0 {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, s.d.raise, high); err != nil {
		return 0, err
	}
	return n, tx.Commit()
}

func tokens(rows *sql.Rows, err error) (n int, high int64, _ error) {
	if err != nil {
		return 0, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var t int64
		if err := rows.Scan(&t); err != nil {
			return 0, 0, err
		}
		n, high = n+1, max(high, t)
	}
	return n, high, rows.Err()
}

func (s *Store) pruneResults(ctx context.Context, limit int) (int, error) {
	res, err := s.db.ExecContext(ctx, s.d.empty, limit)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}
