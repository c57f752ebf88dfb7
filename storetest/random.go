package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules"
)

var randomCases = []testCase{
	{name: "random: every answer of a random program is the one of the rules", run: random},
}

// random runs programs that differ by their seed. A failure names its seed.
func random(e *env) {
	for seed := range uint64(8) {
		p := program{env: e, seed: seed, rand: rand.New(rand.NewPCG(seed, 1)), rows: map[semel.Key]rules.Row{}}
		for p.step = range 150 {
			if e.Failed() {
				return
			}
			p.run()
		}
		e.advance(time.Hour) // everything ends, and the next program begins with nothing
		e.prune(1 << 20)
	}
}

// program drives the store and the rules side by side. The rules are given the
// time at which the store says that it answered.
type program struct {
	*env
	seed  uint64
	step  int
	rand  *rand.Rand
	rows  map[semel.Key]rules.Row
	known []semel.Version // versions seen so far: stale ones are asked for again
	sent  []semel.Request // claims sent so far: copies arrive again
	held  []semel.Record  // leases won so far: old holders come back
}

func pick[T any](p *program, all ...T) T { return all[p.rand.IntN(len(all))] }

// duration picks one that, with the others, rarely falls on a boundary.
func (p *program) duration() time.Duration {
	return time.Duration(pick(p, 7, 11, 31, 101, 1009))*time.Second + time.Millisecond
}

func (p *program) bytes() []byte { return pick(p, nil, []byte{}, []byte("a"), []byte("b\x00\xff")) }

func (p *program) run() {
	p.Helper()
	switch p.rand.IntN(10) {
	case 0, 1, 2, 3:
		p.claims()
	case 4, 5, 6:
		p.updates()
	case 7:
		p.advance(p.duration())
		for k := range p.rows {
			p.reads(k)
		}
	case 8:
		p.prunes()
	case 9:
		p.reads(p.key())
	}
}

func (p *program) key() semel.Key { return key(fmt.Sprint(p.seed, pick(p, "a", "b", "c"))) }

func (p *program) claims() {
	p.Helper()
	req := p.request()
	p.sent = append(p.sent, req)
	got := p.claim(req)
	now, row := got.Record.Now, p.rows[req.Key]
	next, want := rules.Claim(row, 0, &req, now)
	if got.Won && want.Won && !want.Again && row.Token == 0 && got.Record.Token > want.Record.Token {
		// A pruned record's token may be higher than the clock.
		next.Token, want.Record.Token = got.Record.Token, got.Record.Token
	}
	p.check(fmt.Sprintf("claim %+v", req), got.Record, want.Record)
	if got.Won != want.Won || got.Again != want.Again || got.Before.Now.IsZero() != want.Before.Now.IsZero() {
		p.Errorf("seed %d, step %d: claim %+v of %+v: got %+v, want %+v", p.seed, p.step, req, row, got, want)
	}
	p.check("Before", got.Before, want.Before)
	p.rows[req.Key] = next
	p.known = append(p.known, got.Record.Version())
	if got.Won {
		p.held = append(p.held, got.Record)
	}
}

// request makes a claim: mostly by a new attempt that saw what stands, at times
// one that saw something else, and at times a copy of an earlier one.
func (p *program) request() semel.Request {
	if len(p.sent) > 0 && p.rand.IntN(4) == 0 {
		return pick(p, p.sent[max(0, len(p.sent)-6):]...)
	}
	req := semel.Request{
		Key: p.key(), Attempt: semel.NewAttemptID(), Lease: p.duration(), Keep: p.duration(),
		Note: p.bytes(), Recover: pick(p, true, false), Fingerprint: p.bytes(),
		Source: pick(p, "", semel.Webhook), By: pick(p, "", "x"),
	}
	row := p.rows[req.Key]
	req.Seen = row.Version()
	switch v := &req.Seen; p.rand.IntN(12) {
	case 0, 1:
		if len(p.known) > 0 {
			*v = pick(p, p.known...)
		}
	case 2:
		v.Token += pick[semel.Token](p, -1, 1)
	case 3:
		v.State = pick(p, semel.Free, semel.Held, semel.Done, semel.Dead)
	case 4:
		v.Doubted = !v.Doubted
	case 5:
		v.Until = v.Until.Add(pick(p, -time.Microsecond, time.Microsecond))
	}
	return req
}

