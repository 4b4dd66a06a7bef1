-- What hooks keep of a conversation: the last value of each name.
CREATE TABLE state (
	conversation INTEGER NOT NULL REFERENCES conversation (num) ON DELETE CASCADE,
	name         TEXT    NOT NULL,
	data         TEXT    NOT NULL,         -- JSON
	PRIMARY KEY (conversation, name)
) STRICT, WITHOUT ROWID;
