package model

// Mutation is the contract with one rule broken, and what that must lead to.
type Mutation struct {
	Name     string
	Breaks   []func(*Variant)
	Property string // that fails; empty: other rules make up for the loss
	Config   Config // in which that shows soonest
	Large    bool   // and yet not soon
}

func breaks(f ...func(*Variant)) []func(*Variant) { return f }

// flag breaks a rule of conduct.
func flag(set func(*Conduct)) func(*Variant) {
	return func(v *Variant) { set(&v.Conduct) }
}

var (
	noUndo            = flag(func(c *Conduct) { c.NoUndo = true })
	releasesRecovered = flag(func(c *Conduct) { c.ReleasesRecovered = true })
	repeatsForever    = flag(func(c *Conduct) { c.RepeatsForever = true })
	probesFirst       = flag(func(c *Conduct) { c.ProbesFirst = true })
	countsFromMark    = flag(func(c *Conduct) { c.CountsFromMark = true })
	neverWaits        = flag(func(c *Conduct) { c.NeverWaits = true })
	trustsAsked       = flag(func(c *Conduct) { c.TrustsAsked = true })
	trustsFromReceipt = flag(func(c *Conduct) { c.TrustsFromReceipt = true })
	deletesBlindly    = flag(func(c *Conduct) { c.DeletesBlindly = true })
	txTakesDoubt      = flag(func(c *Conduct) { c.TxTakesDoubt = true })
	txLocksNothing    = flag(func(c *Conduct) { c.TxLocksNothing = true })
	busyIsVerdict     = flag(func(c *Conduct) { c.BusyIsVerdict = true })
	startsLate        = flag(func(c *Conduct) { c.StartsLate = true })
)

// Subtle returns the mutations of the rules that only an exploration shows to
// be needed: their simpler readings look right.
func Subtle() []Mutation {
	return []Mutation{
		{Name: "rule 0: a claim wins on any version", Breaks: breaks(ignoresVersion), Property: "S6", Config: markedTx},
		{Name: "rule 2: nothing is recovered", Breaks: breaks(neverRecovered), Property: "S1", Config: settlingOnly},
		{Name: "rule 2: Again does not say recovered", Breaks: breaks(againDropsRecovered), Property: "S1", Config: settlingOnly},
		{Name: "rule 4: Again shortens the lease", Breaks: breaks(againShortens), Property: "S4", Config: markingLater},
		// Trust counted from the lease in the answer (rule 13) makes up for an
		// Again that does not extend it, and the reverse: only both together show.
		{Name: "rules 4 and 13: Again does not extend, trust in the lease asked for", Breaks: breaks(againKeepsUntil, trustsAsked), Property: "S4", Config: settlingBlind},
		{Name: "rule 5: recovered is released without a proof", Breaks: breaks(releasesRecovered), Property: "S1", Config: recoveryOnly},
		{Name: "rule 5: a claim's life counts from its last repeat", Breaks: breaks(repeatsForever), Property: "S6", Config: pruningMarked.lasting(3)},
		{Name: "rule 9: a renewal shortens the lease", Breaks: breaks(renewalShortens), Property: "S4", Config: renewedThenMarked},
		{Name: "rule 9: a renewal clears the note", Breaks: breaks(renewalClearsNote), Property: "S2", Config: markingLater},
		{Name: "rule 9: Again revives what is doubted", Breaks: breaks(againRevives), Property: "S6", Config: markedTx},
		{Name: "rule 9: a renewal revives what is doubted", Breaks: breaks(renewalRevives), Property: "S6", Config: markingLater},
		{Name: "rule 12: the proof's time counts from the mark", Breaks: breaks(countsFromMark), Property: "S1", Config: settlingOnly},
		{Name: "rule 25: busy is a verdict", Breaks: breaks(busyIsVerdict), Property: "S6", Config: markedTx},
		{Name: "rule 29: an effect starts after trust's end", Breaks: breaks(startsLate), Property: "S1", Config: recoveryOnly},
	}
}

