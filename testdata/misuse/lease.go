// A lease is won, not made, and its outcome cannot be left out.
package misuse

import (
	"context"

	"github.com/semel-dev/semel"
)

func lease(ctx context.Context, k *semel.Keeper, key semel.Key) {
	won, err := k.Claim(ctx, key, nil) // ERROR "assignment mismatch"
	_ = semel.Lease{token: 1}          // ERROR "unexported field token"
	lease, rec, problem := k.Claim(ctx, key, nil)
	if lease { // ERROR "non-boolean condition"
		return
	}
	if lease == rec { // ERROR "mismatched types"
		return
	}
	lease.Complete(ctx)           // ERROR "not enough arguments"
	lease.Complete(ctx, "result") // ERROR "cannot use"
	lease.Doubt(ctx)              // ERROR "not enough arguments"
	_, _, _ = won, err, problem
}
