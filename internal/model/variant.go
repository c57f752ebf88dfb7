package model

import (
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/rules"
)

// Rules is the store's part of the contract.
type Rules struct {
	Claim    func(r rules.Row, high semel.Token, req *semel.Request, now time.Time) (rules.Row, semel.Answer)
	Update   func(r rules.Row, token semel.Token, c *semel.Change, now time.Time) (rules.Row, semel.Record, error)
	Prunable func(r *rules.Row, now time.Time) bool
}

// Conduct is the rest of the contract: what claimers, and stores around their
// rules, have to do. Each field breaks one rule; the zero Conduct keeps all.
type Conduct struct {
	NoUndo            bool // rule 5: a claimer without an answer just ends
	ReleasesRecovered bool // rule 5: what was recovered is released without a proof
	RepeatsForever    bool // rule 5: a claim's life is counted from its last repeat
	ProbesFirst       bool // rule 12: the proof is collected before the takeover
	CountsFromMark    bool // rule 12: the proof's time runs from the lease's begin
	NeverWaits        bool // rule 12: no time has to pass
	TrustsAsked       bool // rule 13: trust in the lease that was asked for
	TrustsFromReceipt bool // rule 13: trust runs from the answer, not from the request
	DeletesBlindly    bool // rule 16: the deleting statement does not test again
	TxTakesDoubt      bool // rule 21: ClaimTx takes what is in doubt
	TxLocksNothing    bool // rule 22: claims and updates pass an open transaction
	BusyIsVerdict     bool // rule 25: an open transaction counts as "not won"
	StartsLate        bool // rule 29: a marked effect starts after trust's end
}

// Variant is what is explored.
type Variant struct {
	Rules
	Conduct
}

// Shipped is the contract as it ships.
func Shipped() Variant {
	return Variant{Rules: Rules{rules.Claim, rules.Update, rules.Prunable}}
}
