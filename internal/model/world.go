package model

// world enumerates what may happen next in a state.
type world struct {
	Conduct
	store *transitions
	cfg   *Config
	visit func(step, *State, violation)
}

func newWorld(v Variant, cfg *Config) *world {
	return &world{Conduct: v.Conduct, store: newTransitions(v.Rules, cfg), cfg: cfg}
}

// initial returns the state in which everything begins.
func initial(cfg *Config) State {
	return State{now: 1, copies: cfg.Copies, crashes: cfg.Crashes}
}

// emit reports that st leads to n.
func (w *world) emit(st step, n *State, v violation) {
	if v == "" {
		v = w.checkState(n)
	}
	n.canonical(w.cfg)
	w.visit(st, n, v)
}

// successors emits every state that may follow s.
func (w *world) successors(s *State) {
	w.passTime(s)
	for i := range s.messages[:s.sent] {
		if i > 0 && s.messages[i] == s.messages[i-1] {
			continue // equal messages have equal effects
		}
		w.deliver(s, i, false)
		if m := &s.messages[i]; s.copies > 0 && !m.copied && !m.answer {
			w.deliver(s, i, true)
		}
	}
	if w.cfg.Prune && s.txOwner == 0 {
		w.prune(s)
	}
	for i := range w.cfg.Claimers {
		w.advance(s, uint8(i))
	}
}

// passTime moves the clock, unless the upstream's deadline of an effect is
// reached: it lands or fails first.
func (w *world) passTime(s *State) {
	if s.now > w.cfg.Ticks {
		return
	}
	for i := range w.cfg.Claimers {
		if c := &s.claimers[i]; c.effect == underWay && s.now >= c.effectAt+deadline {
			return
		}
	}
	n := *s
	n.now++
	w.emit(step{kind: clockTicks}, &n, "")
}

// deliver brings message i to its receiver, with or without leaving a copy in
// the network.
func (w *world) deliver(s *State, i int, copied bool) {
	n := *s
	m := &s.messages[i]
	st := step{kind: storeServes, claimer: m.claimer, op: m.op}
	if copied {
		n.messages[i].copied = true
		n.copies--
		st.kind = storeServesCopy
	} else {
		n.drop(i)
	}
	switch {
	case m.answer:
		w.hear(&n, m)
	case m.op == claim:
		w.serveClaim(s, &n, m, st)
	default:
		w.serveUpdate(s, &n, m, st)
	}
}

// locked reports whether an open transaction has the key.
func (w *world) locked(s *State) bool { return s.txOwner != 0 && !w.TxLocksNothing }

func (w *world) serveClaim(s, n *State, m *message, st step) {
	a := message{claimer: m.claimer, seq: m.seq, op: m.op, answer: true, sentAt: m.sentAt}
	if w.locked(s) {
		if w.BusyIsVerdict {
			n.send(a)
			w.emit(st, n, "")
		}
		return // no verdict: the claimer repeats until it gets one
	}
	p := &w.cfg.Claimers[m.claimer]
	got := w.store.claim(claimCase{s.row, s.high, s.now, m.claimer + 1, p.Marked, p.recovers(), m.seen})
	n.row = got.row
	if got.won {
		a.won, a.token, a.recovered = true, got.row.token, got.recovered
		a.left, a.proofFrom = got.left, got.proofFrom
		if !got.again {
			n.maxToken = max(n.maxToken, got.row.token)
			if s.row.final() {
				n.epoch++ // a new window
			}
		}
		if w.TrustsAsked {
			a.left = lease
		}
		a.epoch = n.epoch
	}
	n.send(a)
	w.emit(st, n, w.checkClaim(s, n, m, &got))
}

func (w *world) serveUpdate(s, n *State, m *message, st step) {
	if w.locked(s) {
		return // it waits for the row
	}
	got := w.store.update(updateCase{s.row, s.now, m.token, m.op, m.claimer + 1, m.backOff})
	n.row = got.row
	applied := !got.lost && got.row != s.row
	switch {
	case applied && m.op == forget:
		n.epoch++ // a new generation
	case applied && m.op == complete:
		n.claimers[m.claimer].applied = true
	}
	n.send(message{claimer: m.claimer, seq: m.seq, op: m.op, answer: true, sentAt: m.sentAt, lost: got.lost, left: got.left})
	w.emit(st, n, w.checkUpdate(s, n, m, got.lost))
}

// prune runs in two steps, as a statement that selects and one that deletes.
func (w *world) prune(s *State) {
	prunable := w.store.prunable(s.row, s.now)
	n := *s
	if !s.selected {
		if prunable {
			n.selected = true
			w.emit(step{kind: pruneSelects}, &n, "")
		}
		return
	}
	n.selected = false
	if prunable || w.DeletesBlindly && s.row.token != 0 {
		n.high = max(n.high, s.row.token)
		if s.row.final() {
			n.epoch++
		}
		n.row = row{}
	}
	w.emit(step{kind: pruneDeletes}, &n, checkRow(s, &n, false))
}
