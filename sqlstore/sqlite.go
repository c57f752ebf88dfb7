package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
)

// now is the store's time inside a statement. SQLite reads its clock once per
// step, after it has the lock that the statement needs.
const now = `(SELECT now FROM semel_clock)`

// columns are what scanRow takes apart. Drivers disagree on how an empty blob
// looks, so that presence has a column of its own.
const columns = `scope, id, state, prior, token, attempts, generation, attempt, doubted, recovered,
	created, until, keep, not_before, result_until, fingerprint, note, result,
	(fingerprint IS NOT NULL) + 2 * (note IS NOT NULL) + 4 * (result IS NOT NULL),
	kept, size, source, who, why, ` + now

const returning = ` RETURNING ` + columns

// sqlite is the dialect of SQLite. Each statement outside a caller's
// transaction is its own: one log flush per claim.
var sqlite = dialect{
	migrations: "migrations/sqlite",
	lock:       `BEGIN IMMEDIATE`,
	tables:     `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'semel_meta'`,
	get:        `SELECT ` + columns + ` FROM semel WHERE digest = ?1`,
	insert: `INSERT INTO semel (digest, scope, id, state, prior, token, attempts, generation, attempt, doubted, recovered,
	created, until, keep, not_before, result_until, prune_after,
	fingerprint, note, result, kept, size, source, who, why)
SELECT ?1, ?2, ?3, ?4, ?5, max(c.now, m.pruned + 1), ?6, 0, ?7, 0, ?8,
	c.now, c.now + ?9, ?10, 0, CASE WHEN ?11 > 0 THEN c.now + ?11 ELSE 0 END, ((c.now + ?9 + ?10) / ?12 + 1) * ?12,
	?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20
FROM semel_clock AS c, semel_meta AS m WHERE true
ON CONFLICT (digest) DO NOTHING` + returning,
	take: `UPDATE semel SET state = ?4, prior = ?5, token = max(token + 1, c.now, m.pruned + 1),
	attempts = CASE WHEN state <> 1 AND until <= c.now THEN 1 ELSE attempts + 1 END, attempt = ?7, doubted = 0, recovered = ?8,
	created = CASE WHEN state <> 1 AND until <= c.now THEN c.now ELSE created END, until = c.now + ?9, keep = ?10, not_before = 0,
	result_until = CASE WHEN ?11 > 0 THEN c.now + ?11 ELSE 0 END, prune_after = ((c.now + ?9 + ?10) / ?12 + 1) * ?12,
	fingerprint = ?13, note = ?14, result = ?15, kept = ?16, size = ?17, source = ?18, who = ?19, why = ?20
FROM semel_clock AS c, semel_meta AS m
WHERE digest = ?1 AND scope = ?2 AND id = ?3
	AND token = ?6 AND state = ?21 AND doubted = ?22 AND until = ?23 AND (note IS NOT NULL) = ?24` + returning,
	again: `UPDATE semel SET until = max(until, c.now + ?5) FROM semel_clock AS c
WHERE digest = ?1 AND scope = ?2 AND id = ?3 AND attempt = ?4 AND state = 1 AND doubted = 0` + returning,
	hold: `UPDATE semel SET until = max(until, c.now + ?5), note = coalesce(?6, note) FROM semel_clock AS c
WHERE digest = ?1 AND scope = ?2 AND id = ?3 AND token = ?4 AND state = 1 AND doubted = 0` + returning,
	doubt: `UPDATE semel SET doubted = 1, until = c.now, note = coalesce(?5, note), who = ?6, why = ?7 FROM semel_clock AS c
WHERE digest = ?1 AND scope = ?2 AND id = ?3 AND token = ?4 AND state = 1 AND doubted = 0
	AND (note IS NOT NULL OR ?5 IS NOT NULL)` + returning,
	finish: `UPDATE semel SET prior = state, state = ?6, until = c.now + ?7,
	not_before = CASE WHEN ?8 > 0 THEN c.now + ?8 ELSE 0 END,
	result_until = CASE WHEN ?9 > 0 THEN c.now + ?9 ELSE 0 END,
	prune_after = CASE WHEN prune_after - (c.now + ?7 + keep) BETWEEN 0 AND (?7 + keep) / 32 THEN prune_after
		ELSE ((c.now + ?7 + keep) / ((?7 + keep) / 64 + 1) + 1) * ((?7 + keep) / 64 + 1) END,
	attempts = CASE WHEN ?10 THEN 0 ELSE max(attempts - ?11, 0) END, generation = generation + ?10,
	doubted = 0, recovered = 0, note = NULL, result = ?12, kept = ?13, size = ?14, who = ?15, why = ?16
FROM semel_clock AS c
WHERE digest = ?1 AND scope = ?2 AND id = ?3 AND token = ?4 AND state = ?5` + returning,
	prune: `DELETE FROM semel WHERE digest IN (
	SELECT digest FROM semel WHERE prune_after <= ` + now + ` AND ` + over + ` ORDER BY prune_after LIMIT ?1
) AND ` + over + ` RETURNING token`,
	raise: `UPDATE semel_meta SET pruned = max(pruned, ?1)`,
	empty: `UPDATE semel SET result = NULL, kept = 'expired' WHERE digest IN (
	SELECT digest FROM semel WHERE ` + stale + ` LIMIT ?1
) AND ` + stale,
	list:    `SELECT ` + listColumns + ` FROM semel`,
	inDoubt: `(state = 1 AND note IS NOT NULL AND until <= ` + now + `)`,
	stats: `SELECT a.n, c.now - coalesce(a.oldest, c.now), d.n, c.now - coalesce(d.oldest, c.now)
FROM semel_clock AS c,
	(SELECT count(*) AS n, min(created) AS oldest FROM semel) AS a,
	(SELECT count(*) AS n, min(until) AS oldest FROM semel WHERE state = 1 AND note IS NOT NULL AND until <= ` + now + `) AS d`,
	param:  func(n int) string { return "?" + strconv.Itoa(n) },
	fault:  sqliteFault,
	modern: sqliteModern,
	ready:  sqliteReady,
}