// Plain returns the mutations of the other rules.
func Plain() []Mutation {
	return []Mutation{
		{Name: "rule 2: in doubt is taken by anyone", Breaks: breaks(takesMarked), Property: "S1", Config: lostAnswers},
		{Name: "rule 4: no Again", Breaks: breaks(noAgain), Property: "S5", Config: forgetting},
		{Name: "rule 4: Again resets the note", Breaks: breaks(againResetsNote), Property: "S2", Config: markingLater},
		// The version (rule 0) makes up for the holder that Free forgot.
		{Name: "rules 0 and 4: any version, Free forgets its holder", Breaks: breaks(ignoresVersion, forgetsHolderOnFree), Property: "S6", Config: settlingBlind},
		{Name: "rule 5: no duty to undo", Breaks: breaks(noUndo), Property: "S5", Config: settlingBlind},
		{Name: "rule 8: an update ignores the state", Breaks: breaks(noFrom), Property: "S2", Config: settlingBlind},
		{Name: "rule 8: an update ignores the token", Breaks: breaks(noToken), Property: "S2", Config: settlingBlind},
		{Name: "rule 8: a repeat is lost", Breaks: breaks(noRepeat), Property: "S6", Config: markedTx},
		{Name: "rule 8: a repeat replaces the result", Breaks: breaks(repeatReplaces), Property: "S2", Config: markedTx},
		{Name: "rule 9: a forget keeps the generation", Breaks: breaks(forgetKeepsGeneration), Property: "S2", Config: forgetting},
		{Name: "rule 10: a lapsed holder may not end", Breaks: breaks(lapsedMayNotEnd), Property: "S5", Config: settlingBlind},
		{Name: "rule 12: no waiting for a proof", Breaks: breaks(neverWaits), Property: "S1", Config: settlingOnly},
		// The version (rule 0) makes up for a proof that is older than the takeover.
		{Name: "rules 0 and 12: any version, proof before the takeover", Breaks: breaks(ignoresVersion, probesFirst), Property: "S1", Config: settling.lasting(6), Large: true},
		{Name: "rule 13: trust counts from the answer", Breaks: breaks(trustsFromReceipt), Property: "S4", Config: settlingBlind},
		{Name: "rule 14: the token is the clock", Breaks: breaks(tokenIsClock), Property: "S3", Config: settling},
		{Name: "rule 14: nothing is remembered after its end", Breaks: breaks(keepsNothing), Property: "S6", Config: pruningMarked.lasting(3)},
		// A clock that has passed every token makes up for the pruned one.
		{Name: "rule 14: nothing is remembered, nor the highest pruned token", Breaks: breaks(keepsNothing, forgetsPruned), Property: "S3", Config: pruningThree},
		{Name: "rule 16: the delete does not test again", Breaks: breaks(deletesBlindly), Property: "S2", Config: pruningMarked.lasting(3)},
		{Name: "rule 18: in doubt is pruned", Breaks: breaks(prunesMarked), Property: "S2", Config: pruningMarked.lasting(3)},
		{Name: "rule 21: ClaimTx takes what is in doubt", Breaks: breaks(txTakesDoubt), Property: "S1", Config: markedTx},
		{Name: "rule 22: an open transaction locks nothing", Breaks: breaks(txLocksNothing), Property: "S7", Config: markedTx},
	}
}

// Covered returns the mutations that no property notices, because another rule
// makes up for each of them. They are the second lock on the same door.
func Covered() []Mutation {
	return []Mutation{
		{Name: "rule 4: Again does not extend", Breaks: breaks(againKeepsUntil)},
		{Name: "rule 4: Free forgets its holder", Breaks: breaks(forgetsHolderOnFree)},
		{Name: "rule 4: Done forgets its holder", Breaks: breaks(forgetsHolderOnDone)},
		{Name: "rule 12: proof before the takeover", Breaks: breaks(probesFirst)},
		{Name: "rule 13: trust in the lease asked for", Breaks: breaks(trustsAsked)},
		{Name: "rule 14: the highest pruned token is forgotten", Breaks: breaks(forgetsPruned)},
	}
}

// Variant returns what ships, with m's rules broken.
func (m *Mutation) Variant() Variant {
	v := Shipped()
	for _, b := range m.Breaks {
		b(&v)
	}
	return v
}
