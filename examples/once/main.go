// Command once does a piece of work once, and tells those who repeat it what
// came of it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/memstore"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	keeper, err := semel.New(memstore.New(), nil)
	if err != nil {
		return err
	}
	invoice := semel.Key{Scope: "billing", ID: semel.Join("invoice", "2026-11", "customer-7")}
	for range 2 {
		outcome, err := keeper.Do(ctx, invoice, func(ctx context.Context, lease *semel.Lease) ([]byte, error) {
			fmt.Println("sending the invoice")
			return []byte("INV-1"), nil
		})
		if err != nil {
			return err
		}
		fmt.Printf("%s, replayed: %v\n", outcome.Result, outcome.Replayed)
	}

	// An effect that cannot share a transaction is marked: if its outcome gets
	// lost, nobody runs it again.
	charge := semel.Key{Scope: "billing", ID: "charge-7"}
	marked := &semel.ClaimOptions{Note: []byte("reference 7 at the bank")}
	for range 2 {
		_, err := keeper.DoWith(ctx, charge, marked, func(ctx context.Context, lease *semel.Lease) ([]byte, error) {
			fmt.Println("calling the bank")
			return nil, errors.New("time-out")
		})
		fmt.Println("in doubt:", errors.Is(err, semel.ErrInDoubt))
	}
	return nil
}
