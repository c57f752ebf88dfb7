package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/semel-dev/semel"
)

// Dialect names the kind of database behind a [Store]. The zero Dialect is
// invalid.
type Dialect string

// SQLite is the dialect of SQLite 3.42 or later, with any driver.
const SQLite Dialect = "sqlite"

// dialect is what the code path shared by all databases needs to know of one.
// Each statement answers with the columns of a row after the change, or with no
// row if its condition did not hold. None is given a time: they take it from
// semel_clock.
type dialect struct {
	migrations string // folder of the embedded migrations
	tables     string // counts the tables named semel_meta
	get        string
	insert     string // a record for a key without one
	take       string // a new holder's record over exactly the version that was read
	again      string // the same attempt's lease, extended
	hold       string // renew, mark
	doubt      string
	finish     string // to Done, Dead, Free
	prune      string // deletes; answers with the tokens
	raise      string // the highest pruned token
	empty      string // empties results past their retention
	list       string // without its conditions
	inDoubt    string // condition
	stats      string
	param      func(n int) string                             // placeholder of the nth argument
	fault      func(error) fault                              // what an error means
	modern     func(context.Context, *sql.DB) error           // whether the database can do what the schema needs
	ready      func(context.Context, *sql.DB, *Options) error // whether the database keeps what it is told
	lock       string                                         // begins a transaction that excludes other migrations
}

func (d Dialect) find() (*dialect, error) {
	if d == SQLite {
		return &sqlite, nil
	}
	return nil, fmt.Errorf("%w: unknown dialect %q", semel.ErrInvalid, string(d))
}

// fault is what the common code path can make of a driver's error.
type fault uint8

const (
	faultOther fault = iota // whether the call was carried out is not known
	faultBusy               // not carried out: somebody else holds a lock
	faultStale              // not carried out, nor will it be in this transaction
)

// own is what an error means outside a caller's transaction: there, the next
// try is a new transaction.
func (d *dialect) own(err error) fault {
	if f := d.fault(err); f != faultStale {
		return f
	}
	return faultBusy
}
