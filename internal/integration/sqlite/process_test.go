package sqlite

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/sqlstore"
)

// The test binary is also the other processes of these tests: with workEnv set
// it does one kind of work on the file at fileEnv instead.
const (
	workEnv   = "SEMEL_TEST_WORK"
	fileEnv   = "SEMEL_TEST_FILE"
	driverEnv = "SEMEL_TEST_DRIVER"
)

func TestMain(m *testing.M) {
	work := map[string]func(*fixture) error{"claim": claimEach, "transact": transactForever, "lease": leaseForever}[os.Getenv(workEnv)]
	if work == nil {
		os.Exit(m.Run())
	}
	f, err := attach(os.Getenv(driverEnv), os.Getenv(fileEnv))
	if err == nil {
		err = work(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// attach is open for a process that has no test.
func attach(driver, path string) (*fixture, error) {
	db, err := sql.Open(driver, source(path))
	if err != nil {
		return nil, err
	}
	if err := sqlstore.Migrate(context.Background(), db, sqlstore.SQLite); err != nil {
		return nil, err
	}
	s, err := sqlstore.New(context.Background(), db, sqlstore.SQLite, nil)
	return &fixture{s, db, driver, path}, err
}

// start runs the test binary as another process.
func start(t *testing.T, work, driver, path string) (*osexec.Cmd, io.Reader, *strings.Builder) {
	t.Helper()
	cmd := osexec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), workEnv+"="+work, driverEnv+"="+driver, fileEnv+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := new(strings.Builder)
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out, stderr
}

const (
	processes = 16
	keys      = 200
)

// claimEach claims every key once, in an order of its own, and prints those
// that it won.
func claimEach(f *fixture) error {
	for _, i := range rand.Perm(keys) {
		a, err := f.Claim(context.Background(), request(fmt.Sprint(i)))
		if err != nil {
			return err
		}
		if a.Won {
			fmt.Println(i, a.Record.Token)
		}
	}
	return nil
}

// Sixteen processes create one file together and claim the same keys: each key
// is won once, and contention surfaces nowhere.
func TestProcessesShareAFile(t *testing.T) {
	each(t, func(t *testing.T, driver string) {
		path := filepath.Join(t.TempDir(), "semel.db")
		winners := make(map[string]int)
		var mu sync.Mutex
		var wg sync.WaitGroup
		for p := range processes {
			cmd, out, stderr := start(t, "claim", driver, path)
			wg.Go(func() {
				lines := bufio.NewScanner(out)
				for lines.Scan() {
					id, _, _ := strings.Cut(lines.Text(), " ")
					mu.Lock()
					winners[id]++
					mu.Unlock()
				}
				if err := cmd.Wait(); err != nil {
					t.Errorf("process %d: %v: %s", p, err, stderr)
				}
			})
		}
		wg.Wait()
		for i := range keys {
			if n := winners[fmt.Sprint(i)]; n != 1 {
				t.Errorf("key %d was won %d times", i, n)
			}
		}
	})
}

// transactForever claims and takes effect in one transaction, time and again,
// and prints each first one after
// its commit.
func transactForever(f *fixture) error {
	ctx := context.Background()
	for i := 0; ; i++ {
		tx, err := f.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		id := fmt.Sprint(i)
		first, _, err := f.ClaimTx(ctx, sqlstore.SQL(tx), key(id), nil)
		if err == nil && first {
			_, err = tx.ExecContext(ctx, `INSERT INTO effects VALUES (?)`, id)
		}
		if err == nil {
			err = tx.Commit()
		}
		if err != nil {
			return err
		}
		if first {
			fmt.Println(id)
		}
	}
}

// Processes that claim and take effect in one transaction are killed anywhere:
// there are as many effects as claims, none twice, and what was answered stands.
func TestKilledInATransaction(t *testing.T) {
	each(t, func(t *testing.T, driver string) {
		f := fresh(t, driver)
		exec(t, f.db, `CREATE TABLE effects (id TEXT) STRICT`)
		for range 12 {
			killed(t, "transact", f, 1+rand.IntN(60))
		}
		effects := count(t, f.db, `SELECT count(*) FROM effects`)
		distinct := count(t, f.db, `SELECT count(DISTINCT id) FROM effects`)
		claims := count(t, f.db, `SELECT count(*) FROM semel WHERE state = 2`)
		if effects != claims || distinct != claims || claims == 0 {
			t.Errorf("%d claims, %d effects, %d of them distinct", claims, effects, distinct)
		}
		if n := count(t, f.db, `SELECT max(CAST(id AS INTEGER)) + 1 FROM effects`); n != claims {
			t.Errorf("%d claims up to number %d: one that was answered is gone", claims, n)
		}
		intact(t, f)
	})
}

// killed runs a process until it has printed n lines, and kills it.
func killed(t *testing.T, work string, f *fixture, n int) {
	t.Helper()
	lines := 0
	cmd, out, stderr := start(t, work, f.driver, f.path)
	scan := bufio.NewScanner(out)
	for scan.Scan() {
		if lines++; lines == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); lines < n {
		t.Fatalf("the process ended by itself: %v: %s", err, stderr)
	}
}

// leaseForever claims and completes keys, and prints what was answered.
func leaseForever(f *fixture) error {
	ctx := context.Background()
	for {
		id := semel.NewAttemptID()
		a, err := f.Claim(ctx, request(hex.EncodeToString(id[:])))
		if err != nil {
			return err
		}
		fmt.Println(a.Record.Key.ID, int64(a.Record.Token), "held")
		_, err = f.Update(ctx, a.Record.Key, a.Record.Token, semel.Change{From: semel.Held, To: semel.Done, For: a.Record.Until.Sub(a.Record.Now)})
		if err != nil {
			return err
		}
		fmt.Println(a.Record.Key.ID, int64(a.Record.Token), "done")
	}
}

// After a kill everything that was answered is there.
func TestKilledLeaseHolder(t *testing.T) {
	each(t, func(t *testing.T, driver string) {
		f := fresh(t, driver)
		for range 8 {
			cmd, out, stderr := start(t, "lease", driver, f.path)
			last := make(map[string]string)
			scan := bufio.NewScanner(out)
			for n, stop := 0, 1+rand.IntN(60); scan.Scan(); n++ {
				var id, token, state string
				if _, err := fmt.Sscan(scan.Text(), &id, &token, &state); err != nil {
					break // cut off by the kill
				}
				last[id] = state
				if n == stop {
					cmd.Process.Kill()
				}
			}
			if err := cmd.Wait(); len(last) == 0 {
				t.Fatalf("the process ended by itself: %v: %s", err, stderr)
			}
			for id, state := range last {
				rec, err := f.Get(t.Context(), key(id))
				if err != nil || (rec.State.String() != state && rec.State != semel.Done) {
					t.Errorf("answered %s, found %v, %v", state, rec.State, err)
				}
			}
		}
		intact(t, f)
	})
}

// intact has SQLite check its file.
func intact(t *testing.T, f *fixture) {
	t.Helper()
	var verdict string
	if err := f.db.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("the file is %s, %v", verdict, err)
	}
}
