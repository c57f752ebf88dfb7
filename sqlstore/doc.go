// Package sqlstore keeps claims in an SQL database: beside the effects that they
// guard, or even in the same transaction. It works through database/sql and
// imports no driver. So far it speaks SQLite.
//
// # In your transaction
//
// Where the effect is a write to the same database, claim and effect belong in
// one transaction. Then there is no moment between them: either both happened or
// neither did, and nothing can be in doubt.
//
//	tx, err := db.BeginTx(ctx, nil)
//	if err != nil {
//		return err
//	}
//	defer tx.Rollback()
//	first, _, err := store.ClaimTx(ctx, sqlstore.SQL(tx), semel.Key{Scope: "ship", ID: orderLine}, nil)
//	if err != nil || !first {
//		return err // a duplicate: nothing to do
//	}
//	if _, err := tx.ExecContext(ctx, "INSERT INTO shipments (order_line) VALUES (?)", orderLine); err != nil {
//		return err
//	}
//	return tx.Commit()
//
// Where a unique constraint of the table already says what must not exist twice,
// that constraint is the claim, and [InsertOnce] is all it takes. For effects
// elsewhere there is the Keeper, which leases keys from a [Store]; what such an
// effect writes here is committed together with its completion by
// [Store.CompleteTx].
//
// # Opening SQLite
//
// Use SQLite 3.42 or later, and give every connection these settings, in the
// data source name, so that none misses them:
//
//		file:claims.db?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate
//
//	  - journal_mode(WAL): reading, as a refused claim does, never waits for a writer.
//	  - synchronous(FULL): a claim that was answered survives a power cut.
//	  - _txlock=immediate: a transaction takes the write lock at its beginning. One
//	    that reads first and writes later can be refused the write for good, which
//	    no time-out cures; it gets [semel.ErrRetryTx].
//	  - busy_timeout: how long SQLite itself waits for a lock. The store waits on,
//	    up to [Options.LockWait].
//
// [New] checks the first two on one connection. SQLite has one writer at a time:
// a transaction of the caller's that stays open keeps every claim waiting, in
// every process on the file. The file belongs on a local disk.
//
// # Time
//
// The store's clock is the view semel_clock of its schema. Every statement takes
// the time from it; no time of the program is ever sent. Only for tests: whoever
// replaces the view moves the clock.
//
// # What can go wrong
//
// A full disk, a file that is read-only or damaged give errors, not verdicts. A
// file that is deleted under a running process is not noticed: it goes on with
// the deleted one, and others with a new one, which remembers nothing. SQLite notices damage to the structure of its file, not to every
// byte of it: where that matters, keep the file on storage that checks its data.
package sqlstore
