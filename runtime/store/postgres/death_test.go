package postgres_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
)

// A node is dead when another one has beaten for a TTL without a gap since its last beat. So an outage of
// the database, of whatever kind, is no death of a node.

// member is a node that has a turn.
type member struct {
	*postgres.Store
	node  store.Node
	id    string
	epoch int64
}

func join(t *testing.T, dsn, name string, ttl time.Duration) *member {
	t.Helper()
	m := &member{Store: open(t, dsn, nil), node: store.Node{ID: name, URL: "unix:/" + name, TTL: ttl}}
	m.beat(t)
	rec, err := m.Conversation(t.Context(), store.Key{Agent: name})
	require.NoError(t, err)
	held, err := m.Claim(t.Context(), rec.ID, m.claim())
	require.NoError(t, err)
	m.id, m.epoch = rec.ID, held.Lease.Epoch
	return m
}

func (m *member) claim() store.Claim { return store.Claim{Owner: m.node.ID, Hold: 1000 * time.Hour} }

func (m *member) beat(t *testing.T) {
	t.Helper()
	require.NoError(t, m.Beat(t.Context(), m.node))
}

// goesOn checks that the turn goes on.
func (m *member) goesOn(t *testing.T) {
	t.Helper()
	_, err := m.Note(t.Context(), m.id, store.Note{Epoch: m.epoch, Hold: time.Hour})
	require.NoError(t, err)
}

// takes claims what the other node has.
func (m *member) takes(t *testing.T, other *member) error {
	t.Helper()
	_, err := m.Claim(t.Context(), other.id, m.claim())
	if err != nil {
		require.ErrorIs(t, err, store.ErrLeased)
	}
	return err
}

// Two processes agree on who is alive by the clock of the database alone.
func TestANodeThatIsSilentBeforeAWitnessIsDead(t *testing.T) {
	needs.Proof(t)
	t.Parallel()
	const ttl, every = 2 * time.Second, 200 * time.Millisecond
	dsn := migrated.Database(t)
	one, two := join(t, dsn, "one", ttl), join(t, dsn, "two", ttl)
	beats(t, two, ttl, every)
	one.beat(t)
	silent := time.Now()
	for two.takes(t, one) != nil {
		require.Less(t, time.Since(silent), time.Minute)
		two.beat(t)
		time.Sleep(every)
	}
	took := time.Since(silent)
	t.Logf("FIGURE taken-over=%d ms after the last beat, with a TTL of %d ms and a beat every %d ms", took.Milliseconds(), ttl.Milliseconds(), every.Milliseconds())
	assert.GreaterOrEqual(t, took, ttl)
	_, err := one.Note(t.Context(), one.id, store.Note{Epoch: one.epoch, Hold: time.Hour})
	require.ErrorIs(t, err, store.ErrFenced)
	_, err = two.Enqueue(t.Context(), store.Job{Job: hook.Job{Kind: "k", Key: "1"}})
	require.NoError(t, err)
	take := store.JobTake{Owner: "one", Kinds: []string{"k"}, Hold: time.Hour}
	_, err = one.TakeJob(t.Context(), take)
	require.ErrorIs(t, err, store.ErrNoJob, "others would take it away at once")
	require.ErrorIs(t, one.Beat(t.Context(), one.node), store.ErrLate)
	_, err = one.TakeJob(t.Context(), take)
	require.NoError(t, err)
}

// beats beats for so long.
func beats(t *testing.T, m *member, during, every time.Duration) {
	t.Helper()
	for began := time.Now(); time.Since(began) < during; time.Sleep(every) {
		m.beat(t)
	}
}

