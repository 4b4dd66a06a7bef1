CREATE TABLE schedule (
	num          INTEGER PRIMARY KEY,
	project      TEXT NOT NULL,
	name         TEXT NOT NULL,
	agent        TEXT NOT NULL,
	sender       TEXT NOT NULL,
	prompt       TEXT NOT NULL,
	cron         TEXT NOT NULL, -- '' for one that waits for events
	zone         TEXT NOT NULL, -- of cron; '' is that of the machine
	event        TEXT NOT NULL, -- JSON; '' for one with a cron line
	late         TEXT NOT NULL CHECK (late IN ('report', 'run')),
	created      INTEGER NOT NULL, -- all times in nanoseconds since 1970
	due          INTEGER NOT NULL, -- when it runs next; 0 for one that waits for events
	missed       INTEGER NOT NULL DEFAULT 0,
	missed_last  INTEGER NOT NULL DEFAULT 0,
	conversation TEXT NOT NULL DEFAULT '', -- that of its runs, once there was one
	UNIQUE (project, name)
) STRICT;
CREATE INDEX schedule_due ON schedule (project, due) WHERE due > 0;

-- The key names what began the run, so that no second process begins it again.
CREATE TABLE run (
	schedule     INTEGER NOT NULL,
	key          TEXT NOT NULL,
	due          INTEGER NOT NULL,
	began        INTEGER NOT NULL,
	ended        INTEGER NOT NULL, -- 0 while it runs
	held         INTEGER NOT NULL, -- until when its process has said that it lives; 0 once it has ended
	status       TEXT NOT NULL,
	conversation TEXT NOT NULL,
	turn         TEXT NOT NULL,
	note         TEXT NOT NULL,
	PRIMARY KEY (schedule, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_began ON run (schedule, began);
CREATE INDEX run_held ON run (held) WHERE held > 0;
