package sqlstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/semel-dev/semel"
)

// patiently calls f again, after jittered pauses, for as long as it fails
// because somebody else holds a lock, within ctx and at most about wait. Then,
// or if the lock cannot come free for this transaction, it says so in semel's
// words: nothing was changed.
func patiently(ctx context.Context, wait time.Duration, means func(error) fault, f func() error) error {
	bound, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 64*time.Millisecond) {
		err := f()
		if err == nil {
			return nil
		}
		switch means(err) {
		case faultOther:
			return err
		case faultStale:
			return fmt.Errorf("%w: %w", semel.ErrRetryTx, err)
		}
		select {
		case <-bound.Done():
			return &lockedError{err}
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}

// lockedError is ErrBusy for a lock on more than the key.
type lockedError struct{ cause error }

func (e *lockedError) Error() string {
	return "busy: another connection keeps the database locked: " + e.cause.Error()
}

func (e *lockedError) Unwrap() []error { return []error{semel.ErrBusy, e.cause} }
