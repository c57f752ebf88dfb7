package semeltest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semeltest"
)

// Charge is the code under test: it charges an order once.
func Charge(ctx context.Context, keeper *semel.Keeper, order string) (string, error) {
	outcome, err := keeper.Do(ctx, semel.Key{Scope: "shop", ID: order},
		func(ctx context.Context, lease *semel.Lease) ([]byte, error) {
			if err := lease.Start(); err != nil {
				return nil, err
			}
			fmt.Println("charging", order)
			return []byte("receipt of " + order), nil
		})
	return string(outcome.Result), err
}

// The store carries out the claim, and later records the outcome, but both
// answers are lost: the order is charged once all the same.
func ExampleLose() {
	testCharge := func(t testing.TB) {
		keeper := semeltest.New(t, nil, semeltest.Lose(1), semeltest.Lose(3))
		for range 2 {
			receipt, err := Charge(context.Background(), keeper, "order-42")
			fmt.Printf("%q, %v\n", receipt, err)
		}
	}
	testCharge(new(printer))
	// Output:
	// charging order-42
	// "receipt of order-42", <nil>
	// "receipt of order-42", <nil>
}

// printer stands for the *testing.T that a test has and an example has not.
type printer struct{ testing.TB }

func (*printer) Helper()        {}
func (*printer) Cleanup(func()) {}
