package model

import (
	"fmt"
	"reflect"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules"
)

// row is a rules.Row in bytes, so that states are small and comparable: what
// the store keeps of the one key. The zero row is absent. Times are ticks of
// the store's clock, which begins at 1; 0 is no time.
type row struct {
	state, token, generation   uint8
	attempt                    uint8 // claimer + 1
	doubted, recovered, marked bool
	until, notBefore, keep     uint8
	result                     uint8 // claimer + 1
	from                       uint8
}

// version is a semel.Version in bytes.
type version struct {
	token, state, until uint8
	doubted             bool
}

var (
	theKey  = semel.Key{Scope: "model", ID: "key"}
	theNote = []byte{}
	results = [...][]byte{nil, {1}, {2}, {3}, {4}}
)

// Facts that no rule reads are the same in every row, or each of them would
// multiply the states; a test shows that no rule reads them.
const theAttempts = 1

var theCreation = instant(1)

// instant makes a time of a tick. A tick is a microsecond: tokens, which
// follow the clock in microseconds, stay as small as the ticks.
func instant(tick uint8) time.Time {
	if tick == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(tick))
}

func ticks(n uint8) time.Duration { return time.Duration(n) * time.Microsecond }

// tick is the inverse of instant.
func tick(t time.Time) uint8 {
	if t.IsZero() {
		return 0
	}
	return small(t.UnixMicro())
}

func small[T ~int | ~int64](n T) uint8 {
	if n < 0 || n > 255 {
		panic(fmt.Sprintf("model: %d does not fit a byte", n))
	}
	return uint8(n)
}

func attemptID(n uint8) semel.AttemptID { return semel.AttemptID{n} }

func (v version) expand() semel.Version {
	return semel.Version{
		Token:   semel.Token(v.token),
		State:   semel.State(v.state),
		Doubted: v.doubted,
		Until:   instant(v.until),
	}
}

func (r *row) version() version {
	if r.token == 0 {
		return version{}
	}
	return version{r.token, r.state, r.until, r.doubted}
}

// expand returns the row that r stands for.
func (r *row) expand() rules.Row {
	if r.token == 0 {
		return rules.Row{}
	}
	full := rules.Row{From: semel.State(r.from), Keep: ticks(r.keep), Record: semel.Record{
		Key:        theKey,
		State:      semel.State(r.state),
		Token:      semel.Token(r.token),
		Attempts:   theAttempts,
		Generation: int(r.generation),
		Attempt:    attemptID(r.attempt),
		Doubted:    r.doubted,
		Recovered:  r.recovered,
		Created:    theCreation,
		Until:      instant(r.until),
		NotBefore:  instant(r.notBefore),
		Result:     results[r.result],
		Size:       int64(len(results[r.result])),
	}}
	if r.marked {
		full.Note = theNote
	}
	return full
}

// compact is the inverse of expand. It panics if r holds anything that the
// bytes do not: the model would explore something else than the rules.
func compact(r rules.Row) row {
	erase(&r)
	c := row{
		state:      uint8(r.State),
		token:      small(int64(r.Token)),
		generation: small(r.Generation),
		attempt:    r.Attempt[0],
		doubted:    r.Doubted,
		recovered:  r.Recovered,
		marked:     r.Note != nil,
		until:      tick(r.Until),
		notBefore:  tick(r.NotBefore),
		keep:       small(r.Keep.Microseconds()),
		from:       uint8(r.From),
	}
	if r.Result != nil {
		c.result = r.Result[0]
	}
	if back := c.expand(); !reflect.DeepEqual(back, r) {
		panic(fmt.Sprintf("model: a row was lost on the way into bytes:\n%+v\nbecame\n%+v", r, back))
	}
	return c
}

// erase removes from r what no rule reads.
func erase(r *rules.Row) {
	if r.Token != 0 {
		r.Attempts, r.Created = theAttempts, theCreation
	}
}

// The properties judge rows by these definitions of their own, not by those of
// the rules that they hold to account.

func (r *row) is(s semel.State) bool { return r.token != 0 && r.state == uint8(s) }

func (r *row) final() bool { return r.is(semel.Done) || r.is(semel.Dead) }

func (r *row) inDoubt(now uint8) bool { return r.is(semel.Held) && r.marked && now >= r.until }
