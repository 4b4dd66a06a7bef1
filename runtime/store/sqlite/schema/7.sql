-- A job knows the version of its handler, and of the contract, under which it was queued.
ALTER TABLE job ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE job ADD COLUMN contract INTEGER NOT NULL DEFAULT 1;

-- Hook runs, and jobs with their attempts, from their beginning on.
CREATE TABLE hook_run (
	num          INTEGER PRIMARY KEY,
	project      TEXT NOT NULL,
	id           TEXT NOT NULL,
	conversation TEXT NOT NULL,
	subsystem    TEXT NOT NULL,
	status       TEXT NOT NULL,
	body         TEXT NOT NULL,   -- store.Run as JSON
	UNIQUE (project, id)
) STRICT;
CREATE INDEX hook_run_project ON hook_run (project, num);
