package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules"
)

// Options adjust a [Store]. The zero Options are right for most programs.
type Options struct {
	// LockWait bounds how long a call waits for locks that other connections
	// hold, beyond what the driver waits by itself; then it returns an error
	// that wraps [semel.ErrBusy]. 0: 10 s.
	LockWait time.Duration

	// PowerCutMayForget accepts a SQLite database whose synchronous is NORMAL:
	// faster, but a power cut takes the latest claims and outcomes with it, and
	// what they stood for will be done again. False: such a database is refused.
	PowerCutMayForget bool
}

// Store is a [semel.Store] in an SQL database; it is a [semel.Lister], a
// [semel.Statser] and a [semel.Pinger] as well. Its methods may be called
// concurrently, and any number of processes may work on one database. It has
// no goroutines and is not closed: the database handle is the caller's.
//
// An error that wraps [semel.ErrBusy] means that locks did not come free in
// time and nothing was changed.
type Store struct {
	db   *prepared
	d    *dialect
	wait time.Duration
	turn chan struct{} // filled while a write is on its way
}

var (
	_ semel.Store   = (*Store)(nil)
	_ semel.Lister  = (*Store)(nil)
	_ semel.Statser = (*Store)(nil)
	_ semel.Pinger  = (*Store)(nil)
)

// New returns a store in a database that [Migrate] has prepared. It refuses a
// schema that is missing, older or newer than this package's, and a database
// set up so that it would forget claims (see the package's documentation), each
// with an error that says what to do. Nil options are the zero Options.
func New(ctx context.Context, db *sql.DB, dialect Dialect, o *Options) (*Store, error) {
	if o == nil {
		o = new(Options)
	}
	d, err := dialect.find()
	if err != nil {
		return nil, err
	}
	if o.LockWait < 0 {
		return nil, fmt.Errorf("%w: LockWait of %v is negative", semel.ErrInvalid, o.LockWait)
	}
	s := &Store{db: &prepared{DB: db}, d: d, wait: cmp.Or(o.LockWait, 10*time.Second), turn: make(chan struct{}, 1)}
	err = s.run(ctx, "opening", func() error {
		return cmp.Or(d.modern(ctx, db), checkVersion(ctx, db, d), d.ready(ctx, db, o))
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// querier is a database or a transaction in it.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// run calls f, which makes one committed step, until no lock is in its way.
// Errors name the operation.
func (s *Store) run(ctx context.Context, op string, f func() error) error {
	err := patiently(ctx, s.wait, s.d.own, f)
	if err == nil || errors.Is(err, semel.ErrLost) || errors.Is(err, semel.ErrNotFound) {
		return err
	}
	return fmt.Errorf("sqlstore: %s: %w", op, err)
}

// inTurn calls f, which writes once, while no other write of this store is on
// its way. SQLite has one writer; connections that compete for its lock poll
// with growing pauses, goroutines here hand on their turn at once. (This is
// where a group commit takes over: what waits for a turn is the next batch.)
func (s *Store) inTurn(ctx context.Context, f func() error) error {
	patience := time.NewTimer(s.wait)
	defer patience.Stop()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
		return f()
	case <-patience.C:
		return &lockedError{errors.New("earlier writes are still waiting")}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Get implements [semel.Store].
func (s *Store) Get(ctx context.Context, key semel.Key) (semel.Record, error) {
	if err := key.Check(); err != nil {
		return semel.Record{}, err
	}
	var rec semel.Record
	err := s.run(ctx, "get", func() error {
		row, err := s.d.read(ctx, s.db, key)
		if err == nil && row.Token == 0 {
			err = semel.ErrNotFound
		}
		rec = row.Seen(row.Now)
		return err
	})
	if err != nil {
		return semel.Record{}, err
	}
	return rec, nil
}

// read returns the row of key, the zero Row if there is none.
func (d *dialect) read(ctx context.Context, q querier, key semel.Key) (rules.Row, error) {
	digest := key.Digest()
	row, _, err := one(ctx, q, key, d.get, digest[:])
	return row, err
}

// Ping implements [semel.Pinger]: it asks the store for its time.
func (s *Store) Ping(ctx context.Context) error {
	return s.run(ctx, "ping", func() error {
		var t int64
		return s.db.QueryRowContext(ctx, `SELECT now FROM semel_clock`).Scan(&t)
	})
}
