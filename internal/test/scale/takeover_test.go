package scale_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// watching makes the database note every write to a conversation, every daemon that joins or leaves, and every change of a job, with
// the time by its clock, which is that of this machine, and with the daemon whose connection it is.
const watching = `
CREATE TABLE scale_write (n bigserial PRIMARY KEY, id text, epoch bigint, owner text, held boolean, claim boolean, at timestamptz,
	before text, washeld boolean, started timestamptz);
CREATE FUNCTION scale_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO scale_write (id, epoch, owner, held, claim, at, before, washeld, started)
		VALUES (NEW.id, NEW.epoch, NEW.owner, NEW.until > 0, NEW.epoch <> OLD.epoch, clock_timestamp(), OLD.owner, OLD.until > 0, pg_postmaster_start_time());
	RETURN NULL;
END $$;
CREATE TRIGGER scale_write AFTER UPDATE ON conversation FOR EACH ROW EXECUTE FUNCTION scale_write();
CREATE TABLE scale_node (id text, url text, gone boolean, at timestamptz);
CREATE FUNCTION scale_node() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO scale_node VALUES (NEW.id, NEW.url, NEW.ttl = 0, clock_timestamp());
	RETURN NULL;
END $$;
CREATE TRIGGER scale_node AFTER INSERT ON node FOR EACH ROW EXECUTE FUNCTION scale_node();
CREATE TRIGGER scale_left AFTER UPDATE ON node FOR EACH ROW WHEN (NEW.ttl = 0) EXECUTE FUNCTION scale_node();
INSERT INTO scale_node SELECT id, url, false, clock_timestamp() FROM node;
CREATE TABLE scale_job (n bigserial PRIMARY KEY, num bigint, turn text, status text, daemon text);
CREATE FUNCTION scale_job() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO scale_job (num, turn, status, daemon) VALUES (NEW.num, NEW.turn, NEW.status, current_setting('application_name'));
	RETURN NULL;
END $$;
CREATE TRIGGER scale_job AFTER UPDATE ON job FOR EACH ROW WHEN (NEW.status <> OLD.status OR NEW.epoch <> OLD.epoch) EXECUTE FUNCTION scale_job();`

// hastily finds turns that were taken over within the TTL after a start of the database, although their owner had not left: no daemon
// could give a sign of life while the database was down, so that none was known to be dead.
const hastily = `SELECT 'conversation ' || id || ' was taken over ' || (at - started) || ' after the database had started' FROM scale_write
	WHERE claim AND washeld AND before <> owner AND at < started + $1::interval
	AND NOT EXISTS (SELECT FROM scale_node n WHERE n.id = before AND gone AND n.at < scale_write.at)`

// strangely finds jobs that a daemon has ended while another one worked on them.
const strangely = `SELECT 'the job of turn ' || turn || ' was ended by ' || daemon || ' while ' || taker || ' worked on it' FROM (
	SELECT turn, status, daemon, lag(status) OVER w AS before, lag(daemon) OVER w AS taker FROM scale_job WINDOW w AS (PARTITION BY num ORDER BY n)) x
	WHERE status <> 'running' AND before = 'running' AND taker <> daemon`

// write is a change of a conversation.
type write struct {
	epoch int64
	owner string
	// held: a turn holds the lease behind it. claim: it has taken the lease.
	held, claim bool
	at          time.Time
}

// node is a daemon that has joined.
type node struct {
	id, url string
	at      time.Time
}

// takeover is a turn that another daemon has continued.
type takeover struct {
	// took is the time from the death of its owner to the first write of the next one, behind its claim.
	took time.Duration
	// clean: the database and a third daemon worked all the time, and one daemon has claimed it.
	clean bool
}

// watch begins to note what the daemons write.
func (w *world) watch(ctx context.Context) {
	conn, err := pgx.Connect(ctx, w.cluster.DSN(""))
	require.NoError(w.t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, watching)
	require.NoError(w.t, err)
}

