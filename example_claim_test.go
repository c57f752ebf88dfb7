package semel_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/memstore"
)

// A duplicate is a value: no lease, no error, and the record of what was done.
func ExampleKeeper_Claim() {
	keeper, _ := semel.New(memstore.New(), nil)
	ctx := context.Background()
	event := semel.Key{Scope: "billing", ID: "evt-1"}
	handle := func() {
		lease, rec, err := keeper.Claim(ctx, event, nil)
		switch {
		case errors.Is(err, semel.ErrBusy):
			fmt.Println("another worker is at it: deliver it again later")
		case err != nil:
			fmt.Println("failed:", err)
		case lease == nil:
			fmt.Printf("a duplicate; it was done with %q\n", rec.Result)
		default:
			defer lease.Release(ctx) // does nothing after Complete
			fmt.Println("working")
			if err := lease.Complete(ctx, []byte("invoice 9")); err != nil {
				fmt.Println("not recorded:", err)
			}
		}
	}
	handle()
	handle()
	// Output:
	// working
	// a duplicate; it was done with "invoice 9"
}

func ExampleKeeper_Claim_busy() {
	keeper, _ := semel.New(memstore.New(), nil)
	ctx := context.Background()
	event := semel.Key{Scope: "billing", ID: "evt-1"}
	lease, _, _ := keeper.Claim(ctx, event, &semel.ClaimOptions{By: "worker 1"})
	_, rec, err := keeper.Claim(ctx, event, nil)
	fmt.Println(errors.Is(err, semel.ErrBusy), "held by", rec.By)

	lease.Release(ctx)
	lease, _, err = keeper.Claim(ctx, event, nil)
	fmt.Println(lease != nil, err)
	// Output:
	// true held by worker 1
	// true <nil>
}

// A fingerprint tells a retry from a key that was reused for other work.
func ExampleClaimOptions_fingerprint() {
	keeper, _ := semel.New(memstore.New(), nil)
	pay := func(amount string) (semel.Outcome, error) {
		return keeper.DoWith(context.Background(), semel.Key{Scope: "tenant-1", ID: "order-42"},
			&semel.ClaimOptions{Fingerprint: []byte("v1:" + amount)},
			func(context.Context, *semel.Lease) ([]byte, error) { return []byte("paid " + amount), nil })
	}
	for _, amount := range []string{"10 EUR", "10 EUR", "20 EUR"} {
		o, err := pay(amount)
		fmt.Printf("%q, mismatch: %v\n", o.Result, errors.Is(err, semel.ErrMismatch))
	}
	// Output:
	// "paid 10 EUR", mismatch: false
	// "paid 10 EUR", mismatch: false
	// "", mismatch: true
}

// The source says why there may be a second attempt; the Observer hears it.
func ExampleWithSource() {
	keeper, _ := semel.New(memstore.New(), &semel.Options{Observer: &semel.Observer{
		Claimed: func(e semel.ClaimEvent) { fmt.Println(e.Verdict, e.Source) },
	}})
	event := semel.Key{Scope: "billing", ID: "evt-1"}
	work := func(context.Context, *semel.Lease) ([]byte, error) { return nil, nil }
	ctx := context.Background()
	keeper.Do(semel.WithSource(ctx, semel.Webhook), event, work)
	keeper.Do(semel.WithSource(ctx, semel.QueueRedelivery), event, work)
	// Output:
	// won webhook
	// done queue_redelivery
}

// DerivedKey is an idempotency key for the next hop: the same on every attempt,
// another one once the work is wanted again on purpose.
func ExampleLease_DerivedKey() {
	keeper, _ := semel.New(memstore.New(), &semel.Options{Secret: []byte("keep me out of the code")})
	ctx := context.Background()
	order := semel.Key{Scope: "tenant-1", ID: "order-42"}
	claim := func() *semel.Lease {
		lease, _, _ := keeper.Claim(ctx, order, nil)
		return lease
	}
	first := claim()
	first.Release(ctx)
	second := claim()
	fmt.Println("the same on a retry:", first.DerivedKey() == second.DerivedKey())
	second.Complete(ctx, nil)
	keeper.Forget(ctx, order, "ann", "the customer wants it twice")
	fmt.Println("the same after a forget:", first.DerivedKey() == claim().DerivedKey())
	// Output:
	// the same on a retry: true
	// the same after a forget: false
}

// Tokens rise from holder to holder: an effect that remembers the greatest one
// refuses those who come too late.
func ExampleLease_Token() {
	keeper, _ := semel.New(memstore.New(), nil)
	ctx := context.Background()
	order := semel.Key{Scope: "tenant-1", ID: "order-42"}
	first, _, _ := keeper.Claim(ctx, order, nil)
	first.Release(ctx)
	second, _, _ := keeper.Claim(ctx, order, nil)
	fmt.Println(second.Token() > first.Token())
	fmt.Println(errors.Is(first.Complete(ctx, nil), semel.ErrLost))
	// Output:
	// true
	// true
}

// Join makes one half of a key of several parts, so that no two lists of parts
// are joined alike.
func ExampleJoin() {
	fmt.Println(semel.Join("ab", "c"))
	fmt.Println(semel.Join("a", "bc"))
	// Output:
	// 2:ab1:c
	// 1:a2:bc
}
