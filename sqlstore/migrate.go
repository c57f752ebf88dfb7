package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// Each file is one step of the schema, in the order of their names. A step that
// was released is never edited.
//
//go:embed migrations
var migrations embed.FS

// steps returns the texts of the dialect's migrations, in order.
func (d *dialect) steps() ([]string, error) {
	names, err := fs.Glob(migrations, d.migrations+"/*.sql")
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(names))
	for i, name := range names {
		text, err := migrations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		texts[i] = string(text)
	}
	return texts, nil
}

// Schema returns the statements that create the current schema in an empty
// database, for those who apply them with a tool of their own. It returns
// the empty string for an unknown dialect.
func Schema(dialect Dialect) string {
	d, err := dialect.find()
	if err != nil {
		return ""
	}
	texts, err := d.steps()
	if err != nil {
		return "" // the files are part of the program
	}
	return strings.Join(texts, "\n")
}

// Migrate brings the schema of a database up to date: it creates a missing one,
// changes an older one, and does nothing to a current one. It may be called by
// several processes at once. Each step is one transaction; a schema newer than
// this program knows is an error, and nothing ever steps back.
func Migrate(ctx context.Context, db *sql.DB, dialect Dialect) error {
	d, err := dialect.find()
	if err != nil {
		return err
	}
	texts, err := d.steps()
	if err != nil {
		return err
	}
	for {
		var done bool
		err := patiently(ctx, time.Minute, d.own, func() error {
			err := d.modern(ctx, db)
			if err == nil {
				done, err = d.migrateStep(ctx, db, texts)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("sqlstore: migrating: %w", err)
		}
		if done {
			return nil
		}
	}
}

// migrateStep applies the next step, or reports that there is none. It asks for
// the version under the lock, on a connection of its own.
func (d *dialect) migrateStep(ctx context.Context, db *sql.DB, texts []string) (done bool, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, d.lock); err != nil {
		return false, err
	}
	committed := false
	defer func() {
		if !committed {
			_, undo := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			err = errors.Join(err, undo)
		}
	}()
	version, err := d.version(ctx, conn)
	if err != nil {
		return false, err
	}
	if version >= len(texts) {
		return true, checkKnown(version, len(texts))
	}
	if _, err := conn.ExecContext(ctx, texts[version]); err != nil {
		return false, fmt.Errorf("step %d: %w", version+1, err)
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("UPDATE semel_meta SET version = %d", version+1)); err != nil {
		return false, err
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	committed = err == nil
	return false, err
}

// rower is a database, a connection or a transaction.
type rower interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// version returns the schema's version, 0 if there is no schema.
func (d *dialect) version(ctx context.Context, q rower) (int, error) {
	var tables, version int
	if err := q.QueryRowContext(ctx, d.tables).Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	err := q.QueryRowContext(ctx, `SELECT version FROM semel_meta`).Scan(&version)
	return version, err
}

// checkVersion refuses every schema but the current one.
func checkVersion(ctx context.Context, db *sql.DB, d *dialect) error {
	texts, err := d.steps()
	if err != nil {
		return err
	}
	version, err := d.version(ctx, db)
	switch {
	case err != nil:
		return fmt.Errorf("reading the schema's version: %w", err)
	case version == 0:
		return fmt.Errorf("the database has no schema for claims: call sqlstore.Migrate, or let semel serve open it once")
	case version < len(texts):
		return fmt.Errorf("the schema has version %d, this program needs %d: call sqlstore.Migrate, or let semel serve open it once", version, len(texts))
	}
	return checkKnown(version, len(texts))
}

func checkKnown(version, known int) error {
	if version > known {
		return fmt.Errorf("the schema has version %d, this program knows versions up to %d: use a newer program", version, known)
	}
	return nil
}
