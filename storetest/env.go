package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/semel-dev/semel"
)

// The durations of the cases. They lie so far apart that no case depends on
// how long it takes.
const (
	lease  = time.Hour
	window = 100 * time.Hour
	memory = 40 * time.Hour // how long a released record counts
	keep   = 10 * time.Hour
	margin = time.Minute // shorter than any of them, longer than a case
)

// env is what a case works with: a fresh store, and helpers that end the case
// when the store does something else than the case is built on.
type env struct {
	testing.TB
	h Harness
	s semel.Store
}

func key(id string) semel.Key { return semel.Key{Scope: "storetest", ID: id} }

// request returns a claim by a new attempt that saw nothing.
func request(id string, with ...func(*semel.Request)) semel.Request {
	req := semel.Request{Key: key(id), Attempt: semel.NewAttemptID(), Lease: lease, Keep: keep}
	for _, f := range with {
		f(&req)
	}
	return req
}

func marked(note string) func(*semel.Request) {
	return func(req *semel.Request) { req.Note = []byte(note) }
}

func fingerprint(text string) func(*semel.Request) {
	return func(req *semel.Request) { req.Fingerprint = []byte(text) }
}

func seeing(v semel.Version) func(*semel.Request) {
	return func(req *semel.Request) { req.Seen = v }
}

func recovering(req *semel.Request) { req.Recover = true }

func (e *env) advance(d time.Duration) {
	e.Helper()
	e.h.Advance(e, e.s, d)
}

func (e *env) claim(req semel.Request) semel.Answer {
	e.Helper()
	answer, err := e.s.Claim(e.Context(), req)
	if err != nil {
		e.Fatalf("claim of %q: %v", req.Key.ID, err)
	}
	return answer
}

// attempt claims by a new attempt that saw the record as it stands.
func (e *env) attempt(id string, with ...func(*semel.Request)) semel.Answer {
	e.Helper()
	req := request(id, with...)
	rec, err := e.s.Get(e.Context(), req.Key)
	if err != nil && !errors.Is(err, semel.ErrNotFound) {
		e.Fatalf("get of %q: %v", id, err)
	}
	req.Seen = rec.Version()
	return e.claim(req)
}

// win is an attempt that must win.
func (e *env) win(id string, with ...func(*semel.Request)) semel.Record {
	e.Helper()
	answer := e.attempt(id, with...)
	if !answer.Won || answer.Again {
		e.Fatalf("a new attempt at %q: won %v, again %v, want a new win; stands %+v", id, answer.Won, answer.Again, answer.Record)
	}
	return answer.Record
}

// refuse is an attempt that must not win.
func (e *env) refuse(id string, with ...func(*semel.Request)) semel.Record {
	e.Helper()
	answer := e.attempt(id, with...)
	if answer.Won {
		e.Fatalf("a new attempt at %q won, want it refused; it replaced %+v", id, answer.Before)
	}
	return answer.Record
}

// change is an update that must apply, or must have been applied.
func (e *env) change(rec semel.Record, c semel.Change) semel.Record {
	e.Helper()
	got, err := e.s.Update(e.Context(), rec.Key, rec.Token, c)
	if err != nil {
		e.Fatalf("%v to %v of %q: %v", c.From, c.To, rec.Key.ID, err)
	}
	return got
}

// lose is an update that must be lost and change nothing. It returns the
// record that came with the error.
func (e *env) lose(rec semel.Record, c semel.Change) semel.Record {
	e.Helper()
	before := e.get(rec.Key.ID)
	got, err := e.s.Update(e.Context(), rec.Key, rec.Token, c)
	if !errors.Is(err, semel.ErrLost) {
		e.Fatalf("%v to %v of %q: error %v, want ErrLost", c.From, c.To, rec.Key.ID, err)
	}
	e.stands(before)
	return got
}

func (e *env) get(id string) semel.Record {
	e.Helper()
	rec, err := e.s.Get(e.Context(), key(id))
	if err != nil {
		e.Fatalf("get of %q: %v", id, err)
	}
	return rec
}

// inDoubt, expired and version look at the record as it stands.
func (e *env) inDoubt(id string) bool {
	rec := e.get(id)
	return rec.InDoubt()
}

func (e *env) expired(id string) bool {
	rec := e.get(id)
	return rec.Expired()
}

func (e *env) version(id string) semel.Version {
	rec := e.get(id)
	return rec.Version()
}

func (e *env) gone(id string) bool {
	e.Helper()
	_, err := e.s.Get(e.Context(), key(id))
	if err != nil && !errors.Is(err, semel.ErrNotFound) {
		e.Fatalf("get of %q: %v", id, err)
	}
	return err != nil
}

// stands fails the case unless the store still has the record as it was.
func (e *env) stands(was semel.Record) {
	e.Helper()
	rec, err := e.s.Get(e.Context(), was.Key)
	if err != nil {
		e.Fatalf("get of %q: %v", was.Key.ID, err)
	}
	if d := diff(rec, was); d != "" {
		e.Errorf("the record of %q changed:%s", was.Key.ID, d)
	}
}

func (e *env) prune(limit int) semel.Pruned {
	e.Helper()
	p, err := e.s.Prune(e.Context(), limit)
	if err != nil {
		e.Fatalf("prune: %v", err)
	}
	return p
}

// equal fails the case unless got is want.
func equal[T comparable](e *env, what string, got, want T) {
	e.Helper()
	if got != want {
		e.Errorf("%s is %v, want %v", what, got, want)
	}
}

// instant fails the case unless got and want are the same instant.
func (e *env) instant(what string, got, want time.Time) {
	e.Helper()
	if !got.Equal(want) {
		e.Errorf("%s is %v, want %v (off by %v)", what, got, want, got.Sub(want))
	}
}

// text fails the case unless got is exactly want, nil where want is nil.
func (e *env) text(what string, got, want []byte) {
	e.Helper()
	if !sameBytes(got, want) {
		e.Errorf("%s is %s, want %s", what, showBytes(got), showBytes(want))
	}
}

// cancelled returns a context that is over.
func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
