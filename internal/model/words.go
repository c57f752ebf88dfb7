package model

import (
	"fmt"

	"github.com/semel-dev/semel"
)

// step is one thing that happens.
type step struct {
	kind    stepKind
	claimer uint8
	op      operation
}

type stepKind uint8

const (
	clockTicks stepKind = iota
	starts
	sends
	storeServes
	storeServesCopy
	hears
	losesPatience
	callerLeaves
	crashes
	startsEffect
	effectHappens
	effectFails
	givesUpWaiting
	undoes
	pruneSelects
	pruneDeletes
	beginsTx
	commits
	rollsBack
)

// stepWords says each step in words: %[1]s is the claimer, %[2]s its request.
var stepWords = [...]string{
	clockTicks:      "the clock ticks",
	starts:          "%[1]s reads the record and sends its %[2]s",
	sends:           "%[1]s sends %[2]s",
	storeServes:     "the store serves %[1]s's %[2]s",
	storeServesCopy: "the store serves %[1]s's %[2]s, a copy stays in the network",
	hears:           "%[1]s hears the answer to its %[2]s",
	losesPatience:   "%[1]s hears nothing of its %[2]s in time",
	callerLeaves:    "%[1]s's caller leaves",
	crashes:         "%[1]s crashes",
	startsEffect:    "%[1]s starts its effect",
	effectHappens:   "%[1]s's effect happens",
	effectFails:     "%[1]s's effect does not happen",
	givesUpWaiting:  "%[1]s no longer waits for a late answer",
	undoes:          "%[1]s has no answer and no copy lives: it reads, and gives back what is its own",
	pruneSelects:    "prune selects the record",
	pruneDeletes:    "prune's delete runs",
	beginsTx:        "%[1]s claims the key in its transaction",
	commits:         "%[1]s commits",
	rollsBack:       "%[1]s rolls back",
}

var opWords = [...]string{"nothing", "claim", "renewal", "mark", "completion", "release", "doubt", "forget"}

func name(claimer uint8) string { return string(rune('A' + claimer)) }

func (st step) String() string {
	words := stepWords[st.kind]
	switch st.kind {
	case clockTicks, pruneSelects, pruneDeletes:
		return words
	}
	// Not every text names the request: an unused argument is no mistake here.
	return fmt.Sprintf(words+"%.0[1]s%.0[2]s", name(st.claimer), opWords[st.op])
}

// String describes the record and the clock.
func (s *State) String() string {
	r := &s.row
	if r.token == 0 {
		return fmt.Sprintf("t=%d absent", s.now)
	}
	text := fmt.Sprintf("t=%d %v token=%d of %s until=%d", s.now, semel.State(r.state), r.token, name(r.attempt-1), r.until)
	for _, flag := range []struct {
		set  bool
		name string
	}{{r.marked, " marked"}, {r.doubted, " doubted"}, {r.recovered, " recovered"}, {s.txOwner != 0, ", transaction open"}} {
		if flag.set {
			text += flag.name
		}
	}
	return text
}
