package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
)

// Tx is a transaction of the caller's, made by [SQL]. It is never committed or
// rolled back here. The zero Tx is invalid.
type Tx struct {
	q querier
}

// SQL wraps a transaction: a [*sql.Tx], or a type of another package that has
// its methods, such as one that embeds it. What is no transaction, as a
// [*sql.DB] or a [*sql.Conn], does not compile: a claim outside the transaction
// of its effect would stand when the effect is rolled back.
func SQL(tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	Commit() error
	Rollback() error
}) Tx {
	return Tx{tx}
}

func (tx Tx) check() error {
	if tx.q == nil {
		return fmt.Errorf("%w: the zero Tx is no transaction", semel.ErrInvalid)
	}
	return nil
}

// within calls f, which makes one step of a caller's transaction.
func within(ctx context.Context, d *dialect, wait time.Duration, op string, f func() error) error {
	if err := patiently(ctx, wait, d.fault, f); err != nil {
		return fmt.Errorf("sqlstore: %s in a transaction: %w", op, err)
	}
	return nil
}