// noted returns what a query finds in what the database has noted.
func (w *world) noted(ctx context.Context, query string, args ...any) []string {
	conn, err := pgx.Connect(ctx, w.cluster.DSN(""))
	require.NoError(w.t, err)
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, query, args...)
	require.NoError(w.t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(w.t, err)
	return out
}

// claims are the claims of the conversations of which something was found, for who looks for the reason.
func (w *world) claims(ctx context.Context, found []string) (out []string) {
	for _, k := range w.talks {
		if slices.ContainsFunc(found, func(what string) bool { return strings.Contains(what, k.id) }) {
			out = append(out, w.noted(ctx, `SELECT id || ' ' || at || ': epoch ' || epoch || ' of ' || owner || ' after ' || before || CASE WHEN washeld THEN ', which held it' ELSE '' END
				FROM scale_write WHERE claim AND id = $1 ORDER BY n`, k.id)...)
		}
	}
	return out
}

// takeovers finds the turns that the dead have left.
func (w *world) takeovers(ctx context.Context) (out []takeover) {
	conn, err := pgx.Connect(ctx, w.cluster.DSN(""))
	require.NoError(w.t, err)
	defer conn.Close(ctx)
	query, err := conn.Query(ctx, `SELECT id, url, at FROM scale_node WHERE NOT gone ORDER BY at`)
	require.NoError(w.t, err)
	nodes, err := pgx.CollectRows(query, func(r pgx.CollectableRow) (n node, err error) { return n, r.Scan(&n.id, &n.url, &n.at) })
	require.NoError(w.t, err)
	for _, k := range w.talks {
		query, err := conn.Query(ctx, `SELECT epoch, owner, held, claim, at FROM scale_write WHERE id = $1 ORDER BY n`, k.id)
		require.NoError(w.t, err)
		writes, err := pgx.CollectRows(query, func(r pgx.CollectableRow) (w write, err error) {
			return w, r.Scan(&w.epoch, &w.owner, &w.held, &w.claim, &w.at)
		})
		require.NoError(w.t, err)
		for _, d := range w.log.deaths {
			if t, ok := taken(writes, owner(nodes, w.daemons[d.daemon].socket, d.at), d); ok {
				t.clean = t.clean && w.log.clean(d, d.at.Add(t.took), len(w.daemons))
				out = append(out, t)
			}
		}
	}
	return out
}

// owner returns the id of the daemon that served on the socket at that time; "" if there was none.
func owner(nodes []node, socket string, at time.Time) (id string) {
	for _, n := range nodes {
		if strings.HasPrefix(n.url, "unix:"+socket) && n.at.Before(at) {
			id = n.id
		}
	}
	return id
}

// taken finds the takeover of a turn that the dead one held when it died.
func taken(writes []write, owner string, d death) (takeover, bool) {
	last := -1
	for i, w := range writes {
		if w.at.Before(d.at) {
			last = i
		}
	}
	if last < 0 || owner == "" || writes[last].owner != owner || !writes[last].held {
		return takeover{}, false
	}
	claims := 0
	for _, w := range writes[last+1:] {
		switch {
		case w.owner == owner: // what was on its way, or it lives again
			if claims == 0 && !w.held {
				return takeover{}, false
			}
		case w.claim:
			claims++
		default:
			return takeover{took: w.at.Sub(d.at), clean: claims == 1}, true
		}
	}
	return takeover{}, false
}

// clean reports whether the database, and one daemon besides the dead one, were not impaired from the death until then.
func (l *faultLog) clean(d death, until time.Time, daemons int) bool {
	from := d.at.Add(-ttl)
	disturbed := func(daemon int) bool {
		return slices.ContainsFunc(l.bad, func(b impairment) bool { return b.daemon == daemon && b.from.Before(until) && b.to.After(from) })
	}
	if disturbed(theDatabase) {
		return false
	}
	for n := range daemons {
		if n != d.daemon && !disturbed(n) {
			return true
		}
	}
	return false
}

// percentile returns that of the durations, of which there is at least one.
func percentile(ds []time.Duration, percent int) time.Duration {
	slices.Sort(ds)
	return ds[(len(ds)*percent+99)/100-1]
}
