package semel

import "time"

// Verdict is what a claim came to.
type Verdict string

// The verdicts.
const (
	VerdictWon        Verdict = "won"         // the key was free, absent or expired
	VerdictAgain      Verdict = "again"       // this attempt had already won
	VerdictTakenOver  Verdict = "taken_over"  // from a lapsed lease
	VerdictDone       Verdict = "done"        // a duplicate: the work is done
	VerdictDead       Verdict = "dead"        // a duplicate of what failed for good
	VerdictBusy       Verdict = "busy"        // another attempt holds the key
	VerdictBackingOff Verdict = "backing_off" // released, not claimable yet
	VerdictInDoubt    Verdict = "in_doubt"    // an earlier attempt may have taken effect
	VerdictMismatch   Verdict = "mismatch"    // another fingerprint
	VerdictTooLate    Verdict = "too_late"    // older than what the window covers
	VerdictError      Verdict = "error"       // the store gave no verdict, or a quota refused
)

// Suppressed reports whether v kept a repeated attempt from running.
func (v Verdict) Suppressed() bool {
	switch v {
	case VerdictDone, VerdictDead, VerdictBusy, VerdictBackingOff, VerdictInDoubt:
		return true
	}
	return false
}

// Observer hears what a [Keeper] does. Nil functions are skipped. They are
// called on the goroutine that does the work, possibly concurrently, and must
// not block.
type Observer struct {
	// Claimed hears each claim's verdict. Record is the one that stands; its
	// zero value means that there was no answer.
	Claimed func(ClaimEvent)
	// Ended hears the end of each lease that was won.
	Ended func(EndEvent)
	// Late hears an outcome that came after the key was settled or taken over.
	Late func(LateEvent)
	// WindowMissed hears that a claim won on a done key whose window had ended:
	// what came may have been a duplicate that the window was too short for.
	// Lateness counts from the window's end.
	WindowMissed func(key Key, lateness time.Duration)
	// StoreError hears each failed store call; op is the method in lower case.
	StoreError func(op string, err error)
	// Pruned hears what a call of [Keeper.Prune] removed.
	Pruned func(Pruned)
}

// ClaimEvent describes one claim.
type ClaimEvent struct {
	Key     Key
	Verdict Verdict
	Source  Source
	Record  Record
	Took    time.Duration // until the verdict, waiting included
	Err     error         // what the caller got
}

// Age is how old the key was when its duplicate came; zero for a first claim.
func (e *ClaimEvent) Age() time.Duration {
	if !e.Verdict.Suppressed() || e.Record.Created.IsZero() {
		return 0
	}
	return e.Record.Now.Sub(e.Record.Created)
}

// EndEvent describes the end of a lease.
type EndEvent struct {
	Key   Key
	Token Token
	End   End
	Why   string // for people
}

// End says how a lease ended.
type End string

// The ends of a lease.
const (
	EndDone       End = "done"
	EndDead       End = "dead"
	EndReleased   End = "released"
	EndDoubted    End = "in_doubt"
	EndLost       End = "lost"       // another holder exists, or the key was settled
	EndUnrecorded End = "unrecorded" // the store could not be told
)

// LateEvent describes an outcome that was not recorded because the key was
// settled or taken over before.
type LateEvent struct {
	Key    Key
	Token  Token
	End    End    // what the late holder meant to record
	Agrees bool   // what stands says the same
	Stands Record // what stands
}

func (o *Observer) claimed(e ClaimEvent) {
	if o.Claimed != nil {
		o.Claimed(e)
	}
}

func (o *Observer) ended(e EndEvent) {
	if o.Ended != nil {
		o.Ended(e)
	}
}

func (o *Observer) late(e LateEvent) {
	if o.Late != nil {
		o.Late(e)
	}
}

func (o *Observer) windowMissed(key Key, lateness time.Duration) {
	if o.WindowMissed != nil {
		o.WindowMissed(key, lateness)
	}
}

func (o *Observer) storeError(op string, err error) {
	if o.StoreError != nil {
		o.StoreError(op, err)
	}
}

func (o *Observer) pruned(p Pruned) {
	if o.Pruned != nil {
		o.Pruned(p)
	}
}
