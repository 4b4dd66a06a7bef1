-- What subsystems keep beside conversations. Tables that SQLite files have too have the same columns,
-- because the same statements use them; there a comment says what each column has.

-- Memories (package subsystems/memory). A space is whose memories they are: an agent's or a named
-- space's of a project, or of the user. Everything below carries its space, and so its project.
CREATE TABLE space (
	num     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	project text   COLLATE "C" NOT NULL,
	key     text   COLLATE "C" NOT NULL, -- agent:NAME, space:NAME, project:, each behind user: for those of the user
	UNIQUE (project, key)
);

CREATE TABLE memory (
	num          bigint PRIMARY KEY,     -- space << 40, and what follows it
	space        bigint NOT NULL REFERENCES space (num),
	key          text   COLLATE "C" NOT NULL, -- the name, folded: what makes two names the same
	name         text   NOT NULL,
	aliases      text   NOT NULL,        -- a JSON array of texts
	content      text   NOT NULL,
	conversation text   COLLATE "C" NOT NULL, -- that wrote it last; '' if nobody knows
	created      bigint NOT NULL,
	updated      bigint NOT NULL,
	kind         text   COLLATE "C" NOT NULL, -- fact, preference, task
	origin       text   COLLATE "C" NOT NULL, -- user, model, tool, page
	trust        text   COLLATE "C" NOT NULL, -- the weakest label of what went in
	confidence   double precision NOT NULL,   -- 0 to 1
	sources      text   NOT NULL,        -- a JSON array of {conversation, turn}, the newest last
	used         bigint NOT NULL DEFAULT 0, -- 0 is never
	uses         bigint NOT NULL DEFAULT 0,
	words        int    NOT NULL DEFAULT 0, -- how many memory_word counts
	UNIQUE (space, key)
) WITH (fillfactor = 80);
CREATE INDEX memory_kind ON memory (space, kind);

-- How often a memory has a word, by field. Words are in lower case and without diacritics.
CREATE TABLE memory_word (
	space   bigint NOT NULL,
	word    text   COLLATE "C" NOT NULL,
	memory  bigint NOT NULL,
	name    int    NOT NULL,
	aliases int    NOT NULL,
	content int    NOT NULL,
	PRIMARY KEY (space, word, memory)
);

-- Memories that wait for a person.
CREATE TABLE candidate (
	num        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	space      bigint NOT NULL REFERENCES space (num),
	key        text   COLLATE "C" NOT NULL,
	name       text   NOT NULL,
	aliases    text   NOT NULL,
	content    text   NOT NULL,
	kind       text   COLLATE "C" NOT NULL,
	origin     text   COLLATE "C" NOT NULL,
	trust      text   COLLATE "C" NOT NULL,
	confidence double precision NOT NULL,
	sources    text   NOT NULL,
	created    bigint NOT NULL,
	UNIQUE (space, key)
);

-- Turns whose memories were extracted, so that a job that runs twice does it once.
CREATE TABLE extracted (
	turn text   COLLATE "C" PRIMARY KEY,
	at   bigint NOT NULL
);
CREATE INDEX extracted_at ON extracted (at);

-- Schedules (package subsystems/schedule).
CREATE TABLE schedule (
	num          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	project      text   COLLATE "C" NOT NULL,
	name         text   COLLATE "C" NOT NULL,
	agent        text   COLLATE "C" NOT NULL,
	sender       text   COLLATE "C" NOT NULL,
	prompt       text   NOT NULL,
	cron         text   NOT NULL,        -- '' for one that waits for events
	zone         text   NOT NULL,        -- of cron; '' is that of the machine
	event        text   NOT NULL,        -- JSON; '' for one with a cron line
	late         text   NOT NULL CHECK (late IN ('report', 'run')),
	created      bigint NOT NULL,
	due          bigint NOT NULL,        -- when it runs next; 0 for one that waits for events
	missed       bigint NOT NULL DEFAULT 0,
	missed_last  bigint NOT NULL DEFAULT 0,
	conversation text   COLLATE "C" NOT NULL DEFAULT '', -- that of its runs, once there was one
	UNIQUE (project, name)
);
CREATE INDEX schedule_due ON schedule (project, due) WHERE due > 0;

-- The key names what began the run, so that no second daemon begins it again.
CREATE TABLE run (
	schedule     bigint NOT NULL REFERENCES schedule (num) ON DELETE CASCADE,
	key          text   COLLATE "C" NOT NULL,
	due          bigint NOT NULL,
	began        bigint NOT NULL,
	ended        bigint NOT NULL,        -- 0 while it runs
	held         bigint NOT NULL,        -- until when its daemon has said that it lives; 0 once it has ended
	status       text   COLLATE "C" NOT NULL,
	conversation text   COLLATE "C" NOT NULL,
	turn         text   COLLATE "C" NOT NULL,
	note         text   NOT NULL,
	PRIMARY KEY (schedule, key)
);
CREATE INDEX run_began ON run (schedule, began);
CREATE INDEX run_held ON run (held) WHERE held > 0;

-- Small documents that files of the state directory hold elsewhere, as JSON.
CREATE TABLE document (
	kind    text  COLLATE "C" NOT NULL,  -- token, approval, agent, deletion
	project bytea NOT NULL,              -- empty: it belongs to none
	name    bytea NOT NULL,
	body    bytea NOT NULL,
	PRIMARY KEY (kind, project, name)
);

-- The record of the audit (package subsystems/audit): a chain for each node, so that nodes do not wait
-- for each other. The tag of a record covers the one before.
CREATE TABLE audit_chain (
	node text   COLLATE "C" PRIMARY KEY, -- its name, and what tells its key from others; the key is on its disk
	n    bigint NOT NULL,                -- the last record
	tag  text   NOT NULL,                -- its tag
	seal text   NOT NULL                 -- the tag of the others
) WITH (fillfactor = 50);

CREATE TABLE audit_record (
	node    text   COLLATE "C" NOT NULL,
	n       bigint NOT NULL,             -- from 1 without gaps
	project text   COLLATE "C" NOT NULL,
	tag     text   NOT NULL,
	body    text   NOT NULL,             -- JSON
	PRIMARY KEY (node, n)
);
