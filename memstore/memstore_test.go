package memstore_test

import (
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/memstore"
	"github.com/semel-dev/semel/storetest"
)

// check runs the contract. What is in memory does not survive its store, so
// there is no Reopen.
func check(t *testing.T, open func() *memstore.Store) {
	t.Helper()
	storetest.Run(t, storetest.Harness{
		Open: func(testing.TB) semel.Store { return open() },
		Advance: func(_ testing.TB, s semel.Store, d time.Duration) {
			s.(*memstore.Store).Advance(d)
		},
	})
}

func TestStore(t *testing.T) { check(t, memstore.New) }

func TestCollidingKeys(t *testing.T) { check(t, memstore.NewColliding) }
