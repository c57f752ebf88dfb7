// Tokens, attempts and states are no plain values that could be mixed up.
package misuse

import (
	"context"

	"github.com/semel-dev/semel"
)

func token(ctx context.Context, s semel.Store, key semel.Key, rec semel.Record, id semel.AttemptID) {
	s.Update(ctx, key, rec.Attempts, semel.Change{}) // ERROR "cannot use rec.Attempts"
	s.Update(ctx, key, id, semel.Change{})           // ERROR "cannot use id"
	_ = semel.Request{Key: key, Attempt: rec.Token}  // ERROR "cannot use rec.Token"
	_ = semel.Request{Key: key, Seen: rec.Token}     // ERROR "cannot use rec.Token"
	_ = semel.Change{From: "held", To: semel.Done}   // ERROR "cannot use"
	_ = semel.Request{Key: key, Attempt: id, Seen: rec.Version()}
}
