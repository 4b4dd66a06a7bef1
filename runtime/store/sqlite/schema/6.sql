-- What model calls have cost, added up by day, and what is reserved for those that run.
-- Costs are billionths of a dollar.
CREATE TABLE spent (
	day         TEXT    NOT NULL,   -- local date of the call's begin: 2026-11-25
	project     TEXT    NOT NULL,
	agent       TEXT    NOT NULL,
	model       TEXT    NOT NULL,
	token       TEXT    NOT NULL,   -- name of the credential that asked; '' is the local user
	calls       INTEGER NOT NULL,
	unpriced    INTEGER NOT NULL,   -- calls without a known price
	estimated   INTEGER NOT NULL,   -- calls without reported usage
	input       INTEGER NOT NULL,
	output      INTEGER NOT NULL,
	cache_read  INTEGER NOT NULL,
	cache_write INTEGER NOT NULL,
	reasoning   INTEGER NOT NULL,
	cost        INTEGER NOT NULL,
	PRIMARY KEY (day, project, agent, model, token)
) STRICT, WITHOUT ROWID;
CREATE INDEX spent_project ON spent (project, day, token, cost);
CREATE INDEX spent_token ON spent (token, day, project, cost) WHERE token <> '';

CREATE TABLE reserved (
	num      INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice: a late end must not meet another call
	day      TEXT    NOT NULL,
	project  TEXT    NOT NULL,
	agent    TEXT    NOT NULL,
	model    TEXT    NOT NULL,
	token    TEXT    NOT NULL,
	unpriced INTEGER NOT NULL,
	input    INTEGER NOT NULL,        -- estimated
	least    INTEGER NOT NULL,        -- what it has cost if nobody settles it
	most     INTEGER NOT NULL,        -- what it counts as until then
	until    INTEGER NOT NULL         -- nanoseconds since 1970
) STRICT;
CREATE INDEX reserved_until ON reserved (until);
