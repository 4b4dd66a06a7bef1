-- Work that is done apart from any turn; of one kind and key there is one.
CREATE TABLE job (
	num          INTEGER PRIMARY KEY,
	kind         TEXT    NOT NULL,
	key          TEXT    NOT NULL,
	payload      TEXT    NOT NULL,        -- JSON or empty
	conversation TEXT    NOT NULL,        -- where it was queued, or empty
	turn         TEXT    NOT NULL,
	status       TEXT    NOT NULL,
	attempts     INTEGER NOT NULL,
	due          INTEGER NOT NULL,        -- nanoseconds since 1970; of one that is running the end of its lease
	owner        TEXT    NOT NULL,
	epoch        INTEGER NOT NULL,
	failure      TEXT    NOT NULL,
	created      INTEGER NOT NULL,
	updated      INTEGER NOT NULL,
	UNIQUE (kind, key)
) STRICT;

CREATE INDEX job_due ON job (due) WHERE status IN ('queued', 'running');
CREATE INDEX job_status ON job (status);
