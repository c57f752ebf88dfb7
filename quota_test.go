package semel_test

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/memstore"
)

// New keys count, duplicates never; each scope has its own count; a window
// later it begins anew.
func TestQuotaOfNewKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEar(t)
		k := newKeeper(t, memstore.New(), &semel.Options{MaxNew: 3, Window: time.Hour, Observer: e.observer()})
		do := func(scope, id string) error {
			_, err := k.Do(t.Context(), semel.Key{Scope: scope, ID: id}, work("r"))
			return err
		}
		for range 5 {
			for _, id := range []string{"1", "2", "3"} {
				if err := do("a", id); err != nil {
					t.Error(err)
				}
			}
		}
		var over *semel.QuotaError
		if err := do("a", "4"); !errors.As(err, &over) || over.Scope != "a" || over.Limit != 3 || over.InDoubt {
			t.Error(err)
		}
		if v := e.verdicts(); v[len(v)-1] != semel.VerdictError {
			t.Errorf("%v", v)
		}
		if err := do("a", "1"); err != nil {
			t.Errorf("a replay is refused: %v", err)
		}
		if err := do("b", "4"); err != nil {
			t.Errorf("another scope is refused: %v", err)
		}
		time.Sleep(time.Hour + time.Second) // sleep: fake time
		if err := do("a", "4"); err != nil {
			t.Errorf("the next window: %v", err)
		}
	})
}

// A released key that is claimed again is not new.
func TestQuotaIgnoresRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, memstore.New(), &semel.Options{MaxNew: 2})
		for range 10 {
			mustClaim(t, k, nil).Release(t.Context())
		}
		if _, err := k.Do(t.Context(), semel.Key{Scope: key.Scope, ID: "second"}, work("")); err != nil {
			t.Error(err)
		}
	})
}

func TestQuotaForgetsScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, memstore.New(), nil)
		for i := range 3 * semel.MaxScopes {
			k.Count(strconv.Itoa(i))
			if _, n, _ := k.Kept(); n > semel.MaxScopes {
				t.Fatalf("%d scopes are counted", n)
			}
		}
		mustClaim(t, k, nil)
		if _, n, _ := k.Kept(); n > semel.MaxScopes {
			t.Fatalf("%d scopes are counted", n)
		}
	})
	k := newKeeper(t, memstore.New(), nil)
	mustClaim(t, k, nil)
	if _, n, _ := k.Kept(); n != 0 {
		t.Errorf("%d scopes are counted without a quota", n)
	}
}

// A scope with too much in doubt gets no new keys, marked or not, until some
// are settled; its known keys are answered.
func TestQuotaInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, memstore.New(), &semel.Options{MaxInDoubt: 2, BackOff: -1})
		known := semel.Key{Scope: "a", ID: "known"}
		k.Do(t.Context(), known, work("r"))
		doubt := func(i int) semel.Key { return semel.Key{Scope: "a", ID: strconv.Itoa(i)} }
		for i := range 3 {
			if _, err := k.DoWith(t.Context(), doubt(i), marked, failing(errWork)); !errors.Is(err, semel.ErrInDoubt) {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Second) // sleep: fake time
		var over *semel.QuotaError
		for _, o := range []*semel.ClaimOptions{nil, marked} {
			if _, err := k.DoWith(t.Context(), doubt(3), o, work("")); !errors.As(err, &over) || !over.InDoubt || over.Limit != 2 {
				t.Error(err)
			}
		}
		if out, err := k.Do(t.Context(), known, forbidden(t)); err != nil || !out.Replayed {
			t.Errorf("%+v, %v", out, err)
		}
		_, err := k.Do(t.Context(), doubt(0), forbidden(t))
		wantErr(t, err, semel.ErrInDoubt)
		if _, err := k.Do(t.Context(), semel.Key{Scope: "b", ID: "1"}, work("")); err != nil {
			t.Error(err)
		}
		if _, err := k.Settle(t.Context(), doubt(0), semel.Settlement{Happened: true}); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Second) // sleep: fake time
		if _, err := k.Do(t.Context(), doubt(3), work("")); err != nil {
			t.Errorf("after settling: %v", err)
		}
	})
}
