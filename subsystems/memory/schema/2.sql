-- Memories belong to a project, and each says which conversation wrote it last. SQLite
-- cannot change a constraint, so the tables are made anew. What was there before is of
-- the project '', and nobody knows who wrote it.
ALTER TABLE space RENAME TO old_space;

-- A space is whose memories they are: "agent:NAME" or "space:NAME" of a project, or of
-- the user, whose project is '': "user:agent:NAME" or "user:space:NAME".
CREATE TABLE space (
	num     INTEGER PRIMARY KEY,
	project TEXT    NOT NULL,
	key     TEXT    NOT NULL,
	UNIQUE (project, key)
) STRICT;
INSERT INTO space (num, project, key) SELECT num, '', key FROM old_space;

ALTER TABLE memory RENAME TO old_memory;
CREATE TABLE memory (
	num          INTEGER PRIMARY KEY,
	space        INTEGER NOT NULL REFERENCES space (num),
	key          TEXT    NOT NULL, -- the name, folded: what makes two names the same
	name         TEXT    NOT NULL,
	aliases      TEXT    NOT NULL, -- a JSON array of texts
	content      TEXT    NOT NULL,
	conversation TEXT    NOT NULL, -- the id of the one that wrote it last; '' if nobody knows
	created      INTEGER NOT NULL, -- nanoseconds since 1970, as updated
	updated      INTEGER NOT NULL,
	UNIQUE (space, key)
) STRICT;
INSERT INTO memory (num, space, key, name, aliases, content, conversation, created, updated)
SELECT num, space, key, name, aliases, content, '', created, updated FROM old_memory;
DROP TABLE old_memory;
DROP TABLE old_space;
CREATE INDEX memory_updated ON memory (space, updated);
