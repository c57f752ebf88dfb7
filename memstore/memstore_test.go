package memstore_test

import (
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/memstore"
	"github.com/semel-dev/semel/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		Open: func(testing.TB) semel.Store { return memstore.New() },
		Advance: func(_ testing.TB, s semel.Store, d time.Duration) {
			s.(*memstore.Store).Advance(d)
		},
	})
}
