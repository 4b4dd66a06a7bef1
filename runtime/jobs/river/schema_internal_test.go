package river

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
)

// After an outage of the database every node seems dead until it beats again. The reaper wants a witness
// that has beaten for a TTL meanwhile; one that does not is known to be wrong.
func TestAnOutageOfTheDatabaseIsNoDeath(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, nil)
	s, err := postgres.Open(t.Context(), cluster.Database(t), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, Migrate(t.Context(), s.DB()))
	exec := func(sql string, args ...any) (n int64) {
		t.Helper()
		require.NoError(t, s.DB().Write(t.Context(), func(tx pgdb.Tx) error {
			tag, err := tx.Exec(t.Context(), sql, args...)
			n = tag.RowsAffected()
			return err
		}))
		return n
	}
	beat := func(id string) {
		t.Helper()
		require.NoError(t, s.Beat(t.Context(), store.Node{ID: id, URL: "unix:/x", TTL: 10 * time.Minute}))
	}
	beat("one")
	beat("two")
	_, err = s.Enqueue(t.Context(), store.Job{Job: hook.Job{Kind: "k", Key: "1"}})
	require.NoError(t, err)
	running := func() { exec(`UPDATE ` + Schema + `.river_job SET state = 'running', attempted_by = '{two}'`) }
	running()
	assert.Zero(t, exec(reap, kind, "one"), "both are alive")
	cluster.Restart(t, "immediate")
	const ago = `3600 * 1000000000::bigint`
	exec(`UPDATE node SET seen = seen - ` + ago) // an hour without a server
	beat("one")
	assert.Zero(t, exec(reap, kind, "one"), "nobody could beat")
	bad := strings.ReplaceAll(reap, alive, `n.ttl > 0 AND `+now+` <= n.seen + n.ttl`)
	require.NotEqual(t, reap, bad)
	assert.Equal(t, int64(1), exec(bad, kind, "one"), "known to be wrong: a job that runs is delivered again")

	running()
	exec(`UPDATE witness SET since = since - ` + ago) // it has beaten for an hour
	exec(`UPDATE node SET ttl = 0 WHERE id = 'one'`)  // it has left
	assert.Zero(t, exec(reap, kind, "one"), "who is not alive itself does not judge")
	exec(`UPDATE node SET ttl = ` + ago + ` WHERE id = 'one'`)
	_, err = s.Enqueue(t.Context(), store.Job{Job: hook.Job{Kind: "k", Key: "2"}})
	require.NoError(t, err)
	assert.Equal(t, int64(1), exec(reap, kind, "one"))
	var next string
	require.NoError(t, s.DB().Read(t.Context(), func(q pgdb.Queryer) error {
		return q.QueryRow(t.Context(), `SELECT convert_from(j.key, 'UTF8') FROM `+Schema+`.river_job r JOIN job j ON j.num::text = r.args->>'job'
			WHERE r.state = 'available' ORDER BY r.priority, r.scheduled_at, r.id LIMIT 1`).Scan(&next) // as River fetches
	}))
	assert.Equal(t, "1", next, "what was queued meanwhile waits behind it")
}

// Two installations in one database, in schemas of their own, would take each other's numbers.
func TestATableDeliversForOneInstallation(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	first, err := postgres.Open(t.Context(), dsn, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, first.Close()) }()
	require.NoError(t, Migrate(t.Context(), first.DB()))
	require.NoError(t, first.DB().Exec(t.Context(), `CREATE SCHEMA other`))
	second, err := postgres.Open(t.Context(), dsn+"&search_path=other", nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, second.Close()) }()
	require.ErrorContains(t, Migrate(t.Context(), second.DB()), "delivers the jobs of the table public.job; daemons that share nothing with those need a database of their own")
	require.NoError(t, Migrate(t.Context(), first.DB()), "the first one goes on")
}

// A job that nothing delivers is delivered again.
func TestAJobThatNothingDeliversIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	s, err := postgres.Open(t.Context(), pgtest.Database(t), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for _, key := range []string{"1", "2"} { // before the trigger is there
		_, err = s.Enqueue(t.Context(), store.Job{Job: hook.Job{Kind: "k", Key: key}})
		require.NoError(t, err)
	}
	count := func() (n int) {
		t.Helper()
		require.NoError(t, s.DB().Read(t.Context(), func(q pgdb.Queryer) error {
			return q.QueryRow(t.Context(), `SELECT count(*) FROM `+Schema+`.river_job WHERE state = 'available'`).Scan(&n)
		}))
		return n
	}
	for range 2 {
		require.NoError(t, Migrate(t.Context(), s.DB()))
		require.NoError(t, deliverQueued(t.Context(), s.DB()))
		assert.Equal(t, 2, count())
	}
	again := func(overdue time.Duration, spoil string) int {
		t.Helper()
		require.NoError(t, s.DB().Write(t.Context(), func(tx pgdb.Tx) error {
			if _, err := tx.Exec(t.Context(), spoil); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), redeliver, kind, overdue.Nanoseconds(), atOnce)
			return err
		}))
		return count()
	}
	assert.Equal(t, 2, again(0, `SELECT 1`))
	lose := `UPDATE ` + Schema + `.river_job SET state = 'running' WHERE args->>'job' = '1'` // and nobody ends it
	assert.Equal(t, 1, again(time.Hour, lose), "it is not overdue")
	assert.Equal(t, 2, again(0, `SELECT 1`))
	j, err := s.TakeJob(t.Context(), store.JobTake{Owner: "a", Kinds: []string{"k"}, Hold: time.Hour})
	require.NoError(t, err)
	assert.Equal(t, 1, again(0, `DELETE FROM `+Schema+`.river_job WHERE args->>'job' = '1'`), "its lease lasts")
	require.NoError(t, s.HoldJob(t.Context(), j.ID, j.Epoch, time.Nanosecond))
	assert.Equal(t, 2, again(0, `SELECT 1`))
}

