// Package httpkey guards HTTP handlers with idempotency keys: a request that is
// sent again under the same key gets the first one's answer, and its effect
// happens once.
//
// Middleware wraps any handler. The key comes from the Idempotency-Key field
// (draft-ietf-httpapi-idempotency-key-header), its scope from a function that
// the caller has to provide: two principals never share a key.
//
// A guarded request is claimed before the handler runs and completed before the
// client gets the answer. The handler runs on although its client has left, so
// that the retry finds the answer. Whether an attempt that ended without an
// outcome (a crash, a time-out, a panic) may run again is the [Guarantee].
//
// A handler may say what became of its effect in the field Idempotency-Effect
// of its answer, which the client does not get to see: "none", "applied" or
// "unknown".
package httpkey

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel"
)

// Scope says whose keys a request uses: it returns the authenticated
// principal, or "" (or an error, which is logged nowhere and shown to nobody
// unless it is a [ScopeError]) if there is none. Two callers with one scope see
// each other's answers.
type Scope func(*http.Request) (string, error)

// ScopeError is an error of a [Scope] whose text is for the client.
type ScopeError string

// Error returns the text.
func (e ScopeError) Error() string { return string(e) }

// Guarantee says what happens to a key whose attempt ended without an outcome.
type Guarantee uint8

// The guarantees.
const (
	// AtMostOnce holds the key in doubt: it never runs again by itself. The
	// default.
	AtMostOnce Guarantee = iota
	// AtLeastOnce lets the next attempt run. The effect must be safe to repeat.
	AtLeastOnce
)

// String returns the guarantee's name in configurations.
func (g Guarantee) String() string {
	if g == AtLeastOnce {
		return "at-least-once"
	}
	return "at-most-once"
}

// OnAmbiguous says what becomes of a key whose handler answered with a 5xx or
// 408: the effect may have happened.
type OnAmbiguous string

// What can be done about an ambiguous answer.
const (
	// Replay keeps it like any other answer. Default under AtMostOnce.
	Replay OnAmbiguous = "replay"
	// Hold puts the key in doubt.
	Hold OnAmbiguous = "hold"
	// Probe puts the key in doubt and lets the next retry ask Options.Recover.
	Probe OnAmbiguous = "probe"
	// Release lets the next attempt run. Default under AtLeastOnce.
	Release OnAmbiguous = "release"
)

// Options configure a middleware. Nil, and the zero value of each field, mean
// the default that the field names.
type Options struct {
	// Route names the route in events. Default: empty.
	Route string
	// Guarantee: default AtMostOnce.
	Guarantee Guarantee
	// OnAmbiguous: default by the guarantee.
	OnAmbiguous OnAmbiguous
	// Methods are guarded, all others pass. Default POST and PATCH.
	Methods []string
	// Required refuses requests without a key. Default: they pass unguarded.
	Required bool
	// KeyPattern, if set, must match the whole key.
	KeyPattern *regexp.Regexp
	// MinKeyBytes refuses shorter keys: they are easily used twice. Default 1.
	MinKeyBytes int
	// Strict accepts a key only as a quoted string, as the draft has it.
	// Default: bare text as well.
	Strict bool
	// FingerprintFields are request fields that are part of what the request
	// means, beside If-Match. Default: none.
	FingerprintFields []string
	// MaxRequest bounds the body of a guarded request, in bytes. Default 1 MiB.
	MaxRequest int64
	// MaxResponse bounds the body of an answer that is kept, in bytes. A longer
	// one is passed on live. Default 1 MiB less what its head takes.
	MaxResponse int
	// StoredFields are kept with an answer beside the built-in list. Fields that
	// belong to one exchange, such as Set-Cookie, cannot be added.
	StoredFields []string
	// NotProcessed are statuses by which the handler says that it did nothing,
	// beside the built-in ones (401 403 407 413 414 421 425 426 429 431).
	NotProcessed []int
	// Wait is how long a copy waits for the first request. Default 2 s; negative:
	// not at all. A client may ask for another time by Prefer: wait=SECONDS.
	Wait time.Duration
	// MaxWait bounds what a client may ask for. Default 30 s.
	MaxWait time.Duration
	// Answer is how long the client waits for the handler. Then it is told that
	// the outcome is unknown, while the handler goes on. Default 30 s.
	Answer time.Duration
	// Deadline is how long the handler may run. Default 5 min.
	Deadline time.Duration
	// Window is how long a done key is remembered. Default 30 d.
	Window time.Duration
	// ResultFor is how long answers are kept. Default 24 h.
	ResultFor time.Duration
	// Lease is how long an attempt is held without a sign of life. Default: the
	// Keeper's.
	Lease time.Duration
	// Recover settles keys in doubt, see semel.RecoverFunc. A result that it
	// returns is made by EncodeAnswer. Default: the Keeper's.
	Recover semel.RecoverFunc
	// FailOpen lets requests through unguarded when the store does not answer.
	// Default: they get 503.
	FailOpen bool
	// Shadow only watches: every request reaches the handler, and events say
	// what would have been done. Default: guard.
	Shadow bool
	// ProblemBase is where the types of problems begin. Default [ProblemBase].
	ProblemBase string
	// Observe hears how each request was dealt with. It must not block.
	Observe func(Event)
}

