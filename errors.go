package semel

import (
	"errors"
	"fmt"
)

// The sentinel errors. A duplicate of finished work is a value, not an error.
// Compare with [errors.Is].
var (
	// ErrBusy reports that another attempt holds the key, or that the key is
	// backing off after a failure: try again later.
	ErrBusy = errors.New("semel: busy: another attempt holds this key")
	// ErrMismatch reports that the key was used before with another
	// fingerprint: the caller reuses a key for other work.
	ErrMismatch = errors.New("semel: mismatch: this key was used for a request with another fingerprint")
	// ErrLost reports that the lease is no longer the caller's: another holder
	// exists, or somebody settled the key.
	ErrLost = errors.New("semel: lost: the lease belongs to another holder")
	// ErrInDoubt reports that an earlier attempt ended without an outcome after
	// its mark: the effect may have happened, and nobody guesses.
	ErrInDoubt = errors.New("semel: in doubt: an earlier attempt may have taken effect")
	// ErrUnrecorded reports that the work was done but the store could not be
	// told; the result is returned beside it.
	ErrUnrecorded = errors.New("semel: unrecorded: the work is done but its outcome could not be stored")
	// ErrRetryTx reports that the caller's transaction must be rolled back and
	// run again.
	ErrRetryTx = errors.New("semel: retry: roll the transaction back and run it again")
	// ErrNotFound reports that the store knows nothing of the key.
	ErrNotFound = errors.New("semel: not found: the store knows nothing of this key")
	// ErrInvalid reports an argument outside its documented range. Nothing was
	// changed.
	ErrInvalid = errors.New("semel: invalid")
)

// DeadError reports that the key's work ended without success for good, and
// why. It is what a later attempt gets until the window ends.
type DeadError struct {
	Key    Key
	Reason string // as it was stored
}

// Error implements error.
func (e *DeadError) Error() string {
	return fmt.Sprintf("semel: dead: this key's work failed for good: %s", e.Reason)
}

// QuotaError reports that a scope gets no new keys for now. Replays and
// duplicates of known keys are still answered.
type QuotaError struct {
	Scope   string
	Limit   int
	InDoubt bool // the limit is [Options.MaxInDoubt]: settle keys to make room
}

// Error implements error.
func (e *QuotaError) Error() string {
	if e.InDoubt {
		return fmt.Sprintf("semel: quota: scope %q has more than %d keys in doubt; settle some first", e.Scope, e.Limit)
	}
	return fmt.Sprintf("semel: quota: scope %q has used its %d new keys of this window", e.Scope, e.Limit)
}

// verdictError is how a function passed to Do says what its error means.
type verdictError struct {
	error
	means meaning
}

type meaning uint8

const (
	meansNoEffect meaning = iota + 1
	meansPermanent
	meansInDoubt
)

func (e *verdictError) Unwrap() error { return e.error }

// NoEffect wraps err to say that the work certainly did not take effect: the
// key is released although it is marked. It returns nil if err is nil.
func NoEffect(err error) error { return wrapMeaning(err, meansNoEffect) }

// Permanent wraps err to say that no attempt can succeed: the key becomes
// dead, and later attempts get a [DeadError] with err's text. It returns nil
// if err is nil.
func Permanent(err error) error { return wrapMeaning(err, meansPermanent) }

// InDoubt wraps err to say that the work may have taken effect: the key is
// held in doubt although it was not marked. It returns nil if err is nil.
func InDoubt(err error) error { return wrapMeaning(err, meansInDoubt) }

func wrapMeaning(err error, m meaning) error {
	if err == nil {
		return nil
	}
	return &verdictError{err, m}
}

// meaningOf returns the outermost meaning in err's chain, or zero.
func meaningOf(err error) meaning {
	var v *verdictError
	if errors.As(err, &v) {
		return v.means
	}
	return 0
}