func (p *program) updates() {
	p.Helper()
	if len(p.held) == 0 {
		return
	}
	rec := p.held[len(p.held)-1-p.rand.IntN(min(len(p.held), 4))]
	c := p.anyChange()
	if c.Check() != nil {
		return
	}
	got, err := p.s.Update(p.Context(), rec.Key, rec.Token, c)
	next, want, wantErr := rules.Update(p.rows[rec.Key], rec.Token, &c, got.Now)
	if !errors.Is(err, wantErr) {
		p.Fatalf("seed %d, step %d: update %+v of %+v: error %v, want %v", p.seed, p.step, c, p.rows[rec.Key], err, wantErr)
	}
	p.check(fmt.Sprintf("update %+v", c), got, want)
	p.rows[rec.Key] = next
	p.known = append(p.known, got.Version())
}

func (p *program) anyChange() semel.Change {
	c := pick(p, everyChange()...)
	if !c.Doubts() {
		c.For = p.duration()
	}
	c.Note, c.Result = p.bytes(), p.bytes()
	c.ResultFor, c.After = pick(p, 0, p.duration()), pick(p, 0, p.duration())
	c.Kept, c.Size = pick(p, "", semel.KeptStreamed), pick[int64](p, 0, 1, 99)
	c.Forgive, c.By, c.Why = pick(p, true, false), pick(p, "", "y"), pick(p, "", "z")
	return c
}

// reads looks at one key and compares it.
func (p *program) reads(k semel.Key) {
	p.Helper()
	rec, err := p.s.Get(p.Context(), k)
	row := p.rows[k]
	if absent := errors.Is(err, semel.ErrNotFound); absent != (row.Token == 0) || err != nil && !absent {
		p.Fatalf("seed %d, step %d: get of %q: error %v, the rules have %+v", p.seed, p.step, k.ID, err, row)
	}
	p.check("get", rec, row.Seen(rec.Now))
}

// prunes lets the store prune, and takes over what the store removed, if it was to be removed.
func (p *program) prunes() {
	p.Helper()
	limit, gone, emptied := pick(p, 1, 1000), 0, 0
	got := p.prune(limit)
	now := p.claim(semel.Request{Key: key("clock"), Attempt: semel.NewAttemptID(), Lease: time.Second, Keep: semel.MaxWindow}).Record.Now
	for k, row := range p.rows {
		if rec := row.Seen(now); row.Result != nil && rec.Result == nil {
			emptied++
			row.Result, row.Kept = nil, semel.KeptExpired // by this prune or a later one
			if limit > 1 {
				p.rows[k] = row
			}
		}
		if row.Token != 0 && p.gone(k.ID) {
			if gone++; !rules.Prunable(&row, now) {
				p.Errorf("seed %d, step %d: pruned %+v at %v", p.seed, p.step, row, now)
			}
			delete(p.rows, k)
		} else if row.Token != 0 && limit > 1 && rules.Prunable(&row, now.Add(-time.Second-coarse(row.Until.Sub(row.Created)+row.Keep))) {
			p.Errorf("seed %d, step %d: not pruned %+v at %v", p.seed, p.step, row, now)
		}
	}
	if got.Records > limit || got.Results > limit || got.Records < gone || got.Results > emptied {
		p.Errorf("seed %d, step %d: a prune of at most %d counts %+v, gone are %d, emptied %d", p.seed, p.step, limit, got, gone, emptied)
	}
	for k := range p.rows {
		p.reads(k)
	}
}

func (p *program) check(what string, got, want semel.Record) {
	p.Helper()
	if d := diff(got, want); d != "" {
		p.Errorf("seed %d, step %d: %s: the store and the rules differ:%s", p.seed, p.step, what, d)
	}
}
