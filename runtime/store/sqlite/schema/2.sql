ALTER TABLE conversation ADD COLUMN parent TEXT NOT NULL DEFAULT ''; -- id of the conversation whose child it is
ALTER TABLE conversation ADD COLUMN owner  TEXT NOT NULL DEFAULT ''; -- the lease: who claimed it last,
ALTER TABLE conversation ADD COLUMN epoch  INTEGER NOT NULL DEFAULT 0; -- how often it was claimed,
ALTER TABLE conversation ADD COLUMN until  INTEGER NOT NULL DEFAULT 0; -- and when it ends; 0 is free
ALTER TABLE conversation ADD COLUMN noted  INTEGER NOT NULL DEFAULT 0; -- seq of the last journal entry there was
ALTER TABLE conversation ADD COLUMN entries INTEGER NOT NULL DEFAULT 0; -- how many there are
ALTER TABLE conversation ADD COLUMN events INTEGER NOT NULL DEFAULT 0; -- seq of the last event

-- What the turn that is running has begun and ended.
CREATE TABLE entry (
	conversation INTEGER NOT NULL REFERENCES conversation (num) ON DELETE CASCADE,
	seq          INTEGER NOT NULL,
	kind         TEXT    NOT NULL,
	call_id      TEXT    NOT NULL,
	message      TEXT,                   -- JSON, as in message
	data         TEXT    NOT NULL,       -- JSON or empty
	PRIMARY KEY (conversation, seq)
) STRICT, WITHOUT ROWID;

-- Events that were written together.
CREATE TABLE event (
	conversation INTEGER NOT NULL REFERENCES conversation (num) ON DELETE CASCADE,
	last         INTEGER NOT NULL,       -- seq of the last of them
	body         TEXT    NOT NULL,       -- a line each: its seq, a blank, JSON
	PRIMARY KEY (conversation, last)
) STRICT, WITHOUT ROWID;
