//go:build soak

package model

import (
	"slices"
	"testing"
)

// TestContractHoldsInFull prints what it explored as a table.
func TestContractHoldsInFull(t *testing.T) {
	t.Logf("%-44s %10s %12s %10s", "configuration", "states", "transitions", "seconds")
	for _, cfg := range Full() {
		r := holds(t, Shipped(), &cfg)
		t.Logf("%-44s %10d %12d %10.1f", cfg.Name, r.States, r.Transitions, r.Took.Seconds())
	}
}

// TestEachRuleMattersInFull prints each broken rule with the shortest way to
// the violation, the large ones included.
func TestEachRuleMattersInFull(t *testing.T) {
	for _, m := range slices.Concat(Subtle(), Plain()) {
		r, trace := caught(t, &m)
		t.Logf("%s: %s after %d steps, %d states of %q", m.Name, m.Property, len(trace), r.States, m.Config.Name)
		for _, line := range trace {
			t.Log("    " + line)
		}
	}
}

// TestCoveredRules fails when a rule that others make up for begins to matter
// on its own: then it belongs into another table.
func TestCoveredRules(t *testing.T) {
	for _, m := range Covered() {
		for _, cfg := range append(Small(), pruningThree) {
			for _, found := range Explore(m.Variant(), &cfg, Goal{}).Violations {
				t.Errorf("%s, %s: %v", m.Name, cfg.Name, found)
			}
		}
	}
}
