// Command payments is an API that stacks two layers against double charges: an
// idempotency key at the gateway, and a unique constraint on the ledger. Each
// holds when the other is missing: the key also saves the work and gives the
// second caller the first one's answer; the constraint also holds against a
// caller who has lost its key, for it knows what an order is.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/sqlstore"
)

// layers says which of the two are in place.
type layers struct{ key, constraint bool }

// api is the payments API. Its ledger is a table.
type api struct {
	db         *sql.DB
	constraint bool
}

type payment struct {
	Order  string `json:"order"`
	Amount int    `json:"amount"`
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var p payment
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&p); err != nil || p.Order == "" {
		http.Error(w, "a payment needs an order", http.StatusBadRequest)
		return
	}
	first, err := a.charge(r.Context(), p)
	switch {
	case err != nil:
		http.Error(w, "the ledger does not answer", http.StatusInternalServerError)
	case !first:
		http.Error(w, "this order was paid before", http.StatusConflict)
	default:
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "charged %d for %s\n", p.Amount, p.Order)
	}
}

// charge enters a payment into the ledger. The constraint that the ledger has
// anyway is the claim: one insert, and the database says whether it is the
// first.
func (a *api) charge(ctx context.Context, p payment) (first bool, err error) {
	tx, err := a.db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	if a.constraint {
		first, err = sqlstore.InsertOnce(ctx, sqlstore.SQL(tx), "ledger.order_id",
			`INSERT INTO ledger (order_id, amount) VALUES (?, ?)`, p.Order, p.Amount)
	} else {
		first = true
		_, err = tx.ExecContext(ctx, `INSERT INTO ledger (order_id, amount) VALUES (?, ?)`, p.Order, p.Amount)
	}
	if err != nil || !first {
		return false, err
	}
	return true, tx.Commit()
}

// shop is the API and the gateway before it, on one database file.
type shop struct {
	db       *sql.DB
	server   *httptest.Server // what customers talk to
	upstream *httptest.Server // the API behind the gateway; nil: there is none
}

// open starts a shop with the given layers.
func open(ctx context.Context, file string, l layers) (*shop, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, err
	}
	table := `CREATE TABLE ledger (order_id TEXT NOT NULL, amount INTEGER NOT NULL)`
	if l.constraint {
		table = `CREATE TABLE ledger (order_id TEXT NOT NULL UNIQUE, amount INTEGER NOT NULL)`
	}
	if _, err := db.ExecContext(ctx, table); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s := &shop{db: db}
	var h http.Handler = &api{db, l.constraint}
	if l.key {
		s.upstream = httptest.NewServer(h)
		if h, err = guard(ctx, db, s.upstream.URL); err != nil {
			s.upstream.Close()
			return nil, errors.Join(err, db.Close())
		}
	}
	s.server = httptest.NewServer(h)
	return s, nil
}

// guard is the gateway before an API.
func guard(ctx context.Context, db *sql.DB, upstream string) (http.Handler, error) {
	if err := sqlstore.Migrate(ctx, db, sqlstore.SQLite); err != nil {
		return nil, err
	}
	store, err := sqlstore.New(ctx, db, sqlstore.SQLite, nil)
	if err != nil {
		return nil, err
	}
	keeper, err := semel.New(store, nil)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(upstream)
	if err != nil {
		return nil, err
	}
	return gateway.New(keeper, gateway.Options{Upstream: u, Routes: []gateway.Route{{
		Pattern: "POST /payments",
		Scope:   func(r *http.Request) (string, error) { return r.Header.Get("X-Customer"), nil },
	}}})
}

// pay sends one payment, under a key if it is not empty.
func (s *shop) pay(ctx context.Context, key, order string) (status int, replayed bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.server.URL+"/payments",
		strings.NewReader(fmt.Sprintf(`{"order":%q,"amount":100}`, order)))
	if err != nil {
		return 0, false, err
	}
	req.Header.Set("X-Customer", "customer-7")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := s.server.Client().Do(req)
	if err != nil {
		return 0, false, err
	}
	return resp.StatusCode, resp.Header.Get("Idempotent-Replayed") == "true", resp.Body.Close()
}

// charges is how often an order was charged.
func (s *shop) charges(ctx context.Context, order string) (n int, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT count(*) FROM ledger WHERE order_id = ?`, order).Scan(&n)
	return n, err
}

func (s *shop) close() error {
	s.server.Close()
	if s.upstream != nil {
		s.upstream.Close()
	}
	return s.db.Close()
}

func main() {
	dir, err := os.MkdirTemp("", "payments")
	if err == nil {
		err = run(context.Background(), dir)
		os.RemoveAll(dir)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string) error {
	for _, l := range []layers{{true, true}, {true, false}, {false, true}, {false, false}} {
		n, err := doublePayment(ctx, filepath.Join(dir, fmt.Sprintf("%v-%v.db", l.key, l.constraint)), l)
		if err != nil {
			return err
		}
		fmt.Printf("key: %-5v  constraint: %-5v  charges: %d\n", l.key, l.constraint, n)
	}
	return nil
}

// doublePayment pays one order twice, as a retry does.
func doublePayment(ctx context.Context, file string, l layers) (charges int, err error) {
	s, err := open(ctx, file, l)
	if err != nil {
		return 0, err
	}
	defer s.close()
	for range 2 {
		if _, _, err := s.pay(ctx, "retry-1", "order-7"); err != nil {
			return 0, err
		}
	}
	return s.charges(ctx, "order-7")
}
