package model

import (
	"fmt"
	"hash/maphash"
	"strings"
	"time"
)

// Result is what one exploration found.
type Result struct {
	States, Transitions int
	Violations          []Violation // one for each text, in the order found
	Took                time.Duration
}

// Violation is a broken property with the shortest way to it, in words.
type Violation struct {
	Property string
	Trace    []string
}

// String returns the violation and its trace.
func (v Violation) String() string {
	return v.Property + "\n\t" + strings.Join(v.Trace, "\n\t")
}

// Goal says when an exploration may end early. The zero Goal never does.
type Goal struct {
	Property string // at the first violation of this property
	Steps    int    // after so many steps
}

// explorer walks breadth first. A visited state is remembered by its hash, and
// by its parent's: that is all that a trace needs.
type explorer struct {
	world  *world
	seed   maphash.Seed
	parent map[uint64]uint64
	next   []State
	found  map[violation]bool
	goal   Goal
	result Result
	done   bool
}

// Explore visits every state of cfg, or those up to the goal. It does not go
// on from a state that violates a property.
func Explore(v Variant, cfg *Config, goal Goal) Result {
	began := time.Now()
	e := &explorer{
		world:  newWorld(v, cfg),
		seed:   maphash.MakeSeed(),
		parent: map[uint64]uint64{},
		found:  map[violation]bool{},
		goal:   goal,
	}
	level := []State{initial(cfg)}
	e.parent[e.hash(&level[0])] = 0
	for steps := 0; len(level) > 0 && !e.done && (goal.Steps == 0 || steps < goal.Steps); steps++ {
		e.walk(level)
		level, e.next = e.next, level[:0]
	}
	e.result.States, e.result.Took = len(e.parent), time.Since(began)
	return e.result
}

func (e *explorer) hash(s *State) uint64 { return maphash.Comparable(e.seed, *s) }

// walk visits the successors of every state of one level.
func (e *explorer) walk(level []State) {
	for i := range level {
		from := e.hash(&level[i])
		e.world.visit = func(st step, n *State, v violation) { e.arrive(from, st, n, v) }
		e.world.successors(&level[i])
		if e.done {
			return
		}
	}
}

// arrive takes note of a step from the state with hash from to n.
func (e *explorer) arrive(from uint64, st step, n *State, v violation) {
	e.result.Transitions++
	if v != "" {
		if !e.found[v] {
			e.found[v] = true
			trace := append(e.trace(from), line(st, n))
			e.result.Violations = append(e.result.Violations, Violation{string(v), trace})
		}
		e.done = e.done || e.goal.Property != "" && strings.HasPrefix(string(v), e.goal.Property)
		return
	}
	h := e.hash(n)
	if _, known := e.parent[h]; !known {
		e.parent[h] = from
		e.next = append(e.next, *n)
	}
}

// trace walks from the initial state to the one with hash h once more and
// writes down the steps.
func (e *explorer) trace(h uint64) []string {
	var path []uint64 // from the end, without the initial state
	for ; e.parent[h] != 0; h = e.parent[h] {
		path = append(path, h)
	}
	walker := *e.world
	s := initial(walker.cfg)
	var lines []string
	for i := len(path) - 1; i >= 0; i-- {
		var reached *State
		walker.visit = func(st step, n *State, v violation) {
			if reached == nil && v == "" && e.hash(n) == path[i] {
				reached = new(*n)
				lines = append(lines, line(st, n))
			}
		}
		walker.successors(&s)
		s = *reached
	}
	return lines
}

func line(st step, n *State) string { return fmt.Sprintf("%-55s [%v]", st, n) }
