// Command transaction ships an order once: the claim and the shipment are one
// transaction, so that neither exists without the other.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/sqlstore"
)

func main() {
	dir, err := os.MkdirTemp("", "transaction")
	if err == nil {
		err = run(context.Background(), filepath.Join(dir, "shop.db"))
		os.RemoveAll(dir)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return err
	}
	defer db.Close()
	if err := sqlstore.Migrate(ctx, db, sqlstore.SQLite); err != nil {
		return err
	}
	store, err := sqlstore.New(ctx, db, sqlstore.SQLite, nil)
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, `CREATE TABLE shipments (order_id TEXT NOT NULL)`); err != nil {
		return err
	}
	for range 3 { // the message arrives three times
		first, err := ship(ctx, db, store, "order-7")
		if err != nil {
			return err
		}
		fmt.Println("shipped now:", first)
	}
	var n int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM shipments`).Scan(&n); err != nil {
		return err
	}
	fmt.Println("shipments:", n)
	return nil
}

// ship ships an order unless that was done before.
func ship(ctx context.Context, db *sql.DB, store *sqlstore.Store, order string) (first bool, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	first, _, err = store.ClaimTx(ctx, sqlstore.SQL(tx), semel.Key{Scope: "shipping", ID: order}, nil)
	if err != nil || !first {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO shipments (order_id) VALUES (?)`, order); err != nil {
		return false, err
	}
	return true, tx.Commit()
}
