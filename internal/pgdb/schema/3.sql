-- Since when each node beats without a gap: who does is the witness of those that are silent. An outage of
-- the database is no death of a node, so the table is unlogged. PostgreSQL empties it behind each crash, also
-- of a process of its own, and on a standby that takes over; pg_postmaster_start_time says nothing of both.
CREATE UNLOGGED TABLE witness (
	id    text   COLLATE "C" PRIMARY KEY, -- of the node
	since bigint NOT NULL,                -- its first beat behind a gap,
	seen  bigint NOT NULL                 -- and the last one
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX witness_seen ON witness (seen);
