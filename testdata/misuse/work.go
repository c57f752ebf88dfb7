// The work of a key gets its lease and says what came of it.
package misuse

import (
	"context"

	"github.com/semel-dev/semel"
)

func do(ctx context.Context, k *semel.Keeper, key semel.Key) {
	k.Do(ctx, key, func() error { return nil })                                            // ERROR "cannot use (func"
	k.Do(ctx, key, func(context.Context) error { return nil })                             // ERROR "cannot use (func"
	k.Do(ctx, key, func(context.Context, semel.Lease) ([]byte, error) { return nil, nil }) // ERROR "cannot use (func"
	if k.Do(ctx, key, nil) {                                                               // ERROR "multiple-value"
		return
	}
}
