package storetest

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rulestore"
	"github.com/semel-dev/semel/storetest/internal/broken"
)

// recorder is a testing.TB whose failures are only remembered.
type recorder struct {
	testing.TB
	mu     sync.Mutex
	failed bool
	text   string
}

func (r *recorder) Fail() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) log(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text += text + "\n"
}

func (r *recorder) Helper()                         {}
func (r *recorder) FailNow()                        { r.Fail(); runtime.Goexit() }
func (r *recorder) Log(args ...any)                 { r.log(fmt.Sprint(args...)) }
func (r *recorder) Logf(format string, args ...any) { r.log(fmt.Sprintf(format, args...)) }
func (r *recorder) Error(args ...any)               { r.Log(args...); r.Fail() }
func (r *recorder) Fatal(args ...any)               { r.Log(args...); r.FailNow() }
func (r *recorder) Errorf(f string, args ...any)    { r.Logf(f, args...); r.Fail() }
func (r *recorder) Fatalf(f string, args ...any)    { r.Logf(f, args...); r.FailNow() }

// harness opens stores of package rulestore.
func harness(open func() *rulestore.Store) Harness {
	return Harness{
		Open: func(testing.TB) semel.Store { return open() },
		Reopen: func(_ testing.TB, s semel.Store) semel.Store {
			s.(*rulestore.Store).Rules.Reopen(s.(*rulestore.Store))
			return s
		},
		Advance: func(_ testing.TB, s semel.Store, d time.Duration) { s.(*rulestore.Store).Advance(d) },
	}
}

// failures runs a case and returns what it complained of, or "".
func failures(t *testing.T, c testCase, h Harness) string {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() { // of its own, because a fatal failure ends its goroutine
		defer close(done)
		c.run(&env{TB: r, h: h, s: h.Open(r)})
	}()
	<-done
	if r.failed {
		return "failed: " + r.text
	}
	return ""
}

func TestRightStore(t *testing.T) { Run(t, harness(rulestore.New)) }

// ruleCases are the cases that hold one rule each. The reported, random and
// concurrent cases overlap with them by their nature.
func ruleCases() []testCase {
	return slices.DeleteFunc(cases(), func(c testCase) bool {
		kind, _, _ := strings.Cut(c.name, ":")
		return kind == "race" || kind == "random" || kind[0] == 'C'
	})
}

// TestBrokenStores holds every broken store against every rule, and expects
// just the complaints that the store's entry names.
func TestBrokenStores(t *testing.T) {
	for _, b := range broken.Stores {
		t.Run(b.Name, func(t *testing.T) {
			missed := slices.Clone(b.Catches)
			for _, c := range ruleCases() {
				text := failures(t, c, harness(b.Open))
				if text != "" && !b.Coarse && !slices.Contains(b.Catches, c.name) {
					t.Errorf("%q also notices:\n%s", c.name, text)
				}
				if text != "" {
					missed = slices.DeleteFunc(missed, func(name string) bool { return name == c.name })
				}
			}
			for _, name := range missed {
				t.Errorf("%q does not notice", name)
			}
			if len(b.Catches) == 0 {
				t.Error("no case is named that notices")
			}
		})
	}
}

// TestRandomCatches holds the random program against every broken store whose
// fault its answers can show.
func TestRandomCatches(t *testing.T) {
	missed := 0
	for _, b := range broken.Stores {
		if failures(t, randomCases[0], harness(b.Open)) == "" {
			t.Logf("the random program does not notice that a store %s", b.Name)
			missed++
		}
	}
	if missed > len(broken.Stores)/6 {
		t.Errorf("the random program misses %d of %d faults", missed, len(broken.Stores))
	}
}

// TestEveryRuleIsHeld fails for a rule that no broken store breaks.
func TestEveryRuleIsHeld(t *testing.T) {
	optional := func(c testCase) bool { // not part of package rulestore
		return slices.ContainsFunc(abilityCases, func(a testCase) bool { return a.name == c.name })
	}
	for _, c := range slices.DeleteFunc(ruleCases(), optional) {
		if !slices.ContainsFunc(broken.Stores, func(b broken.Store) bool { return slices.Contains(b.Catches, c.name) }) {
			t.Errorf("no broken store shows that %q notices anything", c.name)
		}
	}
}
