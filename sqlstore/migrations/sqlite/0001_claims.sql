-- One row per key. Times are microseconds since 1970 on the store's own clock,
-- durations are microseconds; 0 stands for "none" where a time may be missing.
CREATE TABLE semel (
	digest       BLOB    NOT NULL PRIMARY KEY CHECK (length(digest) = 32), -- SHA-256 of the length-prefixed scope and id
	scope        TEXT    NOT NULL,
	id           TEXT    NOT NULL,
	state        INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3), -- 0 free, 1 held, 2 done, 3 dead
	prior        INTEGER NOT NULL CHECK (prior BETWEEN 0 AND 3), -- the state before: tells a repeated update from a lost one
	token        INTEGER NOT NULL CHECK (token > 0 AND token < 9007199254740992),
	attempts     INTEGER NOT NULL CHECK (attempts >= 0),
	generation   INTEGER NOT NULL CHECK (generation >= 0),
	attempt      BLOB    NOT NULL CHECK (length(attempt) = 16), -- id of the last holder's attempt
	doubted      INTEGER NOT NULL CHECK (doubted = 0 OR (doubted = 1 AND state = 1 AND note IS NOT NULL)),
	recovered    INTEGER NOT NULL CHECK (recovered = 0 OR (recovered = 1 AND state = 1)),
	created      INTEGER NOT NULL CHECK (created > 0),
	until        INTEGER NOT NULL CHECK (until > 0), -- end of the lease, the window or the memory
	keep         INTEGER NOT NULL CHECK (keep > 0),  -- how long the row outlives until
	not_before   INTEGER NOT NULL,
	result_until INTEGER NOT NULL,
	prune_after  INTEGER NOT NULL, -- coarse, never before until + keep of a row that is final: a hint for pruning, not a verdict
	fingerprint  BLOB,
	note         BLOB CHECK (note IS NULL OR state = 1), -- NULL: not marked; empty: marked
	result       BLOB,
	kept         TEXT    NOT NULL,
	size         INTEGER NOT NULL,
	source       TEXT    NOT NULL,
	who          TEXT    NOT NULL,
	why          TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX semel_prune ON semel (prune_after);
CREATE INDEX semel_marked ON semel (scope, until) WHERE state = 1 AND note IS NOT NULL;
CREATE INDEX semel_result ON semel (result_until) WHERE result IS NOT NULL AND result_until > 0;

CREATE TABLE semel_meta (
	one     INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
	version INTEGER NOT NULL, -- of this schema
	pruned  INTEGER NOT NULL  -- the highest token ever pruned: later ones are above it
) STRICT;

INSERT INTO semel_meta (one, version, pruned) VALUES (1, 1, 0);

-- The store's clock: every statement takes the time from here and from nowhere
-- else. SQLite's time has milliseconds; rounding undoes the float.
CREATE VIEW semel_clock (now) AS
	SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000;
