package sqlstore

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/semel-dev/semel"
)

// InsertOnce inserts one row into a table of the caller's whose unique
// constraint says what must not exist twice, and reports whether this insert
// was the first. A duplicate is no error and leaves the transaction usable.
// Only a violation of the named constraint counts as one: every other is an
// error, also one of another unique constraint.
//
// On SQLite the constraint is named by its index or by its columns, as in
// "orders.tenant, orders.number". It must exist on the statement's table, be
// unique, cover all rows, and be the only one on these columns; otherwise
// InsertOnce returns an error that wraps [semel.ErrInvalid] and inserts
// nothing. Columns that are NULL never conflict. A row that
// violates several constraints is reported by SQLite for one of them only.
//
// The query begins with INSERT INTO and the table, inserts one row, and has no
// conflict clause, RETURNING or semicolon. Conflict clauses that the table
// declares do not apply: they could hide a violation. [semel.ErrBusy] and
// [semel.ErrRetryTx] as in [Store.ClaimTx], after at most 10 s.
func InsertOnce(ctx context.Context, tx Tx, constraint, query string, args ...any) (first bool, err error) {
	if err := tx.check(); err != nil {
		return false, err
	}
	into, err := parseInsert(query)
	if err != nil {
		return false, err
	}
	err = within(ctx, &sqlite, 10*time.Second, "insert", func() error {
		failing, err := findUnique(ctx, tx.q, into, constraint)
		if err != nil {
			return err
		}
		first, err = insertOne(ctx, tx.q, failing, into.query, args)
		return err
	})
	return first, err
}

// insertOne inserts, and takes a violation of the constraint that SQLite calls
// failing for the answer no.
func insertOne(ctx context.Context, q querier, failing, query string, args []any) (bool, error) {
	res, err := q.ExecContext(ctx, query, args...)
	if IsDuplicate(err, failing) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	if err == nil && n != 1 {
		err = fmt.Errorf("%w: the query inserted %d rows, not one: roll back", semel.ErrInvalid, n)
	}
	return err == nil, err
}

// insertion is a query taken apart as far as needed.
type insertion struct {
	schema string // empty: not given
	table  string
	query  string // as it is sent: every violation is an error
}

const identifier = `("(?:[^"]|"")+"|\[[^\]]+\]|` + "`(?:[^`]|``)+`" + `|[\pL_][\pL\pN_$]*)`

var (
	insertInto = regexp.MustCompile(`(?i)^(\s*INSERT\s+)INTO\s+` + identifier + `(?:\s*\.\s*` + identifier + `)?`)
	foreign    = regexp.MustCompile(`(?i)\bON\s+CONFLICT\b|\bRETURNING\b|;`)
)

func parseInsert(query string) (insertion, error) {
	m := insertInto.FindStringSubmatch(query)
	if m == nil {
		return insertion{}, fmt.Errorf("%w: the query does not begin with INSERT INTO and a table", semel.ErrInvalid)
	}
	if f := foreign.FindString(query); f != "" {
		return insertion{}, fmt.Errorf("%w: the query contains %q, which could turn the verdict; pass values as arguments", semel.ErrInvalid, f)
	}
	into := insertion{table: unquote(m[2]), query: "INSERT OR ABORT " + query[len(m[1]):]}
	if m[3] != "" {
		into.schema, into.table = into.table, unquote(m[3])
	}
	return into, nil
}

func unquote(name string) string {
	switch q := name[0]; q {
	case '"', '`':
		return strings.ReplaceAll(name[1:len(name)-1], string([]byte{q, q}), string(q))
	case '[':
		return name[1 : len(name)-1]
	}
	return name
}

// index is a unique index of SQLite, also one behind a constraint.
type index struct {
	name       string
	partial    bool
	expression bool
	columns    []string
}

// findUnique returns what SQLite calls the constraint when it is violated, or an
// error if that would not tell it from others.
func findUnique(ctx context.Context, q querier, into insertion, constraint string) (string, error) {
	all, err := uniqueIndexes(ctx, q, into.schema, into.table)
	if err != nil {
		return "", err
	}
	var found *index
	for i := range all {
		if ix := &all[i]; strings.EqualFold(ix.name, constraint) || strings.EqualFold(ix.fails(into.table), columnList(constraint)) {
			found = ix
			break
		}
	}
	switch {
	case found == nil:
		return "", fmt.Errorf("%w: table %q has no unique constraint %q", semel.ErrInvalid, into.table, constraint)
	case found.partial:
		return "", fmt.Errorf("%w: unique index %q of table %q is partial: rows outside it could exist twice", semel.ErrInvalid, found.name, into.table)
	}
	failing := found.fails(into.table)
	for i := range all {
		if o := &all[i]; o != found && strings.EqualFold(o.fails(into.table), failing) {
			return "", fmt.Errorf("%w: table %q has two unique constraints on %s", semel.ErrInvalid, into.table, failing)
		}
	}
	return failing, nil
}

// fails returns what SQLite calls ix when it is violated.
func (ix *index) fails(table string) string {
	if ix.expression {
		return ix.name
	}
	return table + "." + strings.Join(ix.columns, ", "+table+".")
}

// uniqueIndexes lists a table's unique indexes. A rowid that has a name of its
// own has no index and is added.
func uniqueIndexes(ctx context.Context, q querier, schema, table string) ([]index, error) {
	const query = `SELECT l.name, l.partial, i.cid, coalesce(i.name, '')
FROM pragma_index_list(?1, ?2) AS l, pragma_index_info(l.name, ?2) AS i WHERE l."unique"
UNION ALL
SELECT '', 0, cid, name FROM pragma_table_info(?1, ?2)
WHERE pk = 1 AND upper(type) = 'INTEGER'
	AND NOT EXISTS (SELECT 1 FROM pragma_index_list(?1, ?2) WHERE origin = 'pk')`
	var in any // NULL: wherever the table is found first
	if schema != "" {
		in = schema
	}
	rows, err := q.QueryContext(ctx, query, table, in)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []index
	for rows.Next() {
		var name, column string
		var partial bool
		var cid int
		if err := rows.Scan(&name, &partial, &cid, &column); err != nil {
			return nil, err
		}
		if len(all) == 0 || all[len(all)-1].name != name {
			all = append(all, index{name: name, partial: partial})
		}
		ix := &all[len(all)-1]
		ix.columns = append(ix.columns, column)
		ix.expression = ix.expression || cid < 0
	}
	return all, rows.Err()
}