const (
	// over is true of rows that nobody needs any more. What is in doubt, or may
	// come to be, always is needed.
	over = `until + keep <= ` + now + ` AND NOT (state = 1 AND note IS NOT NULL)`
	// stale is true of rows whose result is past its retention.
	stale = `result IS NOT NULL AND result_until > 0 AND result_until <= ` + now
)

// listColumns are columns with a blank in the place of each result.
const listColumns = `scope, id, state, prior, token, attempts, generation, attempt, doubted, recovered,
	created, until, keep, not_before, result_until, fingerprint, note, NULL,
	(fingerprint IS NOT NULL) + 2 * (note IS NOT NULL) + 4 * (result IS NOT NULL),
	kept, size, source, who, why, ` + now

// sqliteReady refuses a database that would forget claims, and says how to
// open it instead.
func sqliteReady(ctx context.Context, db *sql.DB, o *Options) error {
	var journal string
	var sync int
	err := db.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&journal)
	if err == nil {
		err = db.QueryRowContext(ctx, `PRAGMA synchronous`).Scan(&sync)
	}
	switch {
	case err != nil:
		return fmt.Errorf("asking SQLite how it is set: %w", err)
	case journal != "wal":
		return fmt.Errorf("SQLite's journal_mode is %s, not wal: open the database with the pragma journal_mode(WAL), see the package's documentation", journal)
	case sync >= 2, sync == 1 && o.PowerCutMayForget:
		return nil
	}
	return fmt.Errorf("SQLite's synchronous is %d, not 2 (FULL): a power cut could make it forget claims, and their work would be repeated; "+
		"open the database with the pragma synchronous(FULL), or set Options.PowerCutMayForget to accept 1 (NORMAL)", sync)
}

// sqliteModern refuses a SQLite that lacks what the schema needs.
func sqliteModern(ctx context.Context, db *sql.DB) error {
	var version string
	var subsec bool // since 3.42
	if err := db.QueryRowContext(ctx, `SELECT sqlite_version(), unixepoch('now', 'subsec') IS NOT NULL`).Scan(&version, &subsec); err != nil {
		return fmt.Errorf("asking SQLite for its version: %w", err)
	}
	if !subsec {
		return fmt.Errorf("SQLite %s is too old: 3.42 or later is needed", version)
	}
	return nil
}

// SQLite's result codes that decide something here.
const (
	sqliteBusy         = 5
	sqliteLocked       = 6
	sqliteBusySnapshot = 5 | 2<<8
)

// sqliteFault tells contention from everything else, by code.
func sqliteFault(err error) fault {
	r := findResult(err)
	switch {
	case r == nil:
		return faultOther
	case r.code == sqliteBusySnapshot:
		return faultStale
	case r.code&0xff == sqliteBusy, r.code&0xff == sqliteLocked:
		return faultBusy
	}
	return faultOther
}
