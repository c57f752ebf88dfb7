// Package storetest checks that a store keeps the contract of [semel.Store].
//
// Every rule that a store decides is a case of its own, named after the rule.
// A seeded random program then compares every answer, field by field, with the
// rules run beside the store, and concurrent runs are recorded and judged
// afterwards. A store that passes may be handed to a Keeper.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Harness{Open: open, Reopen: reopen, Advance: advance})
//	}
//
// Optional abilities ([semel.Lister], [semel.Statser], [semel.Waiter],
// [semel.Pinger]) are found by type assertion and checked where they are.
package storetest

import (
	"testing"
	"time"

	"github.com/semel-dev/semel"
)

// Harness lets the cases handle a store. Its functions report failures through
// t.
type Harness struct {
	// Open returns an empty store that no other case uses, and closes it in
	// t.Cleanup. It is required.
	Open func(t testing.TB) semel.Store
	// Reopen closes s and returns a store that opened the same data. Nil means
	// that nothing survives a store: the cases about survival are left out.
	Reopen func(t testing.TB, s semel.Store) semel.Store
	// Advance moves the clock of s forward by d, which is a whole number of
	// milliseconds. It may be called while other goroutines use s. The clock
	// also runs by itself; that it is off by as much as a test takes does no
	// harm. It is required.
	Advance func(t testing.TB, s semel.Store, d time.Duration)
}

// Run checks the stores that h opens, each case as a subtest with a fresh one.
func Run(t *testing.T, h Harness) {
	t.Helper()
	for _, c := range cases() {
		if c.survives && h.Reopen == nil {
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.run(&env{TB: t, h: h, s: h.Open(t)}) })
	}
}

// testCase is one rule, or one report from the field.
type testCase struct {
	name     string
	run      func(e *env)
	survives bool // needs Harness.Reopen
}

// cases returns every case, in the order of the contract.
func cases() []testCase {
	var all []testCase
	for _, group := range [][]testCase{
		validCases, claimCases, versionCases, takeoverCases, againCases, updateCases, doubtCases,
		endCases, timeCases, tokenCases, pruneCases, exactCases, abilityCases, reportCases,
		randomCases, raceCases,
	} {
		all = append(all, group...)
	}
	return all
}
