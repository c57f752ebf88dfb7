package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/memstore"
	"github.com/semel-dev/semel/sqlstore"
)

const defaultStoreHelp = "$SEMEL_STORE, else /var/lib/semel/semel.db for root and $XDG_STATE_HOME/semel/semel.db for others"

// opened is a store that a command has opened.
type opened struct {
	semel.Store
	name  string // for people, without credentials
	local bool   // guards this host only
	close func() error
}

// defaultStore is where the keys are if nobody says so.
func defaultStore() (string, error) {
	if s := os.Getenv("SEMEL_STORE"); s != "" {
		return s, nil
	}
	if os.Geteuid() == 0 {
		return "/var/lib/semel/semel.db", nil
	}
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no store is given, and there is no home directory to put one into: %w", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "semel", "semel.db"), nil
}

// openStore opens the store that name says, or the default one. create makes
// the file and its schema if there is none; the tools that only look after a
// store do not make one, since a mistyped name would look like an empty store.
func openStore(ctx context.Context, name string, create bool) (*opened, error) {
	if name == "" {
		var err error
		if name, err = defaultStore(); err != nil {
			return nil, &exitError{exitUsage, err}
		}
	}
	scheme, rest, found := strings.Cut(name, ":")
	switch {
	case !found, strings.HasPrefix(name, "/"), strings.HasPrefix(name, "."):
		return openSQLite(ctx, name, create)
	case scheme == "sqlite":
		return openSQLite(ctx, strings.TrimPrefix(rest, "//"), create)
	case scheme == "memory" && rest == "":
		return &opened{memstore.New(), "memory, forgotten at the end of this process", true, func() error { return nil }}, nil
	}
	return nil, usageError("the store %q is neither a file, nor sqlite:FILE, nor memory:", scheme+":…")
}

func openSQLite(ctx context.Context, file string, create bool) (*opened, error) {
	if file == "" {
		return nil, usageError("the store sqlite: needs a file")
	}
	switch _, err := os.Stat(file); {
	case err == nil:
	case !errors.Is(err, fs.ErrNotExist):
		return nil, &exitError{exitUnavailable, fmt.Errorf("the store cannot be opened: %w", err)}
	case !create:
		return nil, &exitError{exitUnavailable, fmt.Errorf("there is no store at %s; semel serve makes one, --store names another", file)}
	default:
		// Keys and answers are nobody else's business.
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, &exitError{exitUnavailable, fmt.Errorf("the store's directory cannot be made: %w", err)}
		}
		f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, &exitError{exitUnavailable, fmt.Errorf("the store cannot be made: %w", err)}
		}
		if err := f.Close(); err != nil {
			return nil, &exitError{exitUnavailable, fmt.Errorf("the store cannot be made: %w", err)}
		}
	}
	db, err := sql.Open("sqlite", sqliteDSN(file))
	if err != nil {
		return nil, &exitError{exitUnavailable, err}
	}
	store, err := prepare(ctx, db, create)
	if err != nil {
		return nil, &exitError{exitUnavailable, fmt.Errorf("the store %s: %w", file, cmp.Or(errors.Join(err, db.Close()), err))}
	}
	return &opened{store, "sqlite:" + file, true, db.Close}, nil
}

// sqliteDSN sets what sqlstore demands of a connection.
func sqliteDSN(file string) string {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {
		"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)",
	}}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath(), RawQuery: q.Encode()}).String()
}

func prepare(ctx context.Context, db *sql.DB, create bool) (*sqlstore.Store, error) {
	if create {
		if err := sqlstore.Migrate(ctx, db, sqlstore.SQLite); err != nil {
			return nil, err
		}
	}
	return sqlstore.New(ctx, db, sqlstore.SQLite, nil)
}
