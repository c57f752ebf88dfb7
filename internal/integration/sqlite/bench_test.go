package sqlite

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
)

// The floor is what one writes by hand: a table with a digest for its key and
// one INSERT per claim, each its own transaction, through the same driver, with
// the writers of the process in a queue.
const handWritten = `CREATE TABLE processed (digest BLOB NOT NULL PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID`

// BenchmarkClaim compares fresh claims of the store with the hand-written form,
// interleaved; its metric is the store's rate over the floor's.
func BenchmarkClaim(b *testing.B) {
	for _, driver := range drivers {
		for _, claimants := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/%d", driver, claimants), func(b *testing.B) {
				f := fresh(b, driver)
				f.db.SetMaxIdleConns(64)
				if _, err := f.db.ExecContext(b.Context(), handWritten); err != nil {
					b.Fatal(err)
				}
				var n atomic.Int64
				// Without one writer at a time, most of the floor is SQLite's polling.
				writers := make(chan struct{}, 1)
				floor := func() error {
					writers <- struct{}{}
					defer func() { <-writers }()
					d := key(fmt.Sprint(n.Add(1))).Digest()
					res, err := f.db.ExecContext(b.Context(), `INSERT INTO processed (digest, at) VALUES (?, unixepoch()) ON CONFLICT DO NOTHING`, d[:])
					if err == nil {
						if won, _ := res.RowsAffected(); won != 1 {
							err = fmt.Errorf("lost")
						}
					}
					return err
				}
				store := func() error {
					a, err := f.Claim(b.Context(), request(fmt.Sprint(n.Add(1))))
					if err == nil && !a.Won {
						err = fmt.Errorf("lost")
					}
					return err
				}
				var spent [2]time.Duration
				for b.Loop() {
					for i, claim := range []func() error{floor, store} {
						began := time.Now()
						run(b, claimants, 256, claim)
						spent[i] += time.Since(began)
					}
				}
				b.ReportMetric(float64(spent[0])/float64(spent[1]), "ratio")
				b.ReportMetric(256*float64(b.N)/spent[1].Seconds(), "claims/s")
			})
		}
	}
}

func run(b *testing.B, claimants, n int, claim func() error) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	for range claimants {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := claim(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkDuplicate is the path of a refused claim.
func BenchmarkDuplicate(b *testing.B) {
	for _, driver := range drivers {
		b.Run(driver, func(b *testing.B) {
			f := fresh(b, driver)
			if _, err := f.Claim(b.Context(), request("k")); err != nil {
				b.Fatal(err)
			}
			req := request("k")
			req.Attempt = semel.NewAttemptID()
			b.ReportAllocs()
			for b.Loop() {
				if a, err := f.Claim(b.Context(), req); err != nil || a.Won {
					b.Fatal(a.Won, err)
				}
			}
		})
	}
}
