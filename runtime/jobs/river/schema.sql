-- Each job that is queued in the store is delivered by River, in the same transaction: a new one,
-- one that is retried, and one that waits for its next attempt. River moves what is scheduled every
-- five seconds; what is due before that is available, and fetched when it is due.
CREATE OR REPLACE FUNCTION grapnel_river.deliver() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO grapnel_river.river_job (kind, args, queue, max_attempts, state, scheduled_at)
	VALUES ('grapnel', jsonb_build_object('job', NEW.num), 'p' || left(encode(sha256(NEW.project || '\x00'::bytea || NEW.kind), 'hex'), 32), 32767,
		CASE WHEN to_timestamp(NEW.due / 1e9) > clock_timestamp() + interval '5 seconds' THEN 'scheduled' ELSE 'available' END::grapnel_river.river_job_state,
		to_timestamp(NEW.due / 1e9));
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER grapnel_deliver AFTER INSERT OR UPDATE OF status ON job
	FOR EACH ROW WHEN (NEW.status = 'queued') EXECUTE FUNCTION grapnel_river.deliver();
COMMENT ON FUNCTION grapnel_river.deliver() IS '1';
