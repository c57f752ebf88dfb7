package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/sqlstore"
)

func begin(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback() })
	return tx
}

func exec(t *testing.T, q interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, query string) {
	t.Helper()
	if _, err := q.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func count(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func key(id string) semel.Key { return semel.Key{Scope: "tests", ID: id} }

// claimTx claims and fails the test unless first and err come out as wanted.
func (f *fixture) claimTx(t *testing.T, tx *sql.Tx, id string, o *sqlstore.TxOptions, wantFirst bool, wantErr error) semel.Record {
	t.Helper()
	first, rec, err := f.ClaimTx(t.Context(), sqlstore.SQL(tx), key(id), o)
	if first != wantFirst || !errors.Is(err, wantErr) {
		t.Fatalf("ClaimTx(%s) is %v, %v; want %v, %v", id, first, err, wantFirst, wantErr)
	}
	return rec
}

// What ClaimTx answers, and writes, for each state that it can find.
func TestClaimTxFindsEachState(t *testing.T) {
	each(t, func(t *testing.T, driver string) {
		f := fresh(t, driver)
		ctx := t.Context()
		win := func(id string, note []byte) semel.Record {
			t.Helper()
			req := request(id)
			req.Note, req.Fingerprint = note, []byte("print")
			a, err := f.Claim(ctx, req)
			if err != nil || !a.Won {
				t.Fatalf("claim %s: %v, %v", id, a.Won, err)
			}
			return a.Record
		}
		update := func(rec semel.Record, to semel.State, after time.Duration) {
			t.Helper()
			c := semel.Change{From: semel.Held, To: to, For: time.Hour, After: after, Why: "because"}
			if _, err := f.Update(ctx, rec.Key, rec.Token, c); err != nil {
				t.Fatal(err)
			}
		}
		lapsed := win("lapsed", nil)
		win("in doubt", []byte{})
		update(win("done", nil), semel.Done, 0)
		update(win("dead", nil), semel.Dead, 0)
		update(win("free", nil), semel.Free, 0)
		update(win("backing off", nil), semel.Free, 50*time.Minute)
		update(win("expired", nil), semel.Done, 0)
		exec(t, f.db, `UPDATE semel SET until = created + 1 WHERE id = 'expired'`)
		f.advance(t, 2*time.Minute)
		win("held", nil)

		tx := begin(t, f.db)
		if rec := f.claimTx(t, tx, "absent", nil, true, nil); rec.State != semel.Done || rec.Attempts != 1 || rec.Kept != semel.KeptNone ||
			rec.Until.Sub(rec.Now) != 72*time.Hour {
			t.Errorf("the first claim wrote %+v", rec)
		}
		f.claimTx(t, tx, "absent", nil, false, nil)
		if rec := f.claimTx(t, tx, "lapsed", nil, true, nil); rec.Token <= lapsed.Token || rec.Attempts != 2 || string(rec.Fingerprint) != "print" {
			t.Errorf("the takeover wrote %+v", rec)
		}
		f.claimTx(t, tx, "in doubt", nil, false, semel.ErrInDoubt)
		f.claimTx(t, tx, "done", nil, false, nil)
		if rec := f.claimTx(t, tx, "dead", nil, false, nil); rec.State != semel.Dead || rec.Why != "because" {
			t.Errorf("a dead key answers %+v", rec)
		}
		f.claimTx(t, tx, "free", &sqlstore.TxOptions{Fingerprint: []byte("new")}, true, nil)
		f.claimTx(t, tx, "backing off", nil, false, semel.ErrBusy)
		if rec := f.claimTx(t, tx, "expired", &sqlstore.TxOptions{Result: []byte("r"), ResultFor: time.Hour}, true, nil); rec.Attempts != 1 ||
			string(rec.Result) != "r" || rec.ResultUntil.Sub(rec.Now) != time.Hour || rec.Kept != "" {
			t.Errorf("over an expired record the claim wrote %+v", rec)
		}
		f.claimTx(t, tx, "held", nil, false, semel.ErrBusy)
		for _, id := range []string{"done", "dead", "held", "in doubt"} {
			f.claimTx(t, tx, id, &sqlstore.TxOptions{Fingerprint: []byte("other")}, false, semel.ErrMismatch)
		}
		f.claimTx(t, tx, "done", &sqlstore.TxOptions{Fingerprint: []byte("PRINT"), Same: func(a, b []byte) bool { return len(a) == len(b) }}, false, nil)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if rec, err := f.Get(ctx, key("absent")); err != nil || rec.State != semel.Done {
			t.Errorf("after the commit the record is %v, %v", rec.State, err)
		}
		if _, _, err := f.ClaimTx(ctx, sqlstore.Tx{}, key("x"), nil); !errors.Is(err, semel.ErrInvalid) {
			t.Errorf("a claim in the zero Tx is %v", err)
		}
		if _, _, err := f.ClaimTx(ctx, sqlstore.SQL(tx), semel.Key{}, nil); !errors.Is(err, semel.ErrInvalid) {
			t.Errorf("a claim of the zero Key is %v", err)
		}
	})
}

// A rollback leaves exactly what stood before, of the transaction or of the
// savepoint.
func TestClaimTxRollsBack(t *testing.T) {
	each(t, func(t *testing.T, driver string) {
		f := fresh(t, driver)
		exec(t, f.db, `CREATE TABLE effects (id TEXT) STRICT`)
		a, err := f.Claim(t.Context(), request("lapsed"))
		if err != nil {
			t.Fatal(err)
		}
		f.advance(t, 2*time.Minute)

		tx := begin(t, f.db)
		f.claimTx(t, tx, "lapsed", nil, true, nil)
		f.claimTx(t, tx, "absent", nil, true, nil)
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if rec, err := f.Get(t.Context(), key("lapsed")); err != nil || rec.Version() != a.Record.Version() || rec.Attempt != a.Record.Attempt {
			t.Errorf("after the rollback the record is %+v, %v; want %+v", rec, err, a.Record)
		}
		if _, err := f.Get(t.Context(), key("absent")); !errors.Is(err, semel.ErrNotFound) {
			t.Errorf("after the rollback the record is there: %v", err)
		}

		tx = begin(t, f.db)
		exec(t, tx, `INSERT INTO effects VALUES ('outer')`)
		exec(t, tx, `SAVEPOINT s`)
		f.claimTx(t, tx, "absent", nil, true, nil)
		exec(t, tx, `INSERT INTO effects VALUES ('inner')`)
		exec(t, tx, `ROLLBACK TO s`)
		f.claimTx(t, tx, "absent", nil, true, nil)
		exec(t, tx, `INSERT INTO effects VALUES ('again')`)
		f.claimTx(t, tx, "absent", nil, false, nil) // a duplicate leaves it usable
		exec(t, tx, `INSERT INTO effects VALUES ('after')`)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if n := count(t, f.db, `SELECT count(*) FROM effects WHERE id IN ('outer', 'again', 'after')`); n != 3 {
			t.Errorf("%d effects are there, want 3", n)
		}
		if n := count(t, f.db, `SELECT count(*) FROM effects`); n != 3 {
			t.Errorf("the rolled back effect is there")
		}
	})
}

// A second claimer waits for the first transaction: it finds the key done after
// a commit and wins after a rollback. A leased claim waits alike.
func TestClaimTxWaits(t *testing.T) {
	each(t, func(t *testing.T, driver string) {
		f := fresh(t, driver)
		for _, commits := range []bool{true, false} {
			id := map[bool]string{true: "committed", false: "rolled back"}[commits]
			one := begin(t, f.db)
			f.claimTx(t, one, id, nil, true, nil)
			type answer struct {
				first bool
				err   error
			}
			got := make(chan answer)
			started := make(chan struct{})
			go func() {
				close(started)
				two, err := f.db.BeginTx(t.Context(), nil) // waits for the write lock
				if err != nil {
					got <- answer{false, err}
					return
				}
				defer two.Rollback()
				first, _, err := f.ClaimTx(t.Context(), sqlstore.SQL(two), key(id), nil)
				got <- answer{first, errors.Join(err, two.Commit())}
			}()
			<-started
			if rec, err := f.Get(t.Context(), key(id)); !errors.Is(err, semel.ErrNotFound) {
				t.Errorf("the claim of an open transaction is visible: %v, %v", rec.State, err)
			}
			var err error
			if commits {
				err = one.Commit()
			} else {
				err = one.Rollback()
			}
			if err != nil {
				t.Fatal(err)
			}
			if a := <-got; a.err != nil || a.first == commits {
				t.Errorf("%s: the waiting claim is %v, %v; want %v", id, a.first, a.err, !commits)
			}
		}
	})
}

// An open transaction elsewhere makes claims busy, not wrong; and a transaction
// that read before somebody else wrote has to run again.
func TestClaimTxContention(t *testing.T) {
	each(t, func(t *testing.T, driver string) {
		f := fresh(t, driver)
		other := openDB(t, driver, "file:"+f.path+"?_pragma=busy_timeout(0)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=deferred")
		s, err := sqlstore.New(t.Context(), other, sqlstore.SQLite, &sqlstore.Options{LockWait: 30 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		holder := begin(t, f.db)
		f.claimTx(t, holder, "k", nil, true, nil)

		late := begin(t, other)
		var n int
		if err := late.QueryRowContext(t.Context(), `SELECT count(*) FROM semel`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.ClaimTx(t.Context(), sqlstore.SQL(late), key("k"), nil); !errors.Is(err, semel.ErrBusy) {
			t.Errorf("a claim beside an open transaction is %v, want ErrBusy", err)
		}
		if _, err := s.Claim(t.Context(), request("k")); !errors.Is(err, semel.ErrBusy) {
			t.Errorf("a leased claim beside an open transaction is %v, want ErrBusy", err)
		}
		if err := late.QueryRowContext(t.Context(), `SELECT count(*) FROM semel`).Scan(&n); err != nil {
			t.Errorf("after ErrBusy the transaction is not usable: %v", err)
		}
		if err := holder.Commit(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.ClaimTx(t.Context(), sqlstore.SQL(late), key("k"), nil); !errors.Is(err, semel.ErrRetryTx) {
			t.Errorf("a claim on an old snapshot is %v, want ErrRetryTx", err)
		}
		late.Rollback()
		again := begin(t, other)
		if first, rec, err := s.ClaimTx(t.Context(), sqlstore.SQL(again), key("k"), nil); first || err != nil || rec.State != semel.Done {
			t.Errorf("the transaction run again gets %v, %v, %v; want the done record", first, rec.State, err)
		}
	})
}

// lease is a held claim as CompleteTx sees it.
type lease struct {
	rec       semel.Record
	finishing bool
}

func (l *lease) Key() semel.Key     { return l.rec.Key }
func (l *lease) Token() semel.Token { return l.rec.Token }
func (l *lease) Finishing()         { l.finishing = true }
func (l *lease) Completion(result []byte) semel.Change {
	return semel.Change{From: semel.Held, To: semel.Done, For: time.Hour, Result: result}
}

func TestCompleteTx(t *testing.T) {
	each(t, func(t *testing.T, driver string) {
		f := fresh(t, driver)
		a, err := f.Claim(t.Context(), request("k"))
		if err != nil {
			t.Fatal(err)
		}
		l := &lease{rec: a.Record}
		tx := begin(t, f.db)
		if err := f.CompleteTx(t.Context(), sqlstore.SQL(tx), l, []byte("result")); err != nil || !l.finishing {
			t.Fatalf("completing: %v; finishing is %v", err, l.finishing)
		}
		tx.Rollback()
		if rec, err := f.Get(t.Context(), key("k")); err != nil || rec.State != semel.Held {
			t.Errorf("after a rollback the key is %v, %v; want held", rec.State, err)
		}
		tx = begin(t, f.db)
		if err := f.CompleteTx(t.Context(), sqlstore.SQL(tx), l, []byte("result")); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if rec, err := f.Get(t.Context(), key("k")); err != nil || rec.State != semel.Done || string(rec.Result) != "result" || rec.Token != l.Token() {
			t.Errorf("after the commit the record is %+v, %v", rec, err)
		}
		lost := &lease{rec: a.Record}
		lost.rec.Token--
		tx = begin(t, f.db)
		if err := f.CompleteTx(t.Context(), sqlstore.SQL(tx), lost, nil); !errors.Is(err, semel.ErrLost) || lost.finishing {
			t.Errorf("completing a lost lease is %v, finishing %v; want ErrLost, false", err, lost.finishing)
		}
	})
}
