-- A space is whose memories they are: "agent:NAME" or "space:NAME".
CREATE TABLE space (
	num INTEGER PRIMARY KEY,
	key TEXT    NOT NULL UNIQUE
) STRICT;

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

-- The index of words; its rowid is memory.num. The column space holds "s" and
-- space.num, so that a search walks the memories of one space only. What was
-- indexed is in memory; it is not kept here again.
CREATE VIRTUAL TABLE word USING fts5 (
	name, aliases, content, space,
	content = '', contentless_delete = 1,
	tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);
