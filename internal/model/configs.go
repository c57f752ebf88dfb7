package model

// The durations, in ticks. The renewal is longer than the lease, so that it
// matters which of them came last.
const (
	lease    = 2
	renewal  = 3
	window   = 2
	memory   = 1 // of a released or forgotten key
	keep     = 2
	deadline = 1 // of the upstream: an effect lands or fails within it
)

// Role is what a claimer is there for.
type Role uint8

// The roles.
const (
	user        Role = iota
	operator         // settles what is in doubt
	recoverer        // a user that may take what is in doubt
	transaction      // claims in its own transaction
	forgetter        // forgets a done key
)

// Profile is how one claimer behaves.
type Profile struct {
	Role       Role
	Marked     bool // its claim carries the note
	MarksLater bool // it marks by an update, before its effect
	Leaves     bool // its caller may leave before the answer
	Defers     bool // it releases even after it has completed
	Timeouts   uint8
	Renewals   uint8
}

func (p *Profile) recovers() bool { return p.Role == operator || p.Role == recoverer }

// Config bounds one exploration.
type Config struct {
	Name       string
	Ticks      uint8 // the clock runs from 1 to 1 + Ticks
	AtMostOnce bool  // every user marks, and at most one effect is owed
	BackOff    uint8 // after a release that followed an effect
	Copies     uint8 // how often the network may copy a request
	Crashes    uint8
	Prune      bool
	Life       uint8 // of a request in the network; 0: no end
	Claimers   []Profile
}

var marked = Profile{Marked: true}

// The configurations that together are the exhaustive exploration.
var (
	lostAnswers = Config{Name: "at most once, lost answers", Ticks: 3, AtMostOnce: true,
		Claimers: []Profile{{Marked: true, Timeouts: 1, Leaves: true}, {Marked: true, Defers: true}}}
	copiesAndCrash = Config{Name: "at most once, copies and a crash", Ticks: 3, AtMostOnce: true, Crashes: 1, Copies: 1,
		Claimers: []Profile{marked, marked}}
	recovery = Config{Name: "at most once, recovery", Ticks: 4, AtMostOnce: true, Crashes: 1,
		Claimers: []Profile{marked, {Role: recoverer, Marked: true, Timeouts: 1, Leaves: true}}}
	settling = Config{Name: "at most once, operator", Ticks: 5, AtMostOnce: true,
		Claimers: []Profile{marked, marked, {Role: operator}}}
	settlingBlind = Config{Name: "at most once, operator, lost answers", Ticks: 5, AtMostOnce: true,
		Claimers: []Profile{{Marked: true, Timeouts: 1}, {Role: operator, Timeouts: 1}}}
	markingLater = Config{Name: "at most once, mark by update, renewal", Ticks: 3, AtMostOnce: true, Copies: 1,
		Claimers: []Profile{{MarksLater: true, Renewals: 1}, {MarksLater: true}}}
	pruningMarked = Config{Name: "at most once, prune", Ticks: 6, AtMostOnce: true, Prune: true, Life: 2,
		Claimers: []Profile{{Marked: true, Timeouts: 1}, marked}}
	forgetting = Config{Name: "at most once, forget", Ticks: 3, AtMostOnce: true, Copies: 1,
		Claimers: []Profile{marked, marked, {Role: forgetter}}}
	markedTx = Config{Name: "at most once, transactions", Ticks: 3, AtMostOnce: true, Crashes: 1, Copies: 1,
		Claimers: []Profile{marked, {Role: transaction}, {Role: transaction}}}
	renewing = Config{Name: "at least once, renewal, lost answers", Ticks: 4, BackOff: 1, Crashes: 1,
		Claimers: []Profile{{Timeouts: 1, Renewals: 1, Leaves: true}, {}}}
	three = Config{Name: "at least once, three claimers", Ticks: 2, BackOff: 1,
		Claimers: []Profile{{Timeouts: 1}, {Defers: true}, {}}}
	pruning = Config{Name: "at least once, prune", Ticks: 6, BackOff: 1, Prune: true, Life: 2, Copies: 1,
		Claimers: []Profile{{Renewals: 1}, {}}}
	unmarkedTx = Config{Name: "at least once, transactions", Ticks: 4, BackOff: 1, Crashes: 1,
		Claimers: []Profile{{Timeouts: 1, Renewals: 1}, {Role: transaction}, {Role: transaction}}}
)

// What the configurations above are too coarse for.
var (
	renewedThenMarked = Config{Name: "at most once, mark after a longer renewal", Ticks: 3, AtMostOnce: true,
		Claimers: []Profile{{MarksLater: true, Renewals: 1}, {Role: recoverer, Marked: true}}}
	pruningThree = Config{Name: "at least once, prune, three claimers", Ticks: 1, Prune: true, Life: 2,
		Claimers: []Profile{{}, {}, {}}}
)

// Smaller forms of the above, for every day.
var (
	recoveryOnly = Config{Name: "small: recovery", Ticks: 4, AtMostOnce: true,
		Claimers: []Profile{marked, {Role: recoverer, Marked: true}}}
	settlingOnly = Config{Name: "small: operator, lost answer", Ticks: 4, AtMostOnce: true,
		Claimers: []Profile{marked, {Role: operator, Timeouts: 1}}}
	markingOnly = Config{Name: "small: mark by update, renewal", Ticks: 3, AtMostOnce: true,
		Claimers: []Profile{{MarksLater: true, Renewals: 1}, {MarksLater: true}}}
	forgettingOnly = Config{Name: "small: forget", Ticks: 3, AtMostOnce: true,
		Claimers: []Profile{marked, marked, {Role: forgetter}}}
	renewingOnly = Config{Name: "small: renewal, lost answers", Ticks: 2, BackOff: 1,
		Claimers: []Profile{{Timeouts: 1, Renewals: 1}, {}}}
)

// lasting returns c with another end of the clock.
func (c Config) lasting(ticks uint8) Config {
	c.Ticks = ticks
	return c
}

// Full returns the configurations of the whole exploration.
func Full() []Config {
	return []Config{lostAnswers, copiesAndCrash, recovery, settling, settlingBlind, markingLater, pruningMarked,
		forgetting, markedTx, renewing, three, pruning, unmarkedTx, renewedThenMarked, pruningThree}
}

// Small returns configurations that are explored within seconds.
func Small() []Config {
	return []Config{lostAnswers.lasting(2), copiesAndCrash.lasting(2), recoveryOnly, settlingOnly, markingOnly,
		pruningMarked.lasting(3), forgettingOnly, markedTx, renewingOnly, unmarkedTx.lasting(3),
		renewedThenMarked}
}
