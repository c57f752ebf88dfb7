package semel

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"
)

// State is what a store keeps of a key. In doubt is not a state of its own:
// see [Record.InDoubt].
type State uint8

// The stored states. The zero State is Free.
const (
	Free State = iota // nobody holds it; it may be remembered
	Held              // one attempt has the right to do the work
	Done              // completed
	Dead              // final without success
)

var stateNames = [...]string{"free", "held", "done", "dead"}

// String returns the state's lower-case name.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// Token orders the holders of a key (fencing). It never repeats or falls for a
// key, not even after the key was pruned, and stays below 2^53. The zero Token
// belongs to no record.
type Token int64

// AttemptID names one attempt at a claim: 128 random bits made by the claimer.
// It makes the claim itself safe to repeat when its answer was lost. The zero
// AttemptID is invalid.
type AttemptID [16]byte

// NewAttemptID returns a fresh attempt id.
func NewAttemptID() AttemptID {
	var id AttemptID
	rand.Read(id[:]) // never fails, see crypto/rand
	return id
}

// Source says why a second attempt at a key exists.
type Source string

// The sources. The empty Source is unspecified.
const (
	ClientRetry     Source = "client_retry"
	Webhook         Source = "webhook"
	QueueRedelivery Source = "queue_redelivery"
	JobRerun        Source = "job_rerun"
	Producer        Source = "producer"
	Other           Source = "other"
)

// Kept says why a finished record has no result. The zero Kept means that the
// result is there.
type Kept string

// The reasons for a missing result.
const (
	KeptNone      Kept = "none"      // there was none to keep, or it was not to be kept
	KeptTooLarge  Kept = "too-large" // it exceeded the limit; Size says how large it was
	KeptStreamed  Kept = "streamed"  // it was passed on live
	KeptTruncated Kept = "truncated" // it broke off on its way
	KeptExpired   Kept = "expired"   // its retention is over, the key's window is not
)

// Version identifies one version of a record. A claim names the version it saw
// and wins only on exactly that one; a version never comes back. The zero
// Version means that the claimer saw no record.
type Version struct {
	Token   Token
	State   State
	Doubted bool
	Until   time.Time
}

// Equal reports whether v and w name the same version.
func (v Version) Equal(w Version) bool {
	return v.Token == w.Token && v.State == w.State && v.Doubted == w.Doubted && v.Until.Equal(w.Until)
}

// Limits of the durations that a store accepts.
const (
	MinLease  = 10 * time.Millisecond
	MaxLease  = 24 * time.Hour
	MaxWindow = 3650 * 24 * time.Hour
)

// Limits of what a store accepts beside keys and results, in bytes. By, Why and
// Source are valid UTF-8 without NUL; the [Keeper] makes them so.
const (
	MaxTextBytes        = 1000 // By, Why, Source
	MaxNoteBytes        = 64 << 10
	MaxFingerprintBytes = 1 << 10
)

// Request asks a [Store] for a key. It carries durations, never instants: only
// the store's clock counts.
type Request struct {
	Key         Key
	Attempt     AttemptID     // of the claimer, never zero
	Seen        Version       // what the claimer saw; zero: nothing
	Lease       time.Duration // [MinLease] to [MaxLease], whole milliseconds
	Keep        time.Duration // how long a record is remembered after its end; > 0, at most [MaxWindow]
	Note        []byte        // not nil: the lease is marked from the start
	Recover     bool          // may take a lapsed marked record
	Fingerprint []byte        // nil: none
	Source      Source        // why
	By          string        // who
}

// Check returns an error that wraps [ErrInvalid] unless every field of r is
// within its range. Stores call it before they do anything.
func (r *Request) Check() error {
	if err := r.Key.Check(); err != nil {
		return err
	}
	if r.Attempt == (AttemptID{}) {
		return fmt.Errorf("%w: claim without an attempt id", ErrInvalid)
	}
	if err := checkDuration("lease", r.Lease, MinLease, MaxLease); err != nil {
		return err
	}
	return cmp.Or(
		checkDuration("keep", r.Keep, time.Millisecond, MaxWindow),
		checkBytes("note", r.Note, MaxNoteBytes),
		checkBytes("fingerprint", r.Fingerprint, MaxFingerprintBytes),
		checkText(string(r.Source), r.By),
	)
}