// A node that itself has beaten only now and then does not know whether others could.
func TestAWitnessHasNoGaps(t *testing.T) {
	t.Parallel()
	dsn := migrated.Database(t)
	one, two := join(t, dsn, "one", time.Hour), join(t, dsn, "two", time.Hour)
	past := func(minutes int) {
		t.Helper()
		time := fmt.Sprint(minutes, " * 60 * 1000000000::bigint")
		execute(t, dsn, `UPDATE node SET seen = seen - `+time)
		execute(t, dsn, `UPDATE witness SET since = since - `+time+`, seen = seen - `+time)
	}
	for range 5 {
		past(40)
		two.beat(t)
		require.Error(t, two.takes(t, one), "40 minutes are more than half of an hour")
	}
	for range 2 {
		past(29)
		two.beat(t)
		require.Error(t, two.takes(t, one), "an hour has not passed")
	}
	past(29)
	two.beat(t)
	require.NoError(t, two.takes(t, one))
}

// outages are what can happen to a cluster so that nobody can beat for longer than the TTL.
var outages = map[string]func(t *testing.T, c *pgtest.Cluster){
	"a crash": func(t *testing.T, c *pgtest.Cluster) {
		t.Helper()
		c.Stop(t, "immediate")
		time.Sleep(4 * time.Second)
		c.Continue(t)
	},
	"a restart": func(t *testing.T, c *pgtest.Cluster) {
		t.Helper()
		c.Stop(t, "fast")
		time.Sleep(4 * time.Second)
		c.Continue(t)
	},
	// The postmaster ends all its processes and recovers. It waits 5 s for one that is stopped.
	"a crash of one process": func(t *testing.T, c *pgtest.Cluster) {
		t.Helper()
		require.NoError(t, syscall.Kill(backend(t, c), syscall.SIGSTOP))
		require.NoError(t, syscall.Kill(backend(t, c), syscall.SIGKILL))
		time.Sleep(time.Second) // until it has noticed
	},
}

// backend is the process of a new connection.
func backend(t *testing.T, c *pgtest.Cluster) (pid int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.DSN(""))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) }) // it was killed
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid))
	return pid
}

// byStart is the rule that is known to be wrong: a node is dead when its last beat, and the start of the
// server, are a TTL ago.
const byStart = `SELECT extract(epoch FROM clock_timestamp()) > greatest(seen / 1e9, extract(epoch FROM pg_postmaster_start_time())) + ttl / 1e9 FROM node WHERE id = $1`

func TestAnOutageIsNoDeath(t *testing.T) {
	t.Parallel()
	needs.Proof(t)
	const ttl, every = 3 * time.Second, 300 * time.Millisecond
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := pgtest.Start(t, nil)
			one, two := join(t, c.DSN(""), "one", ttl), join(t, c.DSN(""), "two", ttl)
			beats(t, two, ttl, every)
			one.beat(t)
			began := time.Now()
			outage(t, c)
			for two.Beat(t.Context(), two.node) != nil {
				require.Less(t, time.Since(began), time.Minute)
				time.Sleep(50 * time.Millisecond)
			}
			require.Greater(t, time.Since(began), ttl, "the outage is longer than the TTL")
			assert.Equal(t, name == "a crash of one process", says(t, c, byStart, "one"), "a rule that is known to be wrong")
			assert.Equal(t, name == "a restart", says(t, c, isWitness, "one"), "a crash leaves no witness, however short it is")
			require.Error(t, two.takes(t, one))
			beats(t, two, ttl/3, every)
			require.Error(t, two.takes(t, one), "it had no TTL since then")
			one.beat(t)
			one.goesOn(t)
			two.goesOn(t)
			require.Error(t, one.takes(t, two))
		})
	}
}

// isWitness is whether the node has beaten since the last crash.
const isWitness = `SELECT EXISTS (SELECT FROM witness WHERE id = $1)`

// says reports what the query says of the node.
func says(t *testing.T, c *pgtest.Cluster, query, id string) (so bool) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.DSN(""))
	require.NoError(t, err)
	defer conn.Close(t.Context()) //nolint:errcheck // nothing is lost with it
	require.NoError(t, conn.QueryRow(t.Context(), query, id).Scan(&so))
	return so
}
