package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
)

// scanned returns the tables that were read from their beginning to their end since the database
// was made, once all other sessions have ended and so have told of theirs.
func scanned(t *testing.T, dsn string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background()) //nolint:errcheck // nothing is lost with it
	require.Eventually(t, func() bool {
		var others int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`).Scan(&others)
		return assert.NoError(t, err) && others == 0
	}, time.Minute, 5*time.Millisecond)
	rows, err := conn.Query(t.Context(), `SELECT relname FROM pg_stat_user_tables WHERE seq_scan > 0 ORDER BY 1`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return tables
}

// Where PostgreSQL is told to read no table as a whole, it does so only if it has no index to use.
// What a turn and its reader do never needs that.
func TestNoTurnReadsAWholeTable(t *testing.T) {
	t.Parallel()
	dsn := (&pgtest.Template{Prepare: migrated.Prepare}).Database(t)
	execute(t, dsn, `DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET enable_seqscan = off'; END $$`)
	s, err := postgres.Open(t.Context(), dsn, nil)
	require.NoError(t, err)
	for range 8 { // PostgreSQL makes a general plan of a prepared statement after five times
		turnOfAll(t, s)
	}
	require.NoError(t, s.Close())
	assert.Empty(t, scanned(t, dsn))

	execute(t, dsn, `SELECT count(*) FROM conversation WHERE created = 1`)
	assert.Equal(t, []string{"conversation"}, scanned(t, dsn), "the test sees what has no index")
}

// turnOfAll does what a turn, its reader, its jobs and its limits do.
func turnOfAll(t *testing.T, s *postgres.Store) {
	t.Helper()
	ctx := t.Context()
	rec, err := s.Conversation(ctx, store.Key{Project: "p", Agent: "a"})
	require.NoError(t, err)
	rec, err = s.Claim(ctx, rec.ID, store.Claim{Owner: "me", Hold: time.Hour})
	require.NoError(t, err)
	project := "p"
	id, err := s.Reserve(ctx, store.Reservation{Least: store.Spent{SpentKey: store.SpentKey{Day: "2026-11-28", Project: "p"}, Calls: 1}, Hold: time.Hour},
		[]store.SpendingLimit{{SpendingFilter: store.SpendingFilter{Project: &project}, Max: 1 << 40}})
	require.NoError(t, err)
	job := store.Job{Job: hook.Job{Kind: "k", Key: rec.ID}, Project: "p", Conversation: rec.ID}
	first, err := s.Note(ctx, rec.ID, store.Note{Epoch: rec.Lease.Epoch, Hold: time.Hour, Entries: []store.Entry{{Kind: store.EntryTurn, Data: `{}`}},
		Events: []store.Event{{Seq: rec.Events + 1, Data: `{}`}}, States: []hook.StateValue{{Name: "s", Data: `1`}}, Jobs: []store.Job{job}})
	require.NoError(t, err)
	version, err := s.Append(ctx, rec.ID, store.Append{Version: rec.Version, Epoch: rec.Lease.Epoch, Hold: time.Hour,
		Messages: message.MessagesOf(message.UserText("hello")), Forget: []int64{first}})
	require.NoError(t, err)
	_, err = s.Append(ctx, rec.ID, store.Append{Version: version, Epoch: rec.Lease.Epoch, Messages: message.MessagesOf(message.UserText("you")), TurnEnds: true})
	require.NoError(t, err)
	require.NoError(t, s.Settle(ctx, id, store.Spent{SpentKey: store.SpentKey{Day: "2026-11-28", Project: "p"}, Calls: 1}))
	require.NoError(t, s.WriteRuns(ctx, []store.Run{{ID: rec.ID, Project: "p", Conversation: rec.ID, Status: event.RunRunning}}))
	_, err = s.Enqueue(ctx, job)
	require.NoError(t, err)
	_, err = s.TakeJob(ctx, store.JobTake{Owner: "me", Project: "p", Kinds: []string{"k"}, Hold: time.Hour})
	if err != nil {
		require.ErrorIs(t, err, store.ErrNoJob)
	}
	for _, read := range []func() error{
		func() error { _, err := s.Find(ctx, rec.ID); return err },
		func() error { _, err := s.Messages(ctx, rec.ID); return err },
		func() error { _, err := s.Archive(ctx, rec.ID); return err },
		func() error { _, err := s.Journal(ctx, rec.ID); return err },
		func() error { _, err := s.States(ctx, rec.ID); return err },
		func() error { _, err := s.Events(ctx, rec.ID, 0, 100); return err },
		func() error { _, err := s.Children(ctx, rec.ID); return err },
		func() error { _, err := s.Runs(ctx, store.RunFilter{Project: "p"}); return err },
		func() error { _, err := s.Weigh(ctx, rec.ID); return err },
	} {
		require.NoError(t, read())
	}
}
