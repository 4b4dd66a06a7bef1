package river

import (
	"strings"
	"testing"
	"time"

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
	require.NoError(t, migrate(t.Context(), s.DB()))
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
	assert.Equal(t, int64(1), exec(reap, kind, "one"))
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
		require.NoError(t, migrate(t.Context(), s.DB()))
		assert.Equal(t, 2, count())
	}
	again := func(overdue time.Duration, spoil string) int {
		t.Helper()
		require.NoError(t, s.DB().Write(t.Context(), func(tx pgdb.Tx) error {
			if _, err := tx.Exec(t.Context(), spoil); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), redeliver, kind, overdue.Nanoseconds())
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
