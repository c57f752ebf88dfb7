package model

import "github.com/semel-dev/semel"

// advance emits what claimer i may do of its own accord, and what may happen
// to it.
func (w *world) advance(s *State, i uint8) {
	w.suffer(s, i)
	switch c := &s.claimers[i]; c.phase {
	case idle:
		w.start(s, i)
	case claiming, waiting, finishing:
		w.losePatience(s, i)
	case won:
		w.useLease(s, i)
	case sent:
		w.conclude(s, i)
	case doubting:
		if c.effect == landed {
			w.request(s, i, complete, finishing) // the late answer
		}
		n := *s
		n.claimers[i].phase = ended
		w.emit(step{kind: givesUpWaiting, claimer: i}, &n, "")
	case inTx:
		w.commit(s, i)
		w.rollBack(s, i)
	}
}

// suffer emits a crash and the outcomes of the effect.
func (w *world) suffer(s *State, i uint8) {
	c := &s.claimers[i]
	if s.crashes > 0 && c.phase != idle && c.phase < inTx && w.cfg.Claimers[i].Role != forgetter {
		n := *s
		n.crashes--
		n.claimers[i].phase = crashed
		w.emit(step{kind: crashes, claimer: i}, &n, "")
	}
	if c.effect == underWay {
		n := *s
		n.claimers[i].effect = landed
		w.emit(step{kind: effectHappens, claimer: i}, &n, "")
		n = *s
		n.claimers[i].effect = failed
		w.emit(step{kind: effectFails, claimer: i}, &n, "")
	}
}

// start reads the key and asks for it, unless the read already says no.
func (w *world) start(s *State, i uint8) {
	p := &w.cfg.Claimers[i]
	n := *s
	c := &n.claimers[i]
	c.timeouts, c.renewals = p.Timeouts, p.Renewals
	op, phase := claim, claiming
	switch {
	case p.Role == transaction:
		w.beginTx(s, i)
		return
	case p.Role == forgetter:
		if !s.row.is(semel.Done) {
			return
		}
		op, phase, c.token = forget, finishing, s.row.token
	case p.Role == operator && !s.row.inDoubt(s.now), !w.claimable(s, i):
		return
	default:
		c.seen = s.row.version()
		if p.Role == operator && w.ProbesFirst {
			c.proof = w.prove(s, s.row.until)
		}
	}
	w.dispatch(&n, i, op, phase)
	w.emit(step{kind: starts, claimer: i, op: op}, &n, "")
}

// claimable reports whether a claim that named the version that stands would
// win: the verdict of a read.
func (w *world) claimable(s *State, i uint8) bool {
	p := &w.cfg.Claimers[i]
	return w.store.claim(claimCase{s.row, s.high, s.now, i + 1, p.Marked, p.recovers(), s.row.version()}).won
}

// request emits that claimer i sends op.
func (w *world) request(s *State, i uint8, op operation, phase uint8) {
	n := *s
	w.dispatch(&n, i, op, phase)
	w.emit(step{kind: sends, claimer: i, op: op}, &n, "")
}

func (w *world) dispatch(n *State, i uint8, op operation, phase uint8) {
	c := &n.claimers[i]
	c.op, c.phase = op, phase
	if op == doubt || op == release {
		c.trust = 0 // from here on it holds nothing
	}
	c.seq++
	c.firstSend = 0
	if w.cfg.Life > 0 && op == claim {
		c.firstSend = n.now
	}
	w.transmit(n, i)
}

// transmit puts the claimer's request into the network, the first time or
// again.
func (w *world) transmit(n *State, i uint8) {
	c := &n.claimers[i]
	m := message{claimer: i, seq: c.seq, op: c.op, sentAt: n.now}
	if c.op == claim {
		m.seen = c.seen
	} else {
		m.token = c.token
	}
	if w.cfg.Life > 0 {
		m.first = n.now
		if c.op == claim && !w.RepeatsForever {
			m.first = c.firstSend
		}
	}
	m.backOff = c.op == release && c.effect != notStarted
	n.send(m)
}

// hear lets the claimer of m take note of the answer m.
func (w *world) hear(n *State, m *message) {
	c := &n.claimers[m.claimer]
	p := &w.cfg.Claimers[m.claimer]
	st := step{kind: hears, claimer: m.claimer, op: c.op}
	base := m.sentAt
	if w.TrustsFromReceipt {
		base = n.now
	}
	switch {
	case c.phase == claiming && m.won:
		c.phase, c.op, c.seen = won, none, version{}
		c.token, c.epoch, c.trust = m.token, m.epoch, base+m.left
		c.recovered, c.proofFrom, c.marked = m.recovered, m.proofFrom, p.Marked
	case c.phase == waiting && !m.lost:
		c.marked = c.marked || c.op == mark
		c.phase, c.op, c.trust = won, none, max(c.trust, base+m.left)
	case c.phase == finishing && !m.lost && c.op == doubt && p.Role == user && (c.effect == underWay || c.effect == landed):
		c.phase = doubting
	case c.phase == finishing && !m.lost && c.op == complete && p.Defers:
		w.dispatch(n, m.claimer, release, finishing)
	default: // not won, lost, or done
		c.phase = ended
	}
	w.emit(st, n, "")
}