// Event says how a request was dealt with.
type Event struct {
	Route  string
	Result Result
	Slug   string // of the problem the client got, if any
	Took   time.Duration
	Key    semel.Key // zero if no valid key was found, or no scope for it
	NoKey  bool      // the method is guarded, but there was no key
}

// Result is how a request was dealt with.
type Result string

// The results.
const (
	Executed   Result = "executed"
	Replayed   Result = "replayed"
	Waited     Result = "waited" // replayed, after waiting for the first request
	InProgress Result = "in_progress"
	Reused     Result = "reused"
	InDoubt    Result = "in_doubt"
	Refused    Result = "refused"    // its key or its scope, a quota, the store
	Bypassed   Result = "bypassed"   // unguarded: the store did not answer
	Ignored    Result = "ignored"    // unguarded: no key, or a method that is not guarded
	Unrecorded Result = "unrecorded" // executed, but the store could not be told
	Detached   Result = "detached"   // the client got 504, the handler went on
)

// Middleware returns a middleware that guards handlers with keeper's keys. It
// panics if keeper or scope is nil or an option is out of range: that is a
// mistake of the program's.
func Middleware(keeper *semel.Keeper, scope Scope, opts *Options) func(http.Handler) http.Handler {
	if keeper == nil || scope == nil {
		panic("httpkey: Middleware needs a keeper and a scope")
	}
	if opts == nil {
		opts = &Options{}
	}
	o := withDefaults(*opts)
	if err := o.Check(); err != nil {
		panic(err)
	}
	return func(next http.Handler) http.Handler {
		return &guard{keeper: keeper, scope: scope, next: next, opts: o, policy: o.keyPolicy(), crowds: make(map[semel.Key]int)}
	}
}

func withDefaults(o Options) Options {
	setDefault(&o.OnAmbiguous, map[Guarantee]OnAmbiguous{AtMostOnce: Replay, AtLeastOnce: Release}[o.Guarantee])
	setDefault(&o.MinKeyBytes, 1)
	setDefault(&o.MaxRequest, 1<<20)
	setDefault(&o.MaxResponse, 1<<20-16<<10)
	setDefault(&o.Wait, 2*time.Second)
	setDefault(&o.MaxWait, 30*time.Second)
	setDefault(&o.Answer, 30*time.Second)
	setDefault(&o.Deadline, 5*time.Minute)
	setDefault(&o.Window, 30*24*time.Hour)
	setDefault(&o.ResultFor, 24*time.Hour)
	if o.Methods == nil {
		o.Methods = []string{http.MethodPost, http.MethodPatch}
	}
	o.NotProcessed = append([]int{401, 403, 407, 413, 414, 421, 425, 426, 429, 431}, o.NotProcessed...)
	return o
}

