package sqlite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/sqlstore"
)

// A full disk refuses claims with an error, keeps what was answered and takes
// up again when there is room.
func TestDiskFull(t *testing.T) {
	each(t, func(t *testing.T, driver string) {
		f := fresh(t, driver)
		full := openDB(t, driver, source(f.path)+"&_pragma=max_page_count(24)")
		full.SetMaxOpenConns(1)
		s, err := sqlstore.New(t.Context(), full, sqlstore.SQLite, nil)
		if err != nil {
			t.Fatal(err)
		}
		var won []semel.Record
		for err == nil {
			var a semel.Answer
			req := request(fmt.Sprint(len(won)))
			req.Note = make([]byte, 3000)
			if a, err = s.Claim(t.Context(), req); err == nil {
				if !a.Won {
					t.Fatalf("claim %d is not won", len(won))
				}
				won = append(won, a.Record)
			}
		}
		if len(won) == 0 || errors.Is(err, semel.ErrBusy) || !strings.Contains(err.Error(), "full") {
			t.Fatalf("after %d claims: %v; want an error about a full disk", len(won), err)
		}
		for _, rec := range won {
			if got, err := s.Get(t.Context(), rec.Key); err != nil || got.Token != rec.Token {
				t.Errorf("an answered claim is %v, %v", got.Token, err)
			}
		}
		next := key(fmt.Sprint(len(won)))
		if rec, err := s.Get(t.Context(), next); !errors.Is(err, semel.ErrNotFound) {
			t.Errorf("the refused claim is %v, %v", rec.State, err)
		}
		if _, err := s.Update(t.Context(), won[0].Key, won[0].Token, semel.Change{From: semel.Held, To: semel.Done, For: time.Hour, Result: make([]byte, 1<<20)}); err == nil {
			t.Error("a completion that did not fit was answered")
		}
		if a, err := f.Claim(t.Context(), request(next.ID)); err != nil || !a.Won || a.Record.Attempts != 1 {
			t.Errorf("with room again the claim is %v, %v", a.Won, err)
		}
		intact(t, f)
	})
}

// A read-only database answers what it knows and refuses the rest.
func TestReadOnly(t *testing.T) {
	each(t, func(t *testing.T, driver string) {
		f := fresh(t, driver)
		held, err := f.Claim(t.Context(), request("held"))
		if err != nil {
			t.Fatal(err)
		}
		db := openDB(t, driver, "file:"+f.path+"?mode=ro&_pragma=synchronous(FULL)&_pragma=busy_timeout(1000)")
		s, err := sqlstore.New(t.Context(), db, sqlstore.SQLite, nil)
		if err != nil {
			t.Fatal(err)
		}
		if a, err := s.Claim(t.Context(), request("held")); err != nil || a.Won || a.Record.Token != held.Record.Token {
			t.Errorf("a refused claim is %v, %v", a.Won, err)
		}
		if a, err := s.Claim(t.Context(), request("new")); err == nil || errors.Is(err, semel.ErrBusy) || !strings.Contains(err.Error(), "readonly") {
			t.Errorf("a new claim is %v, %v; want an error about a read-only database", a.Won, err)
		}
		if _, err := s.Prune(t.Context(), 10); err == nil {
			t.Error("a prune succeeded")
		}
	})
}

