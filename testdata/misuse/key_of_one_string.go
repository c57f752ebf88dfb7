// Who must not repeat the work is part of every key: no single string is one.
package misuse

import (
	"context"

	"github.com/semel-dev/semel"
)

func one(ctx context.Context, k *semel.Keeper, work semel.Func) {
	k.Do(ctx, "order-42", work)       // ERROR "cannot use"
	_ = semel.Key("order-42")         // ERROR "cannot convert"
	_ = semel.Key{"order-42"}         // ERROR "too few values"
	k.Claim(ctx, "order-42", nil)     // ERROR "cannot use"
	k.Forget(ctx, "order-42", "", "") // ERROR "cannot use"
	k.Do(ctx, semel.Key{"t", "o"}, work)
}
