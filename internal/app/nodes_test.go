package app_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/test/databases"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
	"github.com/grapnel-go/grapnel/subsystems/memory"
)

// The jobs of a node that dies are taken when the others see that, and not when they look for jobs anyway,
// which is every 15 s.
func TestTheJobsOfADeadNodeAreTakenAtOnce(t *testing.T) {
	t.Parallel()
	p := project(t, nil)
	p.Database = databases.DSN(t)
	dead, err := postgres.Open(t.Context(), p.Database, nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, dead.Close()) })
	beat := func() { require.NoError(t, dead.Beat(t.Context(), store.Node{ID: "dead", TTL: 2 * time.Second})) }
	beat()
	_, err = dead.Enqueue(t.Context(), store.Job{Job: hook.Job{Kind: memory.JobKind, Key: "1", Payload: "{}"}, Contract: hook.ContractVersion, Project: p.Project()})
	require.NoError(t, err)
	_, err = dead.TakeJob(t.Context(), store.JobTake{Owner: "dead", Project: p.Project(), Kinds: []string{memory.JobKind}, Hold: time.Hour})
	require.NoError(t, err)

	a, err := app.Open(t.Context(), app.Options{Paths: p, Node: app.Node{TTL: time.Second, Beat: 300 * time.Millisecond}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, a.Close(context.Background())) })
	beat() // it dies now; the first look for jobs is over, or too early
	require.Eventually(t, func() bool {
		all, err := dead.Jobs(t.Context(), store.JobFilter{Project: p.Project()})
		require.NoError(t, err)
		return all[0].Status == store.JobFailed // the payload cannot be read
	}, 12*time.Second, 20*time.Millisecond)
}

// One connection listens for the daemon's user and all owners, and each hears of the writes to its conversations.
func TestOneConnectionListensForAllOwners(t *testing.T) {
	t.Parallel()
	p := project(t, nil)
	p.Database = databases.DSN(t)
	user, err := app.Open(t.Context(), app.Options{Paths: p})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, user.Close(context.Background())) })
	watching, err := pgx.Connect(t.Context(), p.Database)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, watching.Close(context.Background())) })
	listening := func() (n int) {
		t.Helper()
		require.NoError(t, watching.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'`).Scan(&n))
		return n
	}
	require.Eventually(t, func() bool { return listening() == 1 }, time.Minute, 10*time.Millisecond)
	for _, owner := range []string{"alice", "bob", "carol"} {
		hers, err := p.Of(owner)
		require.NoError(t, err)
		a, err := app.Open(t.Context(), app.Options{Paths: hers, Of: user})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, a.Close(context.Background())) })
		rec, err := a.Store.Conversation(t.Context(), store.Key{Project: hers.Project(), Agent: "helper", Sender: "ann"})
		require.NoError(t, err)
		_, wakes := a.Nodes()
		wake, leave := wakes.Of(rec.ID)
		t.Cleanup(leave)
		_, err = a.Store.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText("hello"))})
		require.NoError(t, err)
		select {
		case <-wake:
		case <-time.After(time.Minute):
			t.Errorf("%s heard nothing", owner)
		}
	}
	time.Sleep(300 * time.Millisecond) // time enough for more of them
	assert.Equal(t, 1, listening())
}
