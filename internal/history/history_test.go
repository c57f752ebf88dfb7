package history

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules"
	"github.com/semel-dev/semel/internal/rulestore"
)

func run(t *testing.T, seed uint64, s *rulestore.Store) error {
	t.Helper()
	var r Recorder
	Load{Seed: seed, Workers: 8, Keys: 3, Steps: 80, Advance: s.Advance}.Run(t.Context(), Store{s, &r})
	return Check(r.Ops())
}

func TestRightStore(t *testing.T) {
	for seed := range uint64(5) {
		if err := run(t, seed, rulestore.New()); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// TestWrongStores runs stores that are wrong now and then: under load, the
// history must show it.
func TestWrongStores(t *testing.T) {
	every := func(n int, wrong func(row *rules.Row, req *semel.Request, now time.Time)) func(*rulestore.Rules) {
		return func(r *rulestore.Rules) {
			calls, right := 0, rules.Claim
			r.Claim = func(row rules.Row, high semel.Token, req *semel.Request, now time.Time) (rules.Row, semel.Answer) {
				if calls++; calls%n == 0 {
					wrong(&row, req, now)
				}
				return right(row, high, req, now)
			}
		}
	}
	for name, spoil := range map[string]func(*rulestore.Rules){
		"two holders": every(20, func(row *rules.Row, req *semel.Request, now time.Time) {
			if row.State == semel.Held {
				row.Until, req.Seen.Until = now, now
			}
		}),
		"forgets the record": every(20, func(row *rules.Row, req *semel.Request, _ time.Time) {
			*row, req.Seen = rules.Row{}, semel.Version{}
		}),
		"loses a completion": func(r *rulestore.Rules) {
			calls := 0
			r.Update = func(row rules.Row, token semel.Token, c *semel.Change, now time.Time) (rules.Row, semel.Record, error) {
				next, rec, err := rules.Update(row, token, c, now)
				if calls++; calls%20 == 0 && err == nil {
					return row, rec, nil
				}
				return next, rec, err
			}
		},
		"prunes what is held": func(r *rulestore.Rules) {
			r.Prunable = func(row *rules.Row, _ time.Time) bool { return row.State == semel.Held }
		},
		"a decision apart from its write": func(r *rulestore.Rules) {
			r.Between = runtime.Gosched
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(10) {
				s := rulestore.New()
				spoil(&s.Rules)
				if err := run(t, seed, s); err != nil {
					if !strings.Contains(err.Error(), "none of these can follow") {
						t.Errorf("the error does not say what is wrong: %v", err)
					}
					return
				}
			}
			t.Error("no history shows it")
		})
	}
}
