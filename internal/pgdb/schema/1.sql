-- Times are nanoseconds since 1970 by the clock of the database. Texts that people and models wrote
-- are bytea: text has no NUL, and jsonb changes JSON. What is compared is compared byte by byte.
-- No column that a turn changes is in an index, so that its updates stay on their page (HOT), and
-- nothing refers to conversation, because a reference locks the row that every turn changes.

CREATE TABLE grapnel_schema (
	version int         PRIMARY KEY,  -- the number of a step
	made    timestamptz NOT NULL,
	needs   int         NOT NULL DEFAULT 1 -- the last step that a program has to know to use the schema
);

-- The daemons over this database.
CREATE TABLE node (
	id       text   COLLATE "C" PRIMARY KEY, -- the owner of its leases and jobs
	url      text   NOT NULL,
	version  text   NOT NULL,
	ttl      bigint NOT NULL,                -- nanoseconds; 0: it has left
	projects bytea  NOT NULL,                -- JSON
	seen     bigint NOT NULL,                -- the last beat,
	mark     bigint NOT NULL,                -- its mark,
	late     boolean NOT NULL                -- and whether the node was dead before it
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE TABLE conversation (
	num      bigint   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id       text     COLLATE "C" NOT NULL UNIQUE,
	project  bytea    NOT NULL,
	agent    bytea    NOT NULL,
	sender   bytea    NOT NULL,
	parent   text     COLLATE "C" NOT NULL DEFAULT '', -- id of the conversation whose child it is
	created  bigint   NOT NULL,
	updated  bigint   NOT NULL,
	version  bigint   NOT NULL DEFAULT 0,
	turns    int      NOT NULL DEFAULT 0,
	messages bigint   NOT NULL DEFAULT 0,  -- the seq of the next one
	first    bigint   NOT NULL DEFAULT 0,  -- seq of the oldest message in message
	archived bigint   NOT NULL DEFAULT 0,  -- how many compaction has archived; if any, first is a summary
	branches int      NOT NULL DEFAULT 0,  -- how often it was rewound
	noted    bigint   NOT NULL DEFAULT 0,  -- seq of the last journal entry there was
	entries  bigint   NOT NULL DEFAULT 0,  -- how many there are
	events   bigint   NOT NULL DEFAULT 0,  -- seq of the last event
	owner    text     COLLATE "C" NOT NULL DEFAULT '', -- the lease: who claimed it last,
	epoch    bigint   NOT NULL DEFAULT 0,  -- how often it was claimed,
	until    bigint   NOT NULL DEFAULT 0,  -- and when it ends; 0 is free
	marks    bigint[] NOT NULL DEFAULT '{}', -- of the last 16 writes: by its mark a write whose answer was lost knows that it has run
	UNIQUE (project, agent, sender)
) WITH (fillfactor = 60);
CREATE INDEX child ON conversation (parent, num) WHERE parent <> '';

CREATE TABLE message (
	conversation bigint NOT NULL,
	seq          bigint NOT NULL,          -- from first without gaps
	turn         int    NOT NULL,          -- from 1
	body         bytea  NOT NULL,          -- JSON
	PRIMARY KEY (conversation, seq)
) PARTITION BY HASH (conversation);

-- What is not a part of the conversation any more, and is kept.
CREATE TABLE archive (
	conversation bigint  NOT NULL,
	branch       int     NOT NULL,         -- 0: a summary stands for it; else it was rewound, which time
	pos          bigint  NOT NULL,         -- from 0 in its branch, without gaps
	seq          bigint  NOT NULL,         -- what it was in message; a summary has that of the last one that it sums up
	turn         int     NOT NULL,
	summary      boolean NOT NULL,
	body         bytea   NOT NULL,
	PRIMARY KEY (conversation, branch, pos)
);
CREATE INDEX archive_seq ON archive (conversation, seq) WHERE branch = 0 AND NOT summary;

-- What the turn that is running has begun and ended: a queue, which a turn fills and empties.
CREATE TABLE entry (
	conversation bigint NOT NULL,
	seq          bigint NOT NULL,
	kind         text   NOT NULL,
	call_id      bytea  NOT NULL,
	message      bytea,                    -- JSON, as in message
	data         bytea  NOT NULL,          -- JSON or empty
	mark         bigint NOT NULL,          -- of the write
	PRIMARY KEY (conversation, seq)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
	autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000);

-- The journals of turns that were rewound.
CREATE TABLE archived_entry (
	conversation bigint NOT NULL,
	branch       int    NOT NULL,
	seq          bigint NOT NULL,
	kind         text   NOT NULL,
	call_id      bytea  NOT NULL,
	message      bytea,
	data         bytea  NOT NULL,
	PRIMARY KEY (conversation, branch, seq)
);

-- Events that were written together.
CREATE TABLE event (
	conversation bigint NOT NULL,
	seq          bigint NOT NULL,          -- of the last of them
	body         bytea  NOT NULL,          -- a line each: its seq, a blank, JSON
	PRIMARY KEY (conversation, seq)
) PARTITION BY HASH (conversation);

-- Parts of tables that grow with every turn: small enough that vacuum and REINDEX end soon.
DO $$
BEGIN
	FOR i IN 0..15 LOOP
		EXECUTE format('CREATE TABLE message_%s PARTITION OF message FOR VALUES WITH (MODULUS 16, REMAINDER %s)', i, i);
		EXECUTE format('CREATE TABLE event_%s PARTITION OF event FOR VALUES WITH (MODULUS 16, REMAINDER %s)', i, i);
	END LOOP;
END $$;

-- What hooks keep of a conversation: the last value of each name.
CREATE TABLE state (
	conversation bigint NOT NULL,
	name         bytea  NOT NULL,
	data         bytea  NOT NULL,          -- JSON
	PRIMARY KEY (conversation, name)
) WITH (fillfactor = 70);

-- The words of messages that can be searched, each as often as it is in the text. Labels: A is the
-- title, B a person, C the name of a tool, D a model. The summary of a conversation has the seq
-- 4294967295.
CREATE TABLE word (
	conversation bigint   NOT NULL,
	seq          bigint   NOT NULL,        -- message.seq, also of an archived one
	length       int      NOT NULL,        -- in words
	tsv          tsvector NOT NULL,
	PRIMARY KEY (conversation, seq)
);
CREATE INDEX word_tsv ON word USING gin (tsv);

-- Work that is done apart from any turn; of one project, kind and key there is one.
CREATE TABLE job (
	num          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	project      bytea  NOT NULL,
	kind         bytea  NOT NULL,
	key          bytea  NOT NULL,
	payload      bytea  NOT NULL,          -- JSON or empty
	version      int    NOT NULL,
	contract     int    NOT NULL,
	conversation text   COLLATE "C" NOT NULL, -- where it was queued, or empty
	turn         text   NOT NULL,
	status       text   NOT NULL,
	attempts     int    NOT NULL,
	due          bigint NOT NULL,          -- of one that is running the end of its lease
	owner        text   COLLATE "C" NOT NULL,
	epoch        bigint NOT NULL,
	failure      bytea  NOT NULL,
	created      bigint NOT NULL,
	updated      bigint NOT NULL,
	UNIQUE (project, kind, key)
);
CREATE INDEX job_due ON job (project, due, num) WHERE status IN ('queued', 'running');
CREATE INDEX job_conversation ON job (conversation) WHERE conversation <> '';

-- Hook runs, and jobs with their attempts, from their beginning on.
CREATE TABLE hook_run (
	num          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	project      bytea  NOT NULL,
	id           bytea  NOT NULL,
	conversation bytea  NOT NULL,
	subsystem    bytea  NOT NULL,
	status       bytea  NOT NULL,
	body         bytea  NOT NULL,          -- store.Run as JSON
	UNIQUE (project, id)
);
CREATE INDEX hook_run_project ON hook_run (project, num);
CREATE INDEX hook_run_conversation ON hook_run (conversation) WHERE conversation <> '';

-- What model calls have cost, added up by day, and what is reserved for those that run. Costs are
-- billionths of a dollar.
CREATE TABLE spent (
	day         text   COLLATE "C" NOT NULL, -- local date of the call's begin: 2026-11-25
	project     bytea  NOT NULL,
	agent       bytea  NOT NULL,
	model       bytea  NOT NULL,
	token       bytea  NOT NULL,           -- name of the credential that asked; '' is the local user
	calls       bigint NOT NULL,
	unpriced    bigint NOT NULL,           -- calls without a known price
	estimated   bigint NOT NULL,           -- calls without reported usage
	input       bigint NOT NULL,
	output      bigint NOT NULL,
	cache_read  bigint NOT NULL,
	cache_write bigint NOT NULL,
	reasoning   bigint NOT NULL,
	cost        bigint NOT NULL,
	PRIMARY KEY (day, project, agent, model, token)
) WITH (fillfactor = 70);
CREATE INDEX spent_project ON spent (project, day);
CREATE INDEX spent_token ON spent (token, day) WHERE token <> '';

CREATE TABLE reserved (
	num      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	day      text   COLLATE "C" NOT NULL,
	project  bytea  NOT NULL,
	agent    bytea  NOT NULL,
	model    bytea  NOT NULL,
	token    bytea  NOT NULL,
	unpriced bigint NOT NULL,
	input    bigint NOT NULL,              -- estimated
	least    bigint NOT NULL,              -- what it has cost if nobody settles it
	most     bigint NOT NULL,              -- what it counts as until then
	until    bigint NOT NULL
);
CREATE INDEX reserved_until ON reserved (until);
CREATE INDEX reserved_project ON reserved (project);
CREATE INDEX reserved_token ON reserved (token) WHERE token <> '';

-- Deleted conversations: what is written late for them is dropped.
CREATE TABLE erased (
	id text   COLLATE "C" PRIMARY KEY,
	at bigint NOT NULL
);
