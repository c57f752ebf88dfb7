package semel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/memstore"
)

// cell is one run of the transition table: a store with one record in one
// state, and what the request needs to know of it.
type cell struct {
	s   *memstore.Store
	rec semel.Record
}

const (
	tableLease  = time.Minute
	tableKeep   = 24 * time.Hour
	tableWindow = time.Hour
)

func (c *cell) claim(note []byte, recovering bool) semel.Answer {
	a, err := c.s.Claim(context.Background(), semel.Request{
		Key: key, Attempt: semel.NewAttemptID(), Seen: c.rec.Version(),
		Lease: tableLease, Keep: tableKeep, Note: note, Recover: recovering,
	})
	if err != nil {
		panic(err)
	}
	return a
}

func (c *cell) update(ch semel.Change) (semel.Record, error) {
	return c.s.Update(context.Background(), key, max(c.rec.Token, 1), ch)
}

// lead takes the record from absent to where f leaves it.
func (c *cell) lead(f func()) {
	c.rec = c.claim(nil, false).Record
	f()
	c.rec, _ = c.s.Get(context.Background(), key)
}

var (
	renew    = semel.Change{From: semel.Held, To: semel.Held, For: tableLease}
	mark     = semel.Change{From: semel.Held, To: semel.Held, For: tableLease, Note: []byte("n")}
	doubt    = semel.Change{From: semel.Held, To: semel.Held}
	doubt2   = semel.Change{From: semel.Held, To: semel.Held, Note: []byte("n")}
	complete = semel.Change{From: semel.Held, To: semel.Done, For: tableWindow}
	dead     = semel.Change{From: semel.Held, To: semel.Dead, For: tableWindow}
	release  = semel.Change{From: semel.Held, To: semel.Free, For: tableKeep}
	backOff  = semel.Change{From: semel.Held, To: semel.Free, For: tableKeep, After: time.Hour}
	forget   = semel.Change{From: semel.Done, To: semel.Free, For: tableKeep}
	forget2  = semel.Change{From: semel.Dead, To: semel.Free, For: tableKeep}
)

// tableStates lead a fresh store into each state of the table.
var tableStates = map[string]func(*cell){
	"absent":    func(*cell) {},
	"free":      func(c *cell) { c.lead(func() { c.update(release) }) },
	"backing":   func(c *cell) { c.lead(func() { c.update(backOff) }) },
	"forgotten": func(c *cell) { c.lead(func() { c.update(complete); c.update(forget) }) },
	"held":      func(c *cell) { c.lead(func() {}) },
	"marked":    func(c *cell) { c.lead(func() { c.update(mark) }) },
	"lapsed":    func(c *cell) { c.lead(func() { time.Sleep(tableLease) }) },                 // sleep: fake time
	"in-doubt":  func(c *cell) { c.lead(func() { c.update(mark); time.Sleep(tableLease) }) }, // sleep: fake time
	"doubted":   func(c *cell) { c.lead(func() { c.update(doubt2) }) },
	"recovered": func(c *cell) { c.lead(func() { c.update(doubt2); c.take() }) },
	"done":      func(c *cell) { c.lead(func() { c.update(complete) }) },
	"dead":      func(c *cell) { c.lead(func() { c.update(dead) }) },
	"expired":   func(c *cell) { c.lead(func() { c.update(complete); time.Sleep(tableWindow) }) }, // sleep: fake time
}

func (c *cell) take() {
	c.rec, _ = c.s.Get(context.Background(), key)
	c.claim(nil, true)
}

// tableRequests carry out each request of the table and return the answer.
var tableRequests = map[string]func(*cell) string{
	"claim":    func(c *cell) string { return won(c.claim(nil, false)) },
	"+note":    func(c *cell) string { return won(c.claim([]byte("n"), false)) },
	"recover":  func(c *cell) string { return won(c.claim(nil, true)) },
	"again":    func(c *cell) string { return won(c.resend(c.rec.Attempt, c.rec.Version())) },
	"stale":    func(c *cell) string { return won(c.resend(semel.NewAttemptID(), c.older())) },
	"renew":    func(c *cell) string { return applied(c.update(renew)) },
	"mark":     func(c *cell) string { return applied(c.update(mark)) },
	"doubt":    func(c *cell) string { return applied(c.update(doubt)) },
	"doubt+n":  func(c *cell) string { return applied(c.update(doubt2)) },
	"complete": func(c *cell) string { return applied(c.update(complete)) },
	"dead":     func(c *cell) string { return applied(c.update(dead)) },
	"release":  func(c *cell) string { return applied(c.update(release)) },
	"forget":   func(c *cell) string { return applied(c.forget()) },
	"stranger": func(c *cell) string { c.rec.Token--; return applied(c.update(complete)) },
}

