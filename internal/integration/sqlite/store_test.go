package sqlite

import (
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/storetest"
)

// The contract, on both drivers.
func TestStore(t *testing.T) {
	each(t, func(t *testing.T, driver string) {
		storetest.Run(t, storetest.Harness{
			Open: func(t testing.TB) semel.Store { return fresh(t, driver) },
			Reopen: func(t testing.TB, s semel.Store) semel.Store {
				f := s.(*fixture)
				if err := f.db.Close(); err != nil {
					t.Fatal(err)
				}
				return open(t, f.driver, f.path)
			},
			Advance: func(t testing.TB, s semel.Store, d time.Duration) { s.(*fixture).advance(t, d) },
		})
	})
}
