package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver"
	_ "modernc.org/sqlite"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/sqlstore"
)

// drivers are the names under which the drivers register. Both take the same
// data source names.
var drivers = []string{"sqlite", "sqlite3"}

// source is the data source name that the store's documentation recommends.
func source(path string) string {
	return "file:" + path + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate"
}

// fixture is a store and what tests need beside it.
type fixture struct {
	*sqlstore.Store
	db     *sql.DB
	driver string
	path   string
}

// open opens the store in the file at path and creates what is missing.
func open(tb testing.TB, driver, path string) *fixture {
	tb.Helper()
	db := openDB(tb, driver, source(path))
	if err := sqlstore.Migrate(tb.Context(), db, sqlstore.SQLite); err != nil {
		tb.Fatal(err)
	}
	s, err := sqlstore.New(tb.Context(), db, sqlstore.SQLite, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return &fixture{s, db, driver, path}
}

func openDB(tb testing.TB, driver, source string) *sql.DB {
	tb.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return db
}

// fresh opens an empty store.
func fresh(tb testing.TB, driver string) *fixture {
	tb.Helper()
	return open(tb, driver, filepath.Join(tb.TempDir(), "semel.db"))
}

// advance moves the store's clock: it replaces the view that is the clock.
func (f *fixture) advance(tb testing.TB, d time.Duration) {
	tb.Helper()
	ctx := context.Background()
	tx, err := f.db.BeginTx(ctx, nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer tx.Rollback()
	var now, system int64
	const clock = `CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000`
	if err := tx.QueryRowContext(ctx, `SELECT now, `+clock+` FROM semel_clock`).Scan(&now, &system); err != nil {
		tb.Fatal(err)
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf(`DROP VIEW semel_clock; CREATE VIEW semel_clock (now) AS SELECT %s + %d`, clock, now-system+d.Microseconds()))
	if err != nil {
		tb.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		tb.Fatal(err)
	}
}

// each runs f on every driver.
func each(t *testing.T, f func(t *testing.T, driver string)) {
	for _, d := range drivers {
		t.Run(d, func(t *testing.T) { f(t, d) })
	}
}

// request is a claim of id that is valid in every respect.
func request(id string) semel.Request {
	return semel.Request{
		Key: semel.Key{Scope: "tests", ID: id}, Attempt: semel.NewAttemptID(),
		Lease: time.Minute, Keep: time.Hour,
	}
}
