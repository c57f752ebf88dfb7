package semel_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/memstore"
)

// The work of a key runs once; whoever repeats it gets the first result.
func ExampleKeeper_Do() {
	keeper, err := semel.New(memstore.New(), nil)
	if err != nil {
		panic(err)
	}
	pay := func(ctx context.Context, lease *semel.Lease) ([]byte, error) {
		fmt.Println("paying")
		return []byte("receipt 7"), nil
	}
	order := semel.Key{Scope: "tenant-1", ID: "order-42"}
	for range 2 {
		o, err := keeper.Do(context.Background(), order, pay)
		fmt.Printf("%s, replayed: %v, error: %v\n", o.Result, o.Replayed, err)
	}
	// Output:
	// paying
	// receipt 7, replayed: false, error: <nil>
	// receipt 7, replayed: true, error: <nil>
}

// An error frees the key for the next attempt.
func ExampleKeeper_Do_retry() {
	keeper, _ := semel.New(memstore.New(), &semel.Options{BackOff: -1})
	order := semel.Key{Scope: "tenant-1", ID: "order-42"}
	attempt := func(ctx context.Context, lease *semel.Lease) ([]byte, error) {
		if lease.Record().Attempts == 1 {
			return nil, errors.New("connection refused")
		}
		return []byte("receipt 7"), nil
	}
	for range 2 {
		o, err := keeper.Do(context.Background(), order, attempt)
		fmt.Printf("attempt %d: %q, %v\n", o.Attempts, o.Result, err)
	}
	// Output:
	// attempt 1: "", connection refused
	// attempt 2: "receipt 7", <nil>
}

// At most once: the lease is marked before the call to the provider. When that
// call ends without an outcome the key is in doubt, and no attempt runs until
// somebody has found out what happened.
func ExampleKeeper_DoWith_atMostOnce() {
	keeper, _ := semel.New(memstore.New(), nil)
	ctx := context.Background()
	order := semel.Key{Scope: "tenant-1", ID: "order-42"}
	marked := &semel.ClaimOptions{Note: []byte("charge order-42")}
	charge := func(ctx context.Context, lease *semel.Lease) ([]byte, error) {
		if err := lease.Start(); err != nil { // directly before the effect
			return nil, semel.NoEffect(err)
		}
		fmt.Println("charging")
		return nil, errors.New("connection reset")
	}
	for range 2 {
		_, err := keeper.DoWith(ctx, order, marked, charge)
		fmt.Println("in doubt:", errors.Is(err, semel.ErrInDoubt))
	}

	// Ann has asked the provider.
	_, err := keeper.Settle(ctx, order, semel.Settlement{
		Happened: true, Result: []byte("receipt 7"), By: "ann", Why: "found at the provider",
	})
	fmt.Println("settled:", err)
	o, err := keeper.DoWith(ctx, order, marked, charge)
	fmt.Printf("%s, %v\n", o.Result, err)
	// Output:
	// charging
	// in doubt: true
	// in doubt: true
	// settled: <nil>
	// receipt 7, <nil>
}

// Recovery asks the outside system about a key in doubt, so that nobody has to.
func ExampleRecoverFunc() {
	charged := false
	keeper, _ := semel.New(memstore.New(), &semel.Options{
		Recover: func(ctx context.Context, rec semel.Record) (semel.Finding, []byte, error) {
			fmt.Printf("looking for %s\n", rec.Note)
			if charged {
				return semel.Happened, []byte("receipt 7"), nil
			}
			return semel.DidNotHappen, nil, nil
		},
	})
	order := semel.Key{Scope: "tenant-1", ID: "order-42"}
	charge := func(ctx context.Context, lease *semel.Lease) ([]byte, error) {
		if err := lease.Mark(ctx, []byte("charge "+lease.DerivedKey()[:8])); err != nil {
			return nil, err
		}
		charged = true
		return nil, errors.New("the answer was cut off")
	}
	_, err := keeper.Do(context.Background(), order, charge)
	fmt.Println("in doubt:", errors.Is(err, semel.ErrInDoubt))
	o, err := keeper.Do(context.Background(), order, charge)
	fmt.Printf("%s, %v\n", o.Result, err)
	// Output:
	// in doubt: true
	// looking for charge 0b89e5a4
	// receipt 7, <nil>
}

// Work that can never succeed is not tried again.
func ExamplePermanent() {
	keeper, _ := semel.New(memstore.New(), nil)
	order := semel.Key{Scope: "tenant-1", ID: "order-42"}
	pay := func(ctx context.Context, lease *semel.Lease) ([]byte, error) {
		return nil, semel.Permanent(errors.New("no such account"))
	}
	_, err := keeper.Do(context.Background(), order, pay)
	fmt.Println(err)
	_, err = keeper.Do(context.Background(), order, pay)
	if dead, ok := errors.AsType[*semel.DeadError](err); ok {
		fmt.Println("dead:", dead.Reason)
	}
	// Output:
	// no such account
	// dead: no such account
}

// NoEffect frees a marked key: nothing was sent.
func ExampleNoEffect() {
	keeper, _ := semel.New(memstore.New(), &semel.Options{BackOff: -1})
	order := semel.Key{Scope: "tenant-1", ID: "order-42"}
	marked := &semel.ClaimOptions{Note: []byte("charge order-42")}
	refused := func(ctx context.Context, lease *semel.Lease) ([]byte, error) {
		return nil, semel.NoEffect(errors.New("connection refused"))
	}
	_, err := keeper.DoWith(context.Background(), order, marked, refused)
	rec, _ := keeper.Get(context.Background(), order)
	fmt.Printf("%v; the key is %v\n", err, rec.State)
	// Output:
	// connection refused; the key is free
}
