package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
)

func (a *app) forgetCommand() *cobra.Command {
	var scope, why string
	c := &cobra.Command{
		Use:   "forget KEY --scope SCOPE",
		Short: "Free a done or dead key, so that its work runs again on purpose",
		Long: `forget frees a key that is done or dead: the next attempt does the work again.
Its generation rises, so that the keys derived from it for other systems are new
ones too. Who forgot it and why is stored with the key. A key that is held is
refused, and one in doubt is to be settled.`,
		Example: `  semel forget 4f2c --scope orders --why "the mailer was broken"`,
		Args:    oneKey,
		RunE: func(c *cobra.Command, args []string) error {
			key, err := keyArg(scope, args)
			if err == nil {
				err = checkWhy(why)
			}
			if err != nil {
				return err
			}
			return a.tool(c.Context(), func(store listed) error {
				keeper, err := semel.New(store, nil)
				if err != nil {
					return err
				}
				rec, err := keeper.Forget(c.Context(), key, operator(), why)
				if err != nil {
					return notForgotten(&rec, key, err)
				}
				return a.print(newEntry(&rec), "%s: forgotten, the next attempt does the work (generation %d)\n", name(key), rec.Generation)
			})
		},
	}
	scopeFlag(c, &scope)
	c.Flags().StringVar(&why, "why", "", "the reason, stored with the key")
	return c
}

func notForgotten(rec *semel.Record, key semel.Key, err error) error {
	switch {
	case errors.Is(err, semel.ErrNotFound):
		return &exitError{exitNotFound, errUnknown(key)}
	case errors.Is(err, semel.ErrInDoubt):
		return &exitError{exitTempFail, fmt.Errorf("the key is in doubt: settle it instead")}
	case errors.Is(err, semel.ErrBusy) && rec.Lapsed():
		return &exitError{exitTempFail, fmt.Errorf("the key is held, but its lease ended %s: the next attempt takes it over, there is nothing to forget", from(rec.Until.Sub(rec.Now)))}
	case errors.Is(err, semel.ErrBusy) && rec.State == semel.Held:
		return &exitError{exitTempFail, fmt.Errorf("the key is held: %s has it for %s more", holder(rec.By), left(rec.Until.Sub(rec.Now)))}
	case errors.Is(err, semel.ErrInvalid) && rec.State == semel.Free:
		return &exitError{exitData, fmt.Errorf("the key is free: there is nothing to forget")}
	case errors.Is(err, semel.ErrLost):
		return &exitError{exitTempFail, fmt.Errorf("somebody else changed the key meanwhile")}
	}
	return storeError(err)
}
