package model

import (
	"cmp"

	"github.com/semel-dev/semel"
)

// violation says in words which property a step broke; empty: none. It begins
// with the property's name.
type violation string

// The properties.
const (
	twoTrust     violation = "S1: two claimers trust a lease at the same instant"
	twoEffects   violation = "S1: the effect happened twice in one window and generation"
	freedEffect  violation = "S1: the key was freed although an effect happened or is under way"
	leftDone     violation = "S2: a done key left Done without a forget or its expiry"
	secondResult violation = "S2: the first result did not stand, or a duplicate moved its window"
	doubtPruned  violation = "S2: a marked record was pruned"
	markLost     violation = "S2: a mark was lost"
	notHolder    violation = "S2: a record was changed by a claimer that does not hold it"
	outsideFrom  violation = "S2: an update applied outside its From"
	noGeneration violation = "S2: a forget began no new generation"
	tokenTwice   violation = "S3: a token was given twice or fell"
	takenAway    violation = "S4: the record of a holder in trust was taken away"
	cannotEnd    violation = "S4: a holder in trust could not complete"
	emptyDoubt   violation = "S5: in doubt for ever although no effect was ever started"
	nobodyHolds  violation = "S6: a late copy of a claim made a holder that nobody is"
	revived      violation = "S6: a late copy revived a record in doubt"
	repeatLost   violation = "S6: a repeated complete got ErrLost although it had applied"
	underTx      violation = "S7: the record changed under an open transaction"
	badRollback  violation = "S7: a rollback did not leave what stood before"
)

// landed counts the effects that happened in the key's present epoch.
func (s *State) landed(cfg *Config) int {
	n := 0
	for i := range cfg.Claimers {
		if c := &s.claimers[i]; c.effect == landed && c.epoch == s.epoch {
			n++
		}
	}
	return n
}

// checkState holds the properties of a single state: S1 and S5.
func (w *world) checkState(s *State) violation {
	trusting := 0
	over := s.txOwner == 0 // nothing will happen to the key any more
	explained := false     // an effect may have started
	for i := range w.cfg.Claimers {
		c := &s.claimers[i]
		if c.trusts(s.now) {
			trusting++
		}
		over = over && (c.phase == idle || c.phase == doubting || c.phase == ended || c.phase == crashed)
		here := c.epoch == s.epoch && (c.effect != notStarted || c.phase == crashed)
		unheard := c.phase == crashed && c.token == 0 // nobody knows what it had won
		explained = explained || here || unheard || c.recovered
	}
	switch {
	case trusting > 1:
		return twoTrust
	case w.cfg.AtMostOnce && s.landed(w.cfg) > 1:
		return twoEffects
	case over && !explained && s.row.is(semel.Held) && s.row.marked:
		return emptyDoubt
	}
	return ""
}

// checkRow compares the record before and after one step: S2 and S4.
func checkRow(s, n *State, forgotten bool) violation {
	a, b := &s.row, &n.row
	same := b.token == a.token
	switch {
	case *a == *b || a.token == 0:
		return ""
	case a.final() && s.now < a.until && !forgotten && (!same || b.state != a.state):
		return leftDone
	case a.is(semel.Done) && b.is(semel.Done) && same && (a.result != b.result || a.until != b.until):
		return secondResult
	case !a.is(semel.Held):
		return ""
	case !same && s.holderTrusts():
		return takenAway
	case a.marked && b.token == 0:
		return doubtPruned
	case a.marked && !b.marked && same && b.is(semel.Held):
		return markLost
	}
	return ""
}

// holderTrusts reports whether the record's holder acts on its lease.
func (s *State) holderTrusts() bool {
	for i := range s.claimers {
		if c := &s.claimers[i]; c.token == s.row.token && c.trusts(s.now) {
			return true
		}
	}
	return false
}

// checkClaim judges a claim that the store served: S3 and S6.
func (w *world) checkClaim(s, n *State, m *message, got *claimVerdict) violation {
	late := !s.awaits(m) && s.claimers[m.claimer].phase != crashed
	switch {
	case got.won && !got.again && got.row.token <= s.maxToken:
		return tokenTwice
	case got.won && !got.again && late:
		return nobodyHolds
	case got.again && late && s.revives(n, m.claimer):
		return revived
	}
	return checkRow(s, n, false)
}

// revives reports whether the step to n took a record out of doubt behind the
// back of claimer i, which had ended or said its last word.
func (s *State) revives(n *State, i uint8) bool {
	lastWord := s.row.doubted || s.claimers[i].phase == ended
	return lastWord && s.row.inDoubt(s.now) && !n.row.inDoubt(n.now)
}

// checkUpdate judges an update that the store served: S1, S2, S4 and S6.
func (w *world) checkUpdate(s, n *State, m *message, lost bool) violation {
	forgotten := m.op == forget && s.row.is(semel.Done)
	return cmp.Or(w.checkChange(s, n, m), checkLost(s, m, lost), checkRow(s, n, forgotten))
}

// checkChange judges what an update changed.
func (w *world) checkChange(s, n *State, m *message) violation {
	a, b := &s.row, &n.row
	from, to := m.op.ends()
	late := !s.awaits(m) && s.claimers[m.claimer].phase != crashed
	switch {
	case *a == *b:
		return ""
	case !a.is(from):
		return outsideFrom
	case from == semel.Held && (a.attempt != m.claimer+1 || a.token != m.token):
		return notHolder
	case m.op == forget && b.generation == a.generation:
		return noGeneration
	case w.cfg.AtMostOnce && m.op == release && s.effectPossible(w.cfg):
		return freedEffect
	case to == semel.Held && late && s.revives(n, m.claimer):
		return revived
	}
	return ""
}

// effectPossible reports whether an effect happened, or still may, in the
// key's present epoch.
func (s *State) effectPossible(cfg *Config) bool {
	for i := range cfg.Claimers {
		c := &s.claimers[i]
		if c.epoch == s.epoch && (c.effect == underWay || c.effect == landed) {
			return true
		}
	}
	return false
}

// checkLost judges an ErrLost that its claimer will hear.
func checkLost(s *State, m *message, lost bool) violation {
	c := &s.claimers[m.claimer]
	switch {
	case !lost || m.op != complete || !s.awaits(m):
		return ""
	case s.row.is(semel.Done) && s.row.token == m.token && s.row.result == m.claimer+1:
		return repeatLost
	case s.now < c.trust && !c.applied:
		return cannotEnd
	}
	return ""
}

// checkCommit judges a commit: S3, S7 and what holds of every step.
func checkCommit(s, n *State) violation {
	switch {
	case s.row != s.txSaw:
		return underTx
	case s.txRow.token <= s.maxToken:
		return tokenTwice
	}
	return checkRow(s, n, false)
}

func checkRollback(s *State) violation {
	if s.row != s.txSaw {
		return badRollback
	}
	return ""
}
