package model

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules"
)

// holds fails the test if the contract as it ships violates a property.
func holds(t *testing.T, v Variant, cfg *Config) Result {
	t.Helper()
	r := Explore(v, cfg, Goal{})
	for _, found := range r.Violations {
		t.Errorf("%s: %v", cfg.Name, found)
	}
	return r
}

// caught fails the test unless m breaks its property, and returns the trace.
// If m breaks several rules, each alone must not lead there as soon.
func caught(t *testing.T, m *Mutation) (Result, []string) {
	t.Helper()
	r := Explore(m.Variant(), &m.Config, Goal{Property: m.Property})
	for _, found := range r.Violations {
		if strings.HasPrefix(found.Property, m.Property) {
			eachIsNeeded(t, m, len(found.Trace))
			return r, found.Trace
		}
	}
	t.Errorf("%s: %d states of %q and no violation of %s", m.Name, r.States, m.Config.Name, m.Property)
	return r, nil
}

func eachIsNeeded(t *testing.T, m *Mutation, steps int) {
	t.Helper()
	for i := range m.Breaks {
		if len(m.Breaks) == 1 {
			return
		}
		fewer := Mutation{Breaks: slices.Delete(slices.Clone(m.Breaks), i, i+1)}
		r := Explore(fewer.Variant(), &m.Config, Goal{Property: m.Property, Steps: steps})
		for _, found := range r.Violations {
			if strings.HasPrefix(found.Property, m.Property) {
				t.Errorf("%s: one of them is enough: %v", m.Name, found)
			}
		}
	}
}

func TestContractHolds(t *testing.T) {
	for _, cfg := range Small() {
		t.Run(cfg.Name, func(t *testing.T) {
			t.Parallel()
			r := holds(t, Shipped(), &cfg)
			t.Logf("%d states, %d transitions", r.States, r.Transitions)
		})
	}
}

func TestEachRuleMatters(t *testing.T) {
	for _, m := range slices.Concat(Subtle(), Plain()) {
		if m.Large {
			continue // explored under the tag soak
		}
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			r, trace := caught(t, &m)
			t.Logf("%s after %d steps, %d states of %q", m.Property, len(trace), r.States, m.Config.Name)
		})
	}
}

// A trace is for people: this one says why an unanswered claim must be undone.
func TestTraceInWords(t *testing.T) {
	m := Mutation{Breaks: breaks(noUndo), Property: "S5", Config: settlingBlind}
	_, trace := caught(t, &m)
	want := []string{
		"A reads the record and sends its claim [t=1 absent]",
		"the store serves A's claim [t=1 held token=1 of A until=3 marked]",
		"A hears nothing of its claim in time [t=1 held token=1 of A until=3 marked]",
	}
	for i := range trace {
		trace[i] = strings.Join(strings.Fields(trace[i]), " ")
	}
	if !slices.Equal(trace, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(trace, "\n"), strings.Join(want, "\n"))
	}
}

// The model erases Attempts and Created from every row. That is right only if
// no rule reads them to decide anything else.
func TestRulesAreBlindToWhatIsErased(t *testing.T) {
	vary := func(r rules.Row) rules.Row {
		if r.Token != 0 {
			r.Attempts, r.Created = r.Attempts+7, instant(200)
		}
		return r
	}
	same := func(what string, rows ...rules.Row) {
		for i := range rows {
			erase(&rows[i])
		}
		if half := len(rows) / 2; !reflect.DeepEqual(rows[:half], rows[half:]) {
			t.Fatalf("%s depends on what the model erases:\n%+v\n%+v", what, rows[:half], rows[half:])
		}
	}
	v := Variant{Rules: Rules{
		Claim: func(r rules.Row, high semel.Token, req *semel.Request, now time.Time) (rules.Row, semel.Answer) {
			next, a := rules.Claim(r, high, req, now)
			other, b := rules.Claim(vary(r), high, req, now)
			same("Claim", next, rules.Row{Record: a.Record}, rules.Row{Record: a.Before},
				other, rules.Row{Record: b.Record}, rules.Row{Record: b.Before})
			if a.Won != b.Won || a.Again != b.Again {
				t.Fatal("Claim's verdict depends on what the model erases")
			}
			return next, a
		},
		Update: func(r rules.Row, token semel.Token, c *semel.Change, now time.Time) (rules.Row, semel.Record, error) {
			next, rec, err := rules.Update(r, token, c, now)
			other, rec2, err2 := rules.Update(vary(r), token, c, now)
			same("Update", next, rules.Row{Record: rec}, other, rules.Row{Record: rec2})
			if !errors.Is(err, err2) {
				t.Fatal("Update's verdict depends on what the model erases")
			}
			return next, rec, err
		},
		Prunable: func(r *rules.Row, now time.Time) bool {
			other := vary(*r)
			if rules.Prunable(r, now) != rules.Prunable(&other, now) {
				t.Fatal("Prunable depends on what the model erases")
			}
			return rules.Prunable(r, now)
		},
	}}
	for _, cfg := range []Config{markedTx, forgettingOnly, pruningMarked.lasting(2)} {
		holds(t, v, &cfg)
	}
}

func TestCompactLosesNothing(t *testing.T) {
	kept := row{state: uint8(semel.Held), token: 3, attempt: 1, recovered: true, marked: true, until: 5, keep: 2}
	if back := compact(kept.expand()); back != kept {
		t.Errorf("%+v came back as %+v", kept, back)
	}
	for name, spoil := range map[string]func(*rules.Row){
		"fingerprint":    func(r *rules.Row) { r.Fingerprint = []byte("f") },
		"text":           func(r *rules.Row) { r.Why = "because" },
		"note":           func(r *rules.Row) { r.Note = []byte("n") },
		"large token":    func(r *rules.Row) { r.Token = 256 },
		"finer time":     func(r *rules.Row) { r.Until = r.Until.Add(1) },
		"answering time": func(r *rules.Row) { r.Now = instant(1) },
		"attempt id":     func(r *rules.Row) { r.Attempt[15] = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			full := kept.expand()
			spoil(&full)
			defer func() {
				if recover() == nil {
					t.Errorf("a row with more than the bytes hold became %+v", compact(full))
				}
			}()
			compact(full)
		})
	}
}
