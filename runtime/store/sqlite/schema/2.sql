ALTER TABLE conversation ADD COLUMN parent   TEXT    NOT NULL DEFAULT ''; -- id of the conversation whose child it is
ALTER TABLE conversation ADD COLUMN owner    TEXT    NOT NULL DEFAULT ''; -- the lease: who claimed it last,
ALTER TABLE conversation ADD COLUMN epoch    INTEGER NOT NULL DEFAULT 0; -- how often it was claimed,
ALTER TABLE conversation ADD COLUMN until    INTEGER NOT NULL DEFAULT 0; -- and when it ends; 0 is free
ALTER TABLE conversation ADD COLUMN noted    INTEGER NOT NULL DEFAULT 0; -- seq of the last journal entry there was
ALTER TABLE conversation ADD COLUMN entries  INTEGER NOT NULL DEFAULT 0; -- how many there are
ALTER TABLE conversation ADD COLUMN events   INTEGER NOT NULL DEFAULT 0; -- seq of the last event
ALTER TABLE conversation ADD COLUMN first    INTEGER NOT NULL DEFAULT 0; -- seq of the oldest message in message
ALTER TABLE conversation ADD COLUMN archived INTEGER NOT NULL DEFAULT 0; -- how many compaction has archived; if any, first is a summary
ALTER TABLE conversation ADD COLUMN branches INTEGER NOT NULL DEFAULT 0; -- how often it was rewound
ALTER TABLE conversation ADD COLUMN indexed  INTEGER NOT NULL DEFAULT 0; -- messages with a lower seq are in word

CREATE INDEX child ON conversation (parent, num) WHERE parent <> '';
CREATE INDEX unindexed ON conversation (num) WHERE indexed < messages AND parent = '';

-- The messages of one conversation have neighbouring numbers:
-- conversation << 32 | seq, with seq from first without gaps. So are entry and
-- event: one search in one tree finds them, and one insert adds to it.
CREATE TABLE numbered (
	num  INTEGER PRIMARY KEY,
	turn INTEGER NOT NULL,                -- from 1
	body TEXT    NOT NULL                 -- JSON
) STRICT;

-- Files of version 1 do not say where a turn began. There it is taken to begin
-- with the first of several user messages in a row of which one has no label. A
-- turn that got no answer is then one with the next. No turn is behind the one
-- that follows those that have ended.
INSERT INTO numbered
SELECT (conversation << 32) | seq, max(1, min(begun, turns + 1)), body FROM (
	SELECT conversation, seq, body, sum(begins) OVER (PARTITION BY conversation ORDER BY seq) AS begun FROM (
		SELECT conversation, seq, body, starts AND max(plain) OVER (PARTITION BY conversation, run) AS begins FROM (
			SELECT *, sum(starts) OVER (PARTITION BY conversation ORDER BY seq) * 2 + said AS run FROM (
				SELECT *, said AND NOT coalesce(lag(said) OVER (PARTITION BY conversation ORDER BY seq), 0) AS starts FROM (
					SELECT conversation, seq, body,
						CASE WHEN json_valid(body) THEN coalesce(json_extract(body, '$.role') = 'user', 0) ELSE 0 END AS said,
						CASE WHEN json_valid(body) THEN json_extract(body, '$.label') IS NULL ELSE 0 END AS plain
					FROM message))))) JOIN conversation ON num = conversation;

DROP TABLE message;
ALTER TABLE numbered RENAME TO message;

-- What is not a part of the conversation any more, and is kept.
CREATE TABLE archive (
	conversation INTEGER NOT NULL REFERENCES conversation (num) ON DELETE CASCADE,
	branch       INTEGER NOT NULL,        -- 0: a summary stands for it; else it was rewound, which time
	pos          INTEGER NOT NULL,        -- from 0 in its branch, without gaps
	seq          INTEGER NOT NULL,        -- what it was in message; a summary has that of the last one that it sums up
	turn         INTEGER NOT NULL,
	summary      INTEGER NOT NULL,        -- 1 for one
	body         TEXT    NOT NULL,
	PRIMARY KEY (conversation, branch, pos)
) STRICT;

CREATE INDEX archive_seq ON archive (conversation, seq) WHERE branch = 0 AND summary = 0;

-- What the turn that is running has begun and ended.
CREATE TABLE entry (
	num     INTEGER PRIMARY KEY,          -- conversation << 32 | seq
	kind    TEXT NOT NULL,
	call_id TEXT NOT NULL,
	message TEXT,                         -- JSON, as in message
	data    TEXT NOT NULL                 -- JSON or empty
) STRICT;

-- The journals of turns that were rewound.
CREATE TABLE archived_entry (
	conversation INTEGER NOT NULL REFERENCES conversation (num) ON DELETE CASCADE,
	branch       INTEGER NOT NULL,
	seq          INTEGER NOT NULL,
	kind         TEXT    NOT NULL,
	call_id      TEXT    NOT NULL,
	message      TEXT,
	data         TEXT    NOT NULL,
	PRIMARY KEY (conversation, branch, seq)
) STRICT;

-- Events that were written together.
CREATE TABLE event (
	num  INTEGER PRIMARY KEY,             -- conversation << 32 | seq of the last of them
	body TEXT NOT NULL                    -- a line each: its seq, a blank, JSON
) STRICT;

-- The index of words; its rowid is message.num, also of messages that have been
-- archived by compaction. What was indexed is not kept here again. A search adds
-- what is new.
CREATE VIRTUAL TABLE word USING fts5 (
	user, tools, assistant, title, summary,
	content = '', contentless_delete = 1,
	tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);