// Answer is a store's verdict on a [Request].
type Answer struct {
	Won    bool
	Again  bool   // this attempt had already won
	Record Record // as it stands after the call
	Before Record // what this claim replaced (lapsed, released, expired); zero if nothing
}

// Change is what [Store.Update] does to a record. The allowed pairs of From
// and To are: Held to Held (renew, mark; in doubt with For zero), Held to
// Done, Held to Dead, Held to Free (release), Done to Free and Dead to Free
// (forget).
type Change struct {
	From, To  State
	For       time.Duration // lease if Held (0: in doubt), window if Done or Dead, memory if Free
	ResultFor time.Duration // how long Result is kept; 0: as long as the key
	After     time.Duration // Free: the key is not claimable before this has passed
	Note      []byte        // Held: replaces the note unless nil
	Result    []byte        // Done, Dead
	Kept      Kept          // why there is no Result
	Size      int64         // size of a result that was not kept; 0: len(Result)
	Forgive   bool          // Free: the attempt does not count
	By, Why   string        // who changed it and why, for people
}

// Doubts reports whether c puts the key in doubt.
func (c *Change) Doubts() bool { return c.From == Held && c.To == Held && c.For == 0 }

// Check returns an error that wraps [ErrInvalid] unless c is an allowed change
// with every field within its range. Stores call it before they do anything.
func (c *Change) Check() error {
	if err := cmp.Or(checkBytes("note", c.Note, MaxNoteBytes), checkText(c.By, c.Why)); err != nil {
		return err
	}
	switch {
	case c.From == Held && c.To == Held:
		if c.For == 0 {
			return nil
		}
		return checkDuration("lease", c.For, MinLease, MaxLease)
	case c.From == Held && c.To <= Dead, (c.From == Done || c.From == Dead) && c.To == Free:
	default:
		return fmt.Errorf("%w: no change leads from %v to %v", ErrInvalid, c.From, c.To)
	}
	return cmp.Or(
		checkDuration("window", c.For, time.Millisecond, MaxWindow),
		checkDuration("result retention", c.ResultFor, 0, MaxWindow),
		checkDuration("back-off", c.After, 0, MaxWindow),
	)
}

func checkBytes(name string, b []byte, limit int) error {
	if len(b) > limit {
		return fmt.Errorf("%w: %s of %d bytes, at most %d fit", ErrInvalid, name, len(b), limit)
	}
	return nil
}

func checkText(texts ...string) error {
	for _, s := range texts {
		if text(s) != s {
			return fmt.Errorf("%w: a text for people must be valid UTF-8 without NUL, of at most %d bytes", ErrInvalid, MaxTextBytes)
		}
	}
	return nil
}

// text makes s fit for a store's text column: an error message of any kind
// must not keep an outcome from being recorded.
func text(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
	if len(s) > MaxTextBytes {
		s = strings.ToValidUTF8(s[:MaxTextBytes], "")
	}
	return s
}

// checkDuration refuses what a store cannot keep exactly: it counts in
// milliseconds.
func checkDuration(name string, d, low, high time.Duration) error {
	if d < low || d > high {
		return fmt.Errorf("%w: %s of %v is outside %v to %v", ErrInvalid, name, d, low, high)
	}
	if d%time.Millisecond != 0 {
		return fmt.Errorf("%w: %s of %v is not a whole number of milliseconds", ErrInvalid, name, d)
	}
	return nil
}

// Record is what a store knows of a key. All times are the store's, Now is the
// one at which it answered. The slices belong to the store: do not change
// them.
type Record struct {
	Key         Key
	State       State
	Token       Token
	Attempts    int       // claims won so far; a crash counts
	Generation  int       // how often the key was forgotten on purpose
	Attempt     AttemptID // of the last holder, in every state
	Doubted     bool      // the holder said that it does not know
	Recovered   bool      // the holder took it over from in doubt
	Created     time.Time // first claim
	Until       time.Time // end of the lease, the window or the memory
	NotBefore   time.Time // Free: end of the back-off
	ResultUntil time.Time // end of the result's retention
	Now         time.Time
	Fingerprint []byte
	Note        []byte // not nil: marked
	Result      []byte
	Kept        Kept
	Size        int64
	Source      Source
	By, Why     string
}

