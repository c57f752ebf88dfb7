package model

import (
	"cmp"
	"slices"

	"github.com/semel-dev/semel"
)

// operation is what a request asks of the store.
type operation uint8

const (
	none operation = iota
	claim
	renew
	mark
	complete
	release
	doubt
	forget
)

// ends returns the states that an update leads from and to.
func (op operation) ends() (from, to semel.State) {
	switch op {
	case complete:
		return semel.Held, semel.Done
	case release:
		return semel.Held, semel.Free
	case forget:
		return semel.Done, semel.Free
	default:
		return semel.Held, semel.Held
	}
}

// message is a request or an answer on its way. The network keeps no order,
// and what is never delivered is lost.
type message struct {
	claimer, seq uint8
	answer       bool
	op           operation
	copied       bool  // the network has already copied it
	sentAt       uint8 // by the claimer, also in the answer
	first        uint8 // when the first of its repeats was sent
	token        uint8
	seen         version // claims
	backOff      bool    // releases
	// Of answers:
	won, lost, recovered   bool
	left, proofFrom, epoch uint8
}

// compare orders messages: a network is a set, and needs one form.
func (m message) compare(o message) int {
	return cmp.Or(
		cmp.Compare(m.claimer, o.claimer),
		cmp.Compare(m.seq, o.seq),
		cmp.Compare(bit(m.answer), bit(o.answer)),
		cmp.Compare(bit(m.copied), bit(o.copied)),
		cmp.Compare(m.sentAt, o.sentAt),
		cmp.Compare(m.first, o.first),
		cmp.Compare(m.token, o.token),
		cmp.Compare(bit(m.won)+2*bit(m.lost)+4*bit(m.recovered), bit(o.won)+2*bit(o.lost)+4*bit(o.recovered)),
		cmp.Compare(m.left, o.left),
		cmp.Compare(m.proofFrom, o.proofFrom),
		cmp.Compare(m.epoch, o.epoch),
	)
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

func (s *State) send(m message) {
	s.messages[s.sent] = m // out of range: the configuration is too large
	s.sent++
}

func (s *State) drop(i int) {
	s.sent--
	s.messages[i] = s.messages[s.sent]
	s.messages[s.sent] = message{}
}

// canonical brings s into the one form of all states that cannot be told
// apart by what may follow.
func (s *State) canonical(cfg *Config) {
	for i := 0; i < int(s.sent); {
		m := &s.messages[i]
		awaited := s.awaits(m)
		tooOld := cfg.Life > 0 && !m.answer && s.now >= m.first+cfg.Life
		if tooOld || m.answer && !awaited {
			s.drop(i)
			continue
		}
		if !awaited {
			m.sentAt = 0
		}
		if s.copies == 0 {
			m.copied = false
		}
		i++
	}
	slices.SortFunc(s.messages[:s.sent], message.compare)
	for i := range cfg.Claimers {
		s.claimers[i].forget(s.now)
	}
}
