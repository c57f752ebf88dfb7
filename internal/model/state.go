package model

// The phases of a claimer's one attempt.
const (
	idle      uint8 = iota
	claiming        // has asked for the key
	won             // holds the lease, nothing started
	waiting         // for the answer to a renewal or a mark
	sent            // the effect is under way, or over
	finishing       // has sent its last word
	doubting        // has reported a doubt, may still hear the effect's outcome
	inTx            // its transaction is open
	ended
	crashed
)

// What an effect came to.
const (
	notStarted uint8 = iota
	underWay
	landed
	failed
)

// What is known of an earlier effect (rule 12).
const (
	unknown uint8 = iota
	happened
	didNotHappen
)

const (
	maxClaimers = 4
	maxMessages = 9
)

// claimer is one attempt at the key.
type claimer struct {
	phase     uint8
	op        operation // the last one sent
	seq       uint8     // numbers its requests
	left      bool      // its caller has gone
	timeouts  uint8     // how often it may still lose patience
	renewals  uint8
	trust     uint8 // until when it trusts its lease
	token     uint8
	effect    uint8
	effectAt  uint8
	epoch     uint8 // of its win
	recovered bool
	proofFrom uint8 // when the lease that it took over had ended
	proof     uint8 // collected before the takeover
	marked    bool
	applied   bool // its outcome was stored
	firstSend uint8
	seen      version
}

// State is one state of the world. Every field is a byte: states are compared
// and hashed as memory.
type State struct {
	row      row
	high     uint8 // highest token pruned
	now      uint8
	maxToken uint8 // highest token given
	epoch    uint8 // counts windows and generations of the key
	selected bool  // prune has chosen the record
	txOwner  uint8 // claimer + 1 whose transaction is open
	txRow    row   // what it will commit
	txSaw    row   // what it replaces
	copies   uint8 // how often the network may still copy a message
	crashes  uint8
	claimers [maxClaimers]claimer
	sent     uint8 // messages in the network
	messages [maxMessages]message
}

// awaits reports whether the claimer of m still waits for an answer to it.
func (s *State) awaits(m *message) bool {
	c := &s.claimers[m.claimer]
	return c.seq == m.seq && c.expectsAnswer()
}

func (c *claimer) expectsAnswer() bool {
	return c.phase == claiming || c.phase == waiting || c.phase == finishing
}

// trusts reports whether the claimer may act on its lease at now.
func (c *claimer) trusts(now uint8) bool {
	return (c.phase == won || c.phase == waiting || c.phase == sent) && now < c.trust
}

// forget drops what no longer matters of a claimer: states that differ in
// nothing else are the same state.
func (c *claimer) forget(now uint8) {
	if c.trust <= now {
		c.trust = 0
	}
	if c.effect != underWay {
		c.effectAt = 0
	}
	switch c.phase {
	case ended, crashed:
		kept := claimer{phase: c.phase, effect: c.effect, effectAt: c.effectAt, epoch: c.epoch, recovered: c.recovered}
		if c.phase == crashed {
			kept.token = c.token
		}
		*c = kept
	case finishing, doubting:
		c.proofFrom, c.renewals, c.proof = 0, 0, 0
	}
}
