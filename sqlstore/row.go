package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules"
)

// one runs a statement that answers with at most one row, the one of key, and
// reports whether there was one. It reads to the end: a statement that changes
// something is committed, or fails to be, only after its last row. A driver may
// keep to itself what goes wrong when it is closed earlier.
func one(ctx context.Context, q querier, key semel.Key, query string, args ...any) (row rules.Row, found bool, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return rules.Row{}, false, err
	}
	defer rows.Close()
	for rows.Next() {
		if found {
			return rules.Row{}, false, fmt.Errorf("damaged: two records of one key")
		}
		if row, err = scanRow(rows); err != nil {
			return rules.Row{}, false, err
		}
		found = true
	}
	if err := rows.Err(); err != nil {
		return rules.Row{}, false, err
	}
	if found && row.Key != key {
		return rules.Row{}, false, fmt.Errorf("damaged: the digest of key %q in scope %q belongs to %q in %q", key.ID, key.Scope, row.Key.ID, row.Key.Scope)
	}
	return row, found, nil
}

// scanRow takes one row of columns apart.
func scanRow(rows *sql.Rows) (rules.Row, error) {
	var r rules.Row
	var attempt []byte
	var created, until, keep, notBefore, resultUntil, now int64
	var present int
	err := rows.Scan(&r.Key.Scope, &r.Key.ID, &r.State, &r.From, &r.Token, &r.Attempts, &r.Generation, &attempt, &r.Doubted, &r.Recovered,
		&created, &until, &keep, &notBefore, &resultUntil, &r.Fingerprint, &r.Note, &r.Result,
		&present, &r.Kept, &r.Size, &r.Source, &r.By, &r.Why, &now)
	if err != nil {
		return rules.Row{}, err
	}
	if copy(r.Attempt[:], attempt) != len(r.Attempt) || r.Token <= 0 || r.State > semel.Dead {
		return rules.Row{}, fmt.Errorf("damaged: the record of key %q in scope %q makes no sense", r.Key.ID, r.Key.Scope)
	}
	for bit, b := range []*[]byte{&r.Fingerprint, &r.Note, &r.Result} {
		if present&(1<<bit) != 0 && *b == nil {
			*b = []byte{}
		}
	}
	r.Created, r.Until, r.Now = instant(created), instant(until), instant(now)
	r.NotBefore, r.ResultUntil = instant(notBefore), instant(resultUntil)
	r.Keep = time.Duration(keep) * time.Microsecond
	return r, nil
}

// instant is the store's representation of a time, undone.
func instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// micros is how the store keeps a duration.
func micros(d time.Duration) int64 { return d.Microseconds() }