// Version returns the version of r, to be named by a claim.
func (r *Record) Version() Version {
	if r.Token == 0 {
		return Version{}
	}
	return Version{r.Token, r.State, r.Doubted, r.Until}
}

// Lapsed reports whether r is held but its lease has ended.
func (r *Record) Lapsed() bool { return r.State == Held && !r.Now.Before(r.Until) }

// InDoubt reports whether r is held, lapsed and marked: the effect may have
// happened. It is derived, so that nobody has to move a record there.
func (r *Record) InDoubt() bool { return r.Lapsed() && r.Note != nil }

// Expired reports whether r is no longer held and no longer counts.
func (r *Record) Expired() bool { return r.State != Held && !r.Now.Before(r.Until) }

// Claimable reports whether a claim that names r's version would win.
func (r *Record) Claimable(recovering bool) bool {
	switch {
	case r.Token == 0, r.Expired():
		return true
	case r.State == Free:
		return !r.Now.Before(r.NotBefore)
	}
	return r.Lapsed() && (r.Note == nil || recovering)
}

// Pruned counts what one call of [Store.Prune] removed.
type Pruned struct {
	Records, Results int
}

// Store keeps claims. Each method is one atomic step on one key and safe for
// concurrent use; the time is the store's own. A store holds no policy: the
// [Keeper] owns all of it, and only the Keeper calls Claim and Update.
// Package storetest checks an implementation.
//
// An error that is not one of the sentinels means that the store does not know
// whether the call was carried out.
type Store interface {
	// Claim tries to take the key. It wins only on the version that the request
	// saw, except that the same attempt wins again on a record that it holds.
	// ErrBusy is no verdict (somebody's open transaction stands in the way): the
	// same request is to be sent again.
	Claim(ctx context.Context, req Request) (Answer, error)
	// Update changes the record if it has this token and is in c.From. It
	// succeeds again, changing nothing, if the same change was already made.
	// Otherwise it returns the record that stands, and ErrLost.
	Update(ctx context.Context, key Key, token Token, c Change) (Record, error)
	// Get returns the record, also when it has lapsed or expired but is still
	// there, or ErrNotFound.
	Get(ctx context.Context, key Key) (Record, error)
	// Prune removes at most limit records whose memory is over, and empties at
	// most limit results whose retention is over. It never removes what is in
	// doubt.
	Prune(ctx context.Context, limit int) (Pruned, error)
}

// Filter chooses records for a [Lister]. The zero Filter chooses all.
type Filter struct {
	Scope   string  // empty: every scope
	States  []State // empty: every state
	InDoubt bool    // only what is in doubt
	Cursor  string  // where the last page ended; empty: from the start
	Limit   int     // at most so many; 0: 100, at most 1,000
}

// Page is one answer of a [Lister].
type Page struct {
	Records []Record // without results
	Cursor  string   // of the next page; empty: this was the last
}

// Lister is a [Store] that can list what it holds.
type Lister interface {
	List(ctx context.Context, f Filter) (Page, error)
}

// Waiter is a [Store] that can tell when a key changes. Wait returns when the
// record's version may differ from seen, or with the context's error. It may
// return early: the caller reads.
type Waiter interface {
	Wait(ctx context.Context, key Key, seen Version) error
}

// Stats describes a whole store.
type Stats struct {
	Rows    int64         // records, in any state
	InDoubt int64         // records in doubt
	Oldest  time.Duration // age of the oldest record
	Doubt   time.Duration // age of the oldest doubt, from its lease's end
}

// Statser is a [Store] that can describe itself.
type Statser interface {
	Stats(ctx context.Context) (Stats, error)
}

// Pinger is a [Store] that can be asked whether it is reachable.
type Pinger interface {
	Ping(ctx context.Context) error
}
