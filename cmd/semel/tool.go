package main

import (
	"context"
	"errors"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/memstore"
)

// listed is a store that can show what it holds.
type listed interface {
	semel.Store
	semel.Lister
}

// tool runs a command that looks after an existing store. A store that cannot
// be closed may have lost what the command did, so that this is an error too.
func (a *app) tool(ctx context.Context, f func(listed) error) error {
	o, err := openStore(ctx, a.store, false)
	if err != nil {
		return err
	}
	store, ok := o.Store.(listed)
	if _, memory := o.Store.(*memstore.Store); memory || !ok {
		return usageError("the store memory: belongs to the process that made it: there is nothing to look after")
	}
	err = f(store)
	if closed := o.close(); err == nil && closed != nil {
		err = &exitError{exitUnavailable, closed}
	}
	return err
}

// operator names whoever runs the command, for the audit: user@host. It is
// what the environment says, and as good as the environment.
func operator() string {
	name := os.Getenv("SUDO_USER") // who asked, not who was borrowed
	for _, v := range []string{"USER", "LOGNAME"} {
		if name == "" {
			name = os.Getenv(v)
		}
	}
	if name == "" {
		name = "unknown"
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return name + "@" + host
}

// maxWhy bounds the reason that is stored with a record.
const maxWhy = 500

func checkWhy(why string) error {
	if len(why) > maxWhy {
		return usageError("--why is %d bytes long, at most %d are kept", len(why), maxWhy)
	}
	return nil
}

// keyArg makes the key that a command line names.
func keyArg(scope string, args []string) (semel.Key, error) {
	key := semel.Key{Scope: scope, ID: args[0]}
	if scope == "" {
		return key, usageError("--scope is missing: a key is a scope and an id, and the id alone may be somebody else's")
	}
	if err := key.Check(); err != nil {
		return key, storeError(err)
	}
	return key, nil
}

// lookup reads a key's record, and says which key it is that is not there.
func lookup(ctx context.Context, store semel.Store, key semel.Key) (semel.Record, error) {
	rec, err := store.Get(ctx, key)
	if errors.Is(err, semel.ErrNotFound) {
		return rec, &exitError{exitNotFound, errUnknown(key)}
	}
	return rec, storeError(err)
}

func scopeFlag(c *cobra.Command, scope *string) {
	c.Flags().StringVar(scope, "scope", "", "the key's scope: who must not repeat it")
}

// deadlineFlag is the setting that decides when "it did not happen" can be
// known. It has to be the one that the effects are sent with.
func deadlineFlag(c *cobra.Command, d *time.Duration) {
	c.Flags().DurationVar(d, "effect-deadline", 5*time.Minute, "the longest time after which an effect that was sent can still happen")
}