// What was queued before the trigger was there is delivered, however much it is, and what is due later then.
func TestWhatWasQueuedBeforeIsDeliveredWhenItIsDue(t *testing.T) {
	t.Parallel()
	s, err := postgres.Open(t.Context(), pgtest.Database(t), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, s.DB().Exec(t.Context(), `INSERT INTO job (project, kind, key, payload, conversation, turn, status, attempts, due, owner, epoch, failure, created, updated, version, contract)
		SELECT '/p', 'k', n::text::bytea, '', '', '', 'queued', 0, CASE WHEN n <= 1500 THEN 1 ELSE `+now+` + 3600 * 1000000000::bigint END, '', 0, '', 1, 1, 1, 1
		FROM generate_series(1, 2500) n`))
	require.NoError(t, Migrate(t.Context(), s.DB()))
	for range 2 {
		require.NoError(t, deliverQueued(t.Context(), s.DB()))
		var available, scheduled, early int
		require.NoError(t, s.DB().Read(t.Context(), func(q pgdb.Queryer) error {
			return q.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE state = 'available'), count(*) FILTER (WHERE state = 'scheduled'),
				count(*) FILTER (WHERE state = 'scheduled' AND scheduled_at < now() + interval '50 minutes') FROM `+Schema+`.river_job`).Scan(&available, &scheduled, &early)
		}))
		assert.Equal(t, []int{1500, 1000, 0}, []int{available, scheduled, early})
	}
}

// The tables are made once: a program that finds them touches nothing, also if a newer one has made them, and makes them again if
// somebody has dropped them.
func TestTheTablesAreMadeOnce(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	s, err := postgres.Open(t.Context(), dsn, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	has := func() (n int) {
		t.Helper()
		require.NoError(t, s.DB().Read(t.Context(), func(q pgdb.Queryer) (err error) { n, err = currentVersion(t.Context(), q); return err }))
		return n
	}
	assert.Zero(t, has())
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() { assert.NoError(t, Migrate(t.Context(), s.DB())) })
	}
	all.Wait()
	assert.Equal(t, version, has(), "schema.sql names the version")

	busy := make(chan error)
	go func() {
		busy <- s.DB().Write(t.Context(), func(tx pgdb.Tx) error { // a turn writes, and upgrading the trigger would wait for it
			if _, err := tx.Exec(t.Context(), `LOCK TABLE job IN ROW EXCLUSIVE MODE`); err != nil {
				return err
			}
			return Migrate(t.Context(), s.DB())
		})
	}()
	select {
	case err := <-busy:
		require.NoError(t, err)
	case <-time.After(30 * time.Second):
		require.Fail(t, "it waits for who writes")
	}
	exec := func(sql string) { require.NoError(t, s.DB().Exec(t.Context(), sql)) }
	exec(`COMMENT ON FUNCTION ` + Schema + `.deliver() IS '1000'`)
	require.NoError(t, Migrate(t.Context(), s.DB()))
	assert.Equal(t, 1000, has(), "a newer program's stay")
	exec(`DROP SCHEMA ` + Schema + ` CASCADE`)
	require.NoError(t, Migrate(t.Context(), s.DB()))
	assert.Equal(t, version, has())

	m, err := rivermigrate.New(riverpgxv5.New(s.DB().Pool()), &rivermigrate.Config{Schema: Schema})
	require.NoError(t, err)
	steps := m.AllVersions()
	assert.Equal(t, 8, steps[len(steps)-1].Version, "River has new steps: raise version here and in schema.sql")

	one, err := postgres.Open(t.Context(), pgtest.Database(t), &postgres.Options{Database: pgdb.Options{Connections: 1}})
	require.NoError(t, err)
	defer func() { require.NoError(t, one.Close()) }()
	require.ErrorContains(t, Migrate(t.Context(), one.DB()), "pool_max_conns in the DSN allows one; set it to 2 or more")
}
