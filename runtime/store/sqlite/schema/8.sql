-- Deleted conversations: what is written late for them is dropped, and no conversation gets
-- the number of one. Files of this version have no deleted texts on free pages.
CREATE TABLE erased (
	id  TEXT    PRIMARY KEY,
	num INTEGER NOT NULL,
	at  INTEGER NOT NULL -- nanoseconds since 1970
) STRICT, WITHOUT ROWID;
CREATE INDEX erased_num ON erased (num);