// losePatience emits what a claimer without an answer may do.
func (w *world) losePatience(s *State, i uint8) {
	c := &s.claimers[i]
	alive := false // a request or an answer of this exchange is in the network
	for _, m := range s.messages[:s.sent] {
		alive = alive || m.claimer == i && m.seq == c.seq
	}
	switch {
	case !alive && c.phase == claiming && !w.RepeatsForever:
		w.undoByReading(s, i)
	case !alive || c.timeouts > 0:
		n := *s
		d := &n.claimers[i]
		if alive {
			d.timeouts--
		}
		switch {
		case c.phase == claiming && w.NoUndo:
			d.phase = ended
		case c.op == renew:
			d.phase = won // goes on with the trust that it has
		default:
			w.transmit(&n, i)
		}
		w.emit(step{kind: losesPatience, claimer: i, op: c.op}, &n, "")
	}
	if c.phase == claiming && w.cfg.Claimers[i].Leaves && !c.left {
		n := *s
		n.claimers[i].left = true
		w.emit(step{kind: callerLeaves, claimer: i}, &n, "")
	}
}

// undoByReading is the end of a claim whose every copy is dead: what the
// record says of it is final.
func (w *world) undoByReading(s *State, i uint8) {
	n := *s
	c := &n.claimers[i]
	if s.row.is(semel.Held) && s.row.attempt == i+1 {
		c.token, c.epoch, c.recovered = s.row.token, s.epoch, s.row.recovered
		w.dispatch(&n, i, w.giveBack(c), finishing)
	} else {
		c.phase = ended
	}
	w.emit(step{kind: undoes, claimer: i}, &n, "")
}

// giveBack returns how a lease ends whose effect was never started.
func (w *world) giveBack(c *claimer) operation {
	if c.recovered && !w.ReleasesRecovered {
		return doubt
	}
	return release
}

// useLease emits what the holder of a lease may do before its effect.
func (w *world) useLease(s *State, i uint8) {
	c := &s.claimers[i]
	p := &w.cfg.Claimers[i]
	switch {
	case c.left:
		w.request(s, i, w.giveBack(c), finishing)
		return
	case p.Role == operator:
		w.settle(s, i)
		return
	case c.recovered && p.recovers(): // others do not expect it
		switch w.prove(s, c.proofFrom) {
		case happened:
			w.request(s, i, complete, finishing)
			return
		case unknown:
			w.request(s, i, w.giveBack(c), finishing)
			return
		}
	}
	w.request(s, i, w.giveBack(c), finishing) // it changes its mind
	trusts := c.trusts(s.now)
	switch {
	case p.MarksLater && !c.marked:
		if trusts {
			w.request(s, i, mark, waiting)
		}
	case trusts || w.StartsLate && c.marked:
		n := *s
		n.claimers[i].phase, n.claimers[i].effect, n.claimers[i].effectAt = sent, underWay, s.now
		w.emit(step{kind: startsEffect, claimer: i}, &n, "")
	}
	if c.renewals > 0 && trusts {
		n := *s
		n.claimers[i].renewals--
		w.request(&n, i, renew, waiting)
	}
}

// settle emits what an operator may do with what it took over.
func (w *world) settle(s *State, i uint8) {
	c := &s.claimers[i]
	if !c.recovered {
		w.request(s, i, release, finishing)
		return
	}
	proof := c.proof
	if !w.ProbesFirst {
		proof = w.prove(s, c.proofFrom)
	}
	switch proof {
	case happened:
		w.request(s, i, complete, finishing)
	case didNotHappen:
		w.request(s, i, release, finishing)
	}
	w.request(s, i, doubt, finishing)
}

// prove asks the upstream whether the effect of a lease that ended at ended
// happened. That it did not is proven only when it no longer can (rule 12).
func (w *world) prove(s *State, ended uint8) uint8 {
	if s.landed(w.cfg) > 0 {
		return happened
	}
	if w.CountsFromMark && ended > lease {
		ended -= lease
	}
	if w.NeverWaits || s.now > ended+deadline {
		return didNotHappen
	}
	return unknown
}

// conclude emits how the sender of an effect may end its lease.
func (w *world) conclude(s *State, i uint8) {
	c := &s.claimers[i]
	switch c.effect {
	case landed:
		w.request(s, i, complete, finishing)
	case failed:
		w.request(s, i, release, finishing)
	}
	if c.marked {
		w.request(s, i, doubt, finishing) // it does not know
	} else {
		w.request(s, i, release, finishing) // another try is harmless
	}
}