func (c *cell) resend(id semel.AttemptID, seen semel.Version) semel.Answer {
	if id == (semel.AttemptID{}) { // absent: nobody has held it
		id = semel.NewAttemptID()
	}
	a, err := c.s.Claim(context.Background(), semel.Request{Key: key, Attempt: id, Seen: seen, Lease: tableLease, Keep: tableKeep})
	if err != nil {
		panic(err)
	}
	return a
}

// older is a version that does not stand: the one before the first record, or
// some record where there is none.
func (c *cell) older() semel.Version {
	if c.rec.Token == 0 {
		return semel.Version{Token: 7}
	}
	return semel.Version{}
}

func (c *cell) forget() (semel.Record, error) {
	if c.rec.State == semel.Dead {
		return c.update(forget2)
	}
	return c.update(forget)
}

func won(a semel.Answer) string {
	switch {
	case a.Again:
		return "again"
	case a.Won:
		return "won"
	}
	return "no"
}

func applied(_ semel.Record, err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, semel.ErrLost):
		return "lost"
	}
	return err.Error()
}

// tableState names what stands, as the table does.
func tableState(rec *semel.Record, err error) string {
	switch {
	case err != nil:
		return "absent"
	case rec.Expired():
		return "expired"
	case rec.State == semel.Done:
		return "done"
	case rec.State == semel.Dead:
		return "dead"
	case rec.State == semel.Free && rec.Generation > 0:
		return "forgotten"
	case rec.State == semel.Free && !rec.Claimable(false):
		return "backing"
	case rec.State == semel.Free:
		return "free"
	case rec.Doubted:
		return "doubted"
	case rec.InDoubt():
		return "in-doubt"
	case rec.Lapsed():
		return "lapsed"
	case rec.Recovered:
		return "recovered"
	case rec.Note != nil:
		return "marked"
	}
	return "held"
}

func runCell(state, request string) string {
	c := &cell{s: memstore.New()}
	tableStates[state](c)
	rec, err := c.s.Get(context.Background(), key)
	if got := tableState(&rec, err); got != state {
		return fmt.Sprintf("(the test made %s)", got)
	}
	answer := tableRequests[request](c)
	rec, err = c.s.Get(context.Background(), key)
	return answer + " " + tableState(&rec, err)
}

// TestTransitionTable runs every cell of the table in doc.go against the
// reference store. A state or a request without a cell is an error.
func TestTransitionTable(t *testing.T) {
	table := readTable(t)
	for state := range tableStates {
		for request := range tableRequests {
			want, ok := table[state][request]
			if !ok {
				t.Errorf("doc.go says nothing of %q in state %q", request, state)
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				if got := runCell(state, request); got != want {
					t.Errorf("%s in state %s: %s, doc.go says %s", request, state, got, want)
				}
			})
		}
	}
	for state, row := range table {
		if tableStates[state] == nil {
			t.Errorf("doc.go has an unknown state %q", state)
		}
		for request := range row {
			if tableRequests[request] == nil {
				t.Errorf("doc.go has an unknown request %q", request)
			}
		}
	}
}

// readTable finds the tables of doc.go: a line that begins with "state" names
// the requests, each line after it a state and its cells. A cell is an answer,
// or an answer, an arrow and the state after it; without one the state stays.
func readTable(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]map[string]string{}
	var requests []string
	for line := range bytes.Lines(text) {
		fields := strings.Fields(strings.TrimPrefix(string(line), "//"))
		switch {
		case len(fields) == 0 || !strings.HasPrefix(string(line), "//\t"):
			requests = nil
		case fields[0] == "state":
			requests = fields[1:]
		case requests != nil && len(fields) != len(requests)+1:
			t.Errorf("doc.go: row %q has not %d cells", fields, len(requests))
		case requests != nil:
			state := fields[0]
			if table[state] == nil {
				table[state] = map[string]string{}
			}
			for i, c := range fields[1:] {
				answer, after, moves := strings.Cut(c, "→")
				if !moves {
					after = state
				}
				if _, twice := table[state][requests[i]]; twice {
					t.Errorf("doc.go: two cells for %q in state %q", requests[i], state)
				}
				table[state][requests[i]] = answer + " " + after
			}
		}
	}
	if len(table) == 0 {
		t.Fatal("doc.go has no table")
	}
	return table
}
