package sqlite

import (
	"errors"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/sqlstore"
)

const ordersSchema = `
CREATE TABLE orders (
	id     INTEGER PRIMARY KEY,
	tenant TEXT NOT NULL,
	number TEXT NOT NULL,
	email  TEXT UNIQUE ON CONFLICT IGNORE,
	ref    TEXT UNIQUE ON CONFLICT REPLACE,
	open   INTEGER NOT NULL DEFAULT 1 CHECK (open IN (0, 1)),
	UNIQUE (tenant, number)
) STRICT;
CREATE UNIQUE INDEX one_open ON orders (tenant) WHERE open = 7;
CREATE TABLE words (word TEXT NOT NULL) STRICT;
CREATE UNIQUE INDEX folded ON words (lower(word));
CREATE TABLE twins (a TEXT UNIQUE) STRICT;
CREATE UNIQUE INDEX twins_folded ON twins (a COLLATE NOCASE);
CREATE TABLE "we""ird" ("the key" TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE ignoring (a TEXT UNIQUE) STRICT;
CREATE TRIGGER ignores BEFORE INSERT ON ignoring WHEN new.a = 'skip' BEGIN SELECT RAISE(IGNORE); END;
`

func TestInsertOnce(t *testing.T) {
	const insert = `INSERT INTO orders (tenant, number, email, ref, id) VALUES (?, ?, ?, ?, ?) -- once`
	each(t, func(t *testing.T, driver string) {
		db := openDB(t, driver, source(t.TempDir()+"/app.db"))
		exec(t, db, ordersSchema)
		tx := begin(t, db)
		for _, c := range []struct {
			constraint string
			query      string
			args       []any
			want       string // first, duplicate, invalid, error
		}{
			{"orders.tenant, orders.number", insert, []any{"t", "1", "e1", "r1", 1}, "first"},
			{"orders.tenant, orders.number", insert, []any{"t", "1", "e2", "r2", 2}, "duplicate"},
			{"ORDERS.tenant,orders.NUMBER", insert, []any{"t", "1", "e2", "r2", 2}, "duplicate"},
			{"sqlite_autoindex_orders_3", insert, []any{"t", "1", "e2", "r2", 2}, "duplicate"},
			{"orders.id", insert, []any{"t", "2", "e2", "r2", 2}, "first"},
			{"folded", `INSERT INTO words VALUES (?)`, []any{"Word"}, "first"},
			{"folded", `INSERT INTO words VALUES (?)`, []any{"wORD"}, "duplicate"},
			{"orders.id", insert, []any{"t", "3", "e3", "r3", 2}, "duplicate"},
			{"orders.email", insert, []any{"t", "3", "e2", "r3", 3}, "duplicate"},
			{"orders.ref", insert, []any{"t", "3", "e3", "r2", 3}, "duplicate"},
			{"orders.id", `insert into main.orders values (2, 't', '4', 'e', 'r', 1)`, nil, "duplicate"},
			{`we"ird.the key`, `INSERT INTO "we""ird" VALUES ('x')`, nil, "first"},
			{`we"ird.the key`, "INSERT INTO [we\"ird] VALUES ('x')", nil, "duplicate"},
			{"ignoring.a", `INSERT INTO ignoring VALUES ('x')`, nil, "first"},
			{"ignoring.a", `INSERT INTO ignoring VALUES ('x')`, nil, "duplicate"},

			// Violations of another constraint, also of one that would hide them.
			{"orders.tenant, orders.number", insert, []any{"t", "5", "e1", "r5", 5}, "error"},
			{"orders.tenant, orders.number", insert, []any{"t", "5", "e5", "r1", 5}, "error"},
			{"orders.tenant, orders.number", insert, []any{"t", "5", "e5", "r5", 1}, "error"},
			{"orders.id", insert, []any{"t", "5", "e1", "r5", 6}, "error"},
			{"orders.id", `INSERT INTO orders VALUES (9, 't', NULL, 'e', 'r', 1)`, nil, "error"},
			{"orders.id", `INSERT INTO orders VALUES (9, 't', '9', 'e', 'r', 5)`, nil, "error"},

			// What could not be told apart is refused before it inserts.
			{"orders.tenant", insert, []any{"t", "6", "e6", "r6", 6}, "invalid"},
			{"orders.number, orders.tenant", insert, []any{"t", "6", "e6", "r6", 6}, "invalid"},
			{"one_open", insert, []any{"t", "6", "e6", "r6", 6}, "invalid"},
			{"no_such", insert, []any{"t", "6", "e6", "r6", 6}, "invalid"},
			{"twins.a", `INSERT INTO twins VALUES ('a')`, nil, "invalid"},
			{"twins.a", `INSERT INTO orders (tenant) VALUES ('a')`, nil, "invalid"},
			{"orders.id", `INSERT OR IGNORE INTO orders (tenant) VALUES ('a')`, nil, "invalid"},
			{"orders.id", `REPLACE INTO orders (tenant) VALUES ('a')`, nil, "invalid"},
			{"orders.id", `INSERT INTO orders (tenant) VALUES ('a') ON CONFLICT DO NOTHING`, nil, "invalid"},
			{"orders.id", `INSERT INTO orders (tenant) VALUES ('a'); DELETE FROM orders`, nil, "invalid"},
			{"ignoring.a", `INSERT INTO ignoring VALUES ('skip')`, nil, "invalid"},
			{"ignoring.a", `INSERT INTO ignoring VALUES ('y'), ('z')`, nil, "invalid"},
		} {
			first, err := sqlstore.InsertOnce(t.Context(), sqlstore.SQL(tx), c.constraint, c.query, c.args...)
			got := "error"
			switch {
			case errors.Is(err, semel.ErrInvalid):
				got = "invalid"
			case err == nil && first:
				got = "first"
			case err == nil:
				got = "duplicate"
			}
			if got != c.want {
				t.Errorf("%s by %s %v: %s (%v), want %s", c.query, c.constraint, c.args, got, err, c.want)
			}
			exec(t, tx, `SELECT 1`)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if n := count(t, db, `SELECT count(*) FROM orders`); n != 2 {
			t.Errorf("%d orders are there, want 2", n)
		}
	})
}

func TestIsDuplicate(t *testing.T) {
	each(t, func(t *testing.T, driver string) {
		db := openDB(t, driver, source(t.TempDir()+"/app.db"))
		exec(t, db, ordersSchema)
		exec(t, db, `INSERT INTO orders VALUES (1, 't', 'a', 'e', 'r', 1); INSERT INTO words VALUES ('word')`)
		for query, want := range map[string]string{
			`INSERT INTO orders VALUES (1, 'u', 'b', 'f', 's', 1)`:          "orders.id",
			`INSERT INTO words VALUES ('WORD')`:                             "folded",
			`INSERT INTO orders VALUES (2, 't', 'a', 'f', 's', 1)`:          "orders.tenant, orders.number",
			`INSERT OR ABORT INTO orders VALUES (2, 'u', 'b', 'e', 's', 1)`: "orders.email",
			`INSERT INTO orders VALUES (2, NULL, 'b', 'f', 's', 1)`:         "none",
		} {
			_, err := db.ExecContext(t.Context(), query)
			for _, constraint := range []string{"orders.id", "folded", "orders.email", "orders.tenant, orders.number"} {
				if got := sqlstore.IsDuplicate(err, constraint); got != (constraint == want) {
					t.Errorf("IsDuplicate(%v, %q) is %v", err, constraint, got)
				}
			}
		}
	})
}
