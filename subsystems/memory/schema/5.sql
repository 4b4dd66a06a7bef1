-- A number names one candidate for good: what a person has seen under it is what they approve.
CREATE TABLE numbered (
	num        INTEGER PRIMARY KEY AUTOINCREMENT,
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
INSERT INTO numbered SELECT * FROM candidate ORDER BY num;
DROP TABLE candidate;
ALTER TABLE numbered RENAME TO candidate;
