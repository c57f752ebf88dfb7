package main

import (
	"path/filepath"
	"sync"
	"testing"
)

// Each layer holds alone; without both, the customer pays twice.
func TestEachLayerHoldsAlone(t *testing.T) {
	for _, tt := range []struct {
		layers
		charges int
	}{
		{layers{key: true, constraint: true}, 1},
		{layers{key: true, constraint: false}, 1},
		{layers{key: false, constraint: true}, 1},
		{layers{key: false, constraint: false}, 2},
	} {
		n, err := doublePayment(t.Context(), filepath.Join(t.TempDir(), "shop.db"), tt.layers)
		if err != nil || n != tt.charges {
			t.Errorf("%+v: %d charges, %v, want %d", tt.layers, n, err, tt.charges)
		}
	}
}

// What only the key does: the second caller gets the first one's answer.
// What only the constraint does: it holds when the caller has lost its key.
func TestWhatEachLayerAdds(t *testing.T) {
	s, err := open(t.Context(), filepath.Join(t.TempDir(), "shop.db"), layers{key: true, constraint: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for i, want := range []struct {
		key      string
		status   int
		replayed bool
	}{{"a", 201, false}, {"a", 201, true}, {"b", 409, false}, {"", 409, false}} {
		status, replayed, err := s.pay(t.Context(), want.key, "order-7")
		if err != nil || status != want.status || replayed != want.replayed {
			t.Errorf("payment %d: %d, replayed %v, %v, want %+v", i, status, replayed, err, want)
		}
	}
}

func TestCopiesAtOnce(t *testing.T) {
	for _, l := range []layers{{key: true}, {constraint: true}} {
		s, err := open(t.Context(), filepath.Join(t.TempDir(), "shop.db"), l)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.close() })
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, _, err := s.pay(t.Context(), "a", "order-7"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n, err := s.charges(t.Context(), "order-7"); err != nil || n != 1 {
			t.Errorf("%+v: %d charges, %v", l, n, err)
		}
	}
}
