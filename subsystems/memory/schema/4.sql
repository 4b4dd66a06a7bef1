-- A memory says what it is, where it is from and how far it can be trusted. What was there
-- before was written by models with the tool remember.
ALTER TABLE memory ADD COLUMN kind       TEXT    NOT NULL DEFAULT 'fact';      -- fact, preference, task
ALTER TABLE memory ADD COLUMN origin     TEXT    NOT NULL DEFAULT 'model';     -- user, model, tool, page
ALTER TABLE memory ADD COLUMN trust      TEXT    NOT NULL DEFAULT 'workspace'; -- the weakest label of what went in
ALTER TABLE memory ADD COLUMN confidence REAL    NOT NULL DEFAULT 1;           -- 0 to 1
ALTER TABLE memory ADD COLUMN sources    TEXT    NOT NULL DEFAULT '[]';        -- a JSON array of {conversation, turn}, the newest last
ALTER TABLE memory ADD COLUMN used       INTEGER NOT NULL DEFAULT 0;           -- nanoseconds since 1970; 0 is never
ALTER TABLE memory ADD COLUMN uses       INTEGER NOT NULL DEFAULT 0;
UPDATE memory SET sources = json_array(json_object('conversation', conversation)) WHERE conversation != '';
CREATE INDEX memory_kind ON memory (space, kind, updated);

-- Candidates wait for a person. They are apart from memories, so that no search finds them.
CREATE TABLE candidate (
	num        INTEGER PRIMARY KEY,
	space      INTEGER NOT NULL REFERENCES space (num),
	key        TEXT    NOT NULL,
	name       TEXT    NOT NULL,
	aliases    TEXT    NOT NULL,
	content    TEXT    NOT NULL,
	kind       TEXT    NOT NULL,
	origin     TEXT    NOT NULL,
	trust      TEXT    NOT NULL,
	confidence REAL    NOT NULL,
	sources    TEXT    NOT NULL,
	created    INTEGER NOT NULL,
	UNIQUE (space, key)
) STRICT;

-- The turns whose memories have been extracted, so that a job that runs twice does it once.
CREATE TABLE extracted (
	turn TEXT    PRIMARY KEY,
	at   INTEGER NOT NULL
) STRICT;