// keyPolicy is what o demands of keys.
func (o *Options) keyPolicy() keyPolicy {
	p := keyPolicy{strict: o.Strict, min: o.MinKeyBytes}
	if o.KeyPattern != nil {
		var err error
		if p.pattern, err = keyPattern(o.KeyPattern.String()); err != nil {
			panic(err) // it was compiled before
		}
	}
	return p
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Check returns an error that wraps semel.ErrInvalid if o cannot be used.
func (o *Options) Check() error {
	switch {
	case !slices.Contains([]OnAmbiguous{"", Replay, Hold, Probe, Release}, o.OnAmbiguous):
		return fmt.Errorf("%w: OnAmbiguous %q", semel.ErrInvalid, o.OnAmbiguous)
	case o.MaxRequest < 0 || o.MaxResponse < 0 || o.MinKeyBytes < 0:
		return fmt.Errorf("%w: a negative size", semel.ErrInvalid)
	case o.Answer < 0 || o.Deadline < 0 || o.Window < 0 || o.ResultFor < 0 || o.Lease < 0 || o.MaxWait < 0:
		return fmt.Errorf("%w: a negative duration", semel.ErrInvalid)
	}
	if err := o.checkClaim(); err != nil {
		return err
	}
	for _, method := range o.Methods {
		if method == "" || method != strings.ToUpper(method) {
			return fmt.Errorf("%w: the method %q is none: they are written in capitals", semel.ErrInvalid, method)
		}
	}
	for _, name := range o.StoredFields {
		if !mayStore(name) {
			return fmt.Errorf("%w: the field %s belongs to one exchange and is never stored", semel.ErrInvalid, name)
		}
	}
	for _, status := range o.NotProcessed {
		if status < 400 || status > 599 {
			return fmt.Errorf("%w: status %d cannot mean that a request was not processed", semel.ErrInvalid, status)
		}
	}
	return nil
}

// checkClaim refuses what each claim would be refused for: a mistake of the
// configuration's must not look like a store that does not answer.
func (o *Options) checkClaim() error {
	d := withDefaults(*o)
	need := max(d.Wait, d.MaxWait) + 2*d.Lease + time.Minute
	switch {
	case d.Lease != 0 && (d.Lease < semel.MinLease || d.Lease > semel.MaxLease):
		return fmt.Errorf("%w: a lease of %v is outside %v to %v", semel.ErrInvalid, d.Lease, semel.MinLease, semel.MaxLease)
	case d.Window > semel.MaxWindow || d.ResultFor > semel.MaxWindow:
		return fmt.Errorf("%w: more than %v cannot be remembered", semel.ErrInvalid, semel.MaxWindow)
	case d.Window < need:
		return fmt.Errorf("%w: a window of %v is shorter than the longest wait + 2 × lease + 1 min = %v", semel.ErrInvalid, d.Window, need)
	}
	return nil
}

type leaseKey struct{}

// Lease returns the lease under which a guarded handler runs, for its token and
// its derived key, or nil if the request is not guarded. The middleware ends it.
func Lease(ctx context.Context) *semel.Lease {
	l, _ := ctx.Value(leaseKey{}).(*semel.Lease)
	return l
}

// EncodeAnswer returns an answer in the form in which it is stored, for a
// RecoverFunc that found the answer's content elsewhere. Only fields that may be
// stored are kept of the header. It returns an error that wraps
// semel.ErrInvalid if the status is not that of a final answer.
func EncodeAnswer(status int, header http.Header, body []byte) ([]byte, error) {
	if status < 200 || status > 999 {
		return nil, fmt.Errorf("%w: status %d is not a final answer's", semel.ErrInvalid, status)
	}
	a := answer{Status: status, Header: keep(header, status, nil), Body: body}
	return a.encode(), nil
}

// DecodeAnswer takes apart what is stored of an answer, for those who show or
// judge it. Of an answer that was not kept the body is empty.
func DecodeAnswer(stored []byte) (status int, header http.Header, body []byte, err error) {
	a, err := decode(stored)
	if err != nil {
		return 0, nil, nil, err
	}
	return a.Status, a.Header, a.Body, nil
}