// Damage to the file's pages is an error wherever it matters, never a verdict:
// a key that was done is not won.
func TestDamagedFile(t *testing.T) {
	const keys = 400
	each(t, func(t *testing.T, driver string) {
		f := fresh(t, driver)
		for i := range keys {
			a, err := f.Claim(t.Context(), request(fmt.Sprint(i)))
			if err == nil {
				_, err = f.Update(t.Context(), a.Record.Key, a.Record.Token, semel.Change{From: semel.Held, To: semel.Done, For: time.Hour, Result: []byte("result")})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		exec(t, f.db, `PRAGMA wal_checkpoint(TRUNCATE)`)
		f.db.Close()
		whole, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		const page = 4096
		for name, damage := range map[string]func([]byte){
			"flipped": func(p []byte) {
				for i := range p {
					p[i] ^= 0xff
				}
			},
			"zeroed": func(p []byte) { clear(p) },
			"random": func(p []byte) {
				for i := range p {
					p[i] = byte(rand.IntN(256))
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				broken := append([]byte(nil), whole...)
				for at := page; at+page <= len(broken); at += 2 * page {
					damage(broken[at : at+page])
				}
				path := filepath.Join(t.TempDir(), "damaged.db")
				if err := os.WriteFile(path, broken, 0o600); err != nil {
					t.Fatal(err)
				}
				refused := claimsRefused(t, driver, path, keys)
				if refused == 0 {
					t.Error("no damage was noticed")
				}
			})
		}
	})
}

// claimsRefused claims keys that are done, and returns how many got an error.
func claimsRefused(t *testing.T, driver, path string, keys int) (refused int) {
	t.Helper()
	db := openDB(t, driver, source(path))
	s, err := sqlstore.New(t.Context(), db, sqlstore.SQLite, nil)
	if err != nil {
		return keys
	}
	for i := range keys {
		a, err := s.Claim(t.Context(), request(fmt.Sprint(i)))
		switch {
		case err != nil:
			refused++
		case a.Won:
			t.Errorf("key %d, which is done, was won", i)
		case a.Record.State != semel.Done || string(a.Record.Result) != "result":
			t.Errorf("key %d is %v with %q", i, a.Record.State, a.Record.Result)
		}
	}
	return refused
}

// A file that is gone is an error for whoever opens it, not an empty store.
func TestDirectoryDeleted(t *testing.T) {
	each(t, func(t *testing.T, driver string) {
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		f := open(t, driver, filepath.Join(dir, "semel.db"))
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		db := openDB(t, driver, source(f.path))
		if err := sqlstore.Migrate(t.Context(), db, sqlstore.SQLite); err == nil {
			t.Error("a schema was created in a directory that is gone")
		}
		if _, err := sqlstore.New(t.Context(), db, sqlstore.SQLite, nil); err == nil {
			t.Error("a store was opened in a directory that is gone")
		}
	})
}

// New refuses what would forget claims or what it does not know, and says what
// to do.
func TestNewRefuses(t *testing.T) {
	each(t, func(t *testing.T, driver string) {
		f := fresh(t, driver)
		refused := func(source, word string, o *sqlstore.Options) {
			t.Helper()
			_, err := sqlstore.New(t.Context(), openDB(t, driver, source), sqlstore.SQLite, o)
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("New(%s) is %v, want an error about %s", source, err, word)
			}
		}
		dir := filepath.Dir(f.path)
		refused(source(filepath.Join(dir, "empty.db")), "sqlstore.Migrate", nil)
		refused("file:"+f.path+"?_pragma=synchronous(NORMAL)", "synchronous(FULL)", nil)
		refused("file:"+f.path+"?_pragma=synchronous(OFF)", "synchronous", &sqlstore.Options{PowerCutMayForget: true})
		rollback := "file:" + filepath.Join(dir, "rollback.db") + "?_pragma=synchronous(FULL)"
		if err := sqlstore.Migrate(t.Context(), openDB(t, driver, rollback), sqlstore.SQLite); err != nil {
			t.Fatal(err)
		}
		refused(rollback, "journal_mode(WAL)", nil)
		normal := openDB(t, driver, "file:"+f.path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
		if _, err := sqlstore.New(t.Context(), normal, sqlstore.SQLite, &sqlstore.Options{PowerCutMayForget: true}); err != nil {
			t.Errorf("NORMAL in words is %v", err)
		}
		if _, err := sqlstore.New(t.Context(), f.db, "oracle", nil); !errors.Is(err, semel.ErrInvalid) {
			t.Errorf("an unknown dialect is %v", err)
		}
		exec(t, f.db, `UPDATE semel_meta SET version = 99`)
		refused(source(f.path), "newer program", nil)
		if err := sqlstore.Migrate(t.Context(), f.db, sqlstore.SQLite); err == nil || !strings.Contains(err.Error(), "newer program") {
			t.Errorf("Migrate on a newer schema is %v", err)
		}
	})
}

// Schema creates what Migrate creates, and a digest that stands for another key
// is an error.
func TestSchema(t *testing.T) {
	each(t, func(t *testing.T, driver string) {
		path := filepath.Join(t.TempDir(), "by-hand.db")
		db := openDB(t, driver, source(path))
		exec(t, db, sqlstore.Schema(sqlstore.SQLite))
		f := open(t, driver, path)
		if _, err := f.Claim(t.Context(), request("k")); err != nil {
			t.Fatal(err)
		}
		exec(t, db, `UPDATE semel SET id = 'other'`)
		req := request("k")
		if a, err := f.Claim(t.Context(), req); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("a claim on another key's digest is %v, %v", a.Won, err)
		}
		if _, err := f.Get(t.Context(), req.Key); err == nil || errors.Is(err, semel.ErrNotFound) {
			t.Errorf("reading another key's digest is %v", err)
		}
		if got := sqlstore.Schema("oracle"); got != "" {
			t.Errorf("the schema of an unknown dialect is %q", got)
		}
	})
}

// A claim that is refused writes nothing: it succeeds without the write lock.
func TestRefusedClaimTakesNoLock(t *testing.T) {
	each(t, func(t *testing.T, driver string) {
		f := fresh(t, driver)
		a, err := f.Claim(t.Context(), request("k"))
		if err != nil {
			t.Fatal(err)
		}
		tx := begin(t, f.db)
		exec(t, tx, `UPDATE semel_meta SET pruned = pruned`)
		for range 100 {
			req := request("k")
			if b, err := f.Claim(t.Context(), req); err != nil || b.Won || b.Record.Token != a.Record.Token {
				t.Fatalf("a duplicate beside a writer is %v, %v", b.Won, err)
			}
		}
	})
}

// A digest is not believed: the record of another key is nobody's answer.
func TestDigestOfAnotherKey(t *testing.T) {
	each(t, func(t *testing.T, driver string) {
		f := fresh(t, driver)
		if _, err := f.Claim(t.Context(), request("k")); err != nil {
			t.Fatal(err)
		}
		for _, column := range []string{"id", "scope"} {
			exec(t, f.db, `UPDATE semel SET `+column+` = 'another'`)
			if rec, err := f.Get(t.Context(), key("k")); err == nil || rec.Token != 0 {
				t.Errorf("%s: got %+v, %v", column, rec, err)
			}
			if a, err := f.Claim(t.Context(), request("k")); err == nil || a.Won || a.Record.Token != 0 {
				t.Errorf("%s: claimed %+v, %v", column, a, err)
			}
			exec(t, f.db, `UPDATE semel SET scope = 'tests', id = 'k'`)
		}
	})
}
