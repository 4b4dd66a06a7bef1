-- Every conversation and every job is of a project: what is unique is so within its
-- project. SQLite cannot change a constraint, so the tables are made anew, and with
-- them those that refer to conversation. What was there before is of the project ''.
ALTER TABLE conversation RENAME TO old_conversation;

CREATE TABLE conversation (
	num      INTEGER PRIMARY KEY,
	id       TEXT    NOT NULL UNIQUE,
	project  TEXT    NOT NULL,
	agent    TEXT    NOT NULL,
	sender   TEXT    NOT NULL,
	version  INTEGER NOT NULL DEFAULT 0,
	turns    INTEGER NOT NULL DEFAULT 0,
	messages INTEGER NOT NULL DEFAULT 0,  -- how many, and so the seq of the next one
	created  INTEGER NOT NULL,            -- nanoseconds since 1970, as updated
	updated  INTEGER NOT NULL,
	parent   TEXT    NOT NULL DEFAULT '', -- id of the conversation whose child it is
	owner    TEXT    NOT NULL DEFAULT '', -- the lease: who claimed it last,
	epoch    INTEGER NOT NULL DEFAULT 0,  -- how often it was claimed,
	until    INTEGER NOT NULL DEFAULT 0,  -- and when it ends; 0 is free
	noted    INTEGER NOT NULL DEFAULT 0,  -- seq of the last journal entry there was
	entries  INTEGER NOT NULL DEFAULT 0,  -- how many there are
	events   INTEGER NOT NULL DEFAULT 0,  -- seq of the last event
	first    INTEGER NOT NULL DEFAULT 0,  -- seq of the oldest message in message
	archived INTEGER NOT NULL DEFAULT 0,  -- how many compaction has archived; if any, first is a summary
	branches INTEGER NOT NULL DEFAULT 0,  -- how often it was rewound
	indexed  INTEGER NOT NULL DEFAULT 0,  -- messages with a lower seq are in word
	UNIQUE (project, agent, sender)
) STRICT;

INSERT INTO conversation (num, id, project, agent, sender, version, turns, messages, created, updated, parent, owner, epoch, until,
	noted, entries, events, first, archived, branches, indexed)
SELECT num, id, '', agent, sender, version, turns, messages, created, updated, parent, owner, epoch, until,
	noted, entries, events, first, archived, branches, indexed FROM old_conversation;

ALTER TABLE archive RENAME TO old_archive;
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
INSERT INTO archive SELECT conversation, branch, pos, seq, turn, summary, body FROM old_archive;
DROP TABLE old_archive;
CREATE INDEX archive_seq ON archive (conversation, seq) WHERE branch = 0 AND summary = 0;

ALTER TABLE archived_entry RENAME TO old_archived_entry;
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
INSERT INTO archived_entry SELECT conversation, branch, seq, kind, call_id, message, data FROM old_archived_entry;
DROP TABLE old_archived_entry;

ALTER TABLE state RENAME TO old_state;
CREATE TABLE state (
	conversation INTEGER NOT NULL REFERENCES conversation (num) ON DELETE CASCADE,
	name         TEXT    NOT NULL,
	data         TEXT    NOT NULL,         -- JSON
	PRIMARY KEY (conversation, name)
) STRICT, WITHOUT ROWID;
INSERT INTO state SELECT conversation, name, data FROM old_state;
DROP TABLE old_state;

DROP TABLE old_conversation;
CREATE INDEX child ON conversation (parent, num) WHERE parent <> '';
CREATE INDEX unindexed ON conversation (num) WHERE indexed < messages AND parent = '';

ALTER TABLE job RENAME TO old_job;
CREATE TABLE job (
	num          INTEGER PRIMARY KEY,
	project      TEXT    NOT NULL,
	kind         TEXT    NOT NULL,
	key          TEXT    NOT NULL,
	payload      TEXT    NOT NULL,        -- JSON or empty
	conversation TEXT    NOT NULL,        -- where it was queued, or empty
	turn         TEXT    NOT NULL,
	status       TEXT    NOT NULL,
	attempts     INTEGER NOT NULL,
	due          INTEGER NOT NULL,        -- nanoseconds since 1970; of one that is running the end of its lease
	owner        TEXT    NOT NULL,
	epoch        INTEGER NOT NULL,
	failure      TEXT    NOT NULL,
	created      INTEGER NOT NULL,
	updated      INTEGER NOT NULL,
	UNIQUE (project, kind, key)
) STRICT;
INSERT INTO job (num, project, kind, key, payload, conversation, turn, status, attempts, due, owner, epoch, failure, created, updated)
SELECT num, '', kind, key, payload, conversation, turn, status, attempts, due, owner, epoch, failure, created, updated FROM old_job;
DROP TABLE old_job;
CREATE INDEX job_due ON job (due) WHERE status IN ('queued', 'running');
CREATE INDEX job_status ON job (status);
