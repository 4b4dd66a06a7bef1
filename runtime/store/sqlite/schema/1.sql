CREATE TABLE conversation (
	num      INTEGER PRIMARY KEY,
	id       TEXT    NOT NULL UNIQUE,
	agent    TEXT    NOT NULL,
	sender   TEXT    NOT NULL,
	version  INTEGER NOT NULL DEFAULT 0,
	turns    INTEGER NOT NULL DEFAULT 0,
	messages INTEGER NOT NULL DEFAULT 0, -- how many, and so the seq of the next one
	created  INTEGER NOT NULL,           -- nanoseconds since 1970, as updated
	updated  INTEGER NOT NULL,
	UNIQUE (agent, sender)
) STRICT;

CREATE TABLE message (
	conversation INTEGER NOT NULL REFERENCES conversation (num) ON DELETE CASCADE,
	seq          INTEGER NOT NULL,       -- from 0, without gaps
	body         TEXT    NOT NULL,       -- JSON
	PRIMARY KEY (conversation, seq)
) STRICT;
