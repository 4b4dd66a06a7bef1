-- A space is whose memories they are: "agent:NAME" or "space:NAME".
CREATE TABLE space (
	num INTEGER PRIMARY KEY,
	key TEXT    NOT NULL UNIQUE
) STRICT;

-- The memories of one space have neighbouring numbers: space << 40 and what
-- follows it. So a search walks one space only, by a range of rowids.
CREATE TABLE memory (
	num     INTEGER PRIMARY KEY,
	space   INTEGER NOT NULL REFERENCES space (num),
	key     TEXT    NOT NULL, -- the name, folded: what makes two names the same
	name    TEXT    NOT NULL,
	aliases TEXT    NOT NULL, -- a JSON array of texts
	content TEXT    NOT NULL,
	created INTEGER NOT NULL, -- nanoseconds since 1970, as updated
	updated INTEGER NOT NULL,
	UNIQUE (space, key)
) STRICT;

CREATE INDEX memory_updated ON memory (space, updated);

-- The index of words; its rowid is memory.num. What was indexed is in memory; it
-- is not kept here again.
CREATE VIRTUAL TABLE word USING fts5 (
	name, aliases, content,
	content = '', contentless_delete = 1,
	tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);
