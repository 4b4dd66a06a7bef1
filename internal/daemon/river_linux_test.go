package daemon_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/jobs/river"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
	"github.com/grapnel-go/grapnel/subsystems/memory"
)

// byRiver is what the command passes on.
func byRiver(ctx context.Context, j app.SharedJobs) (func(*runtime.JobWork) runtime.JobEngine, error) {
	return river.Open(ctx, river.Options{Store: j.Store, TTL: j.TTL, Mask: j.Mask, Tenant: j.Tenant})
}

// doneBy returns of every job its project, and those of the nodes to which River has delivered it and of the node that has done it.
func doneBy(t *testing.T, dsn string) []string {
	t.Helper()
	const query = `WITH of AS (SELECT n.id, p->>'id' AS project FROM node n, jsonb_array_elements(coalesce(nullif(convert_from(n.projects, 'UTF8')::jsonb, 'null'), '[]')) p)
		SELECT format('%s: %s, by %s', convert_from(j.project, 'UTF8'), r.state, (SELECT string_agg(coalesce(of.project, '?'), ' ' ORDER BY o) FROM
			unnest(r.attempted_by || j.owner) WITH ORDINALITY a(id, o) LEFT JOIN of ON of.id = a.id))
		FROM job j JOIN grapnel_river.river_job r ON r.args->>'job' = j.num::text ORDER BY j.num`
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background()) //nolint:errcheck // nothing is lost with it
	rows, err := conn.Query(t.Context(), query)
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return out
}

// TestJobsOfAnOwnerOnADeadNodeGoOn: nobody opens the owner's program here, and another daemon that had it open has died.
func TestJobsOfAnOwnerOnADeadNodeGoOn(t *testing.T) {
	t.Parallel()
	needs.Namespaces(t)
	paths := project(t)
	paths.Database = pgtest.Database(t)
	db, err := postgres.Open(t.Context(), paths.Database, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	tokenOf(t, paths, "bob")
	serveOwners(t, paths, app.Node{Deliver: byRiver})
	require.Eventually(t, func() bool {
		all, err := db.Nodes(t.Context())
		require.NoError(t, err)
		return slices.ContainsFunc(all, func(n store.Node) bool { return len(n.Projects) == 1 && n.Projects[0].ID == "bob:"+paths.Root })
	}, 40*time.Second, 50*time.Millisecond, "the programs of the owners that there were at the start are open")
	tokenOf(t, paths, "alice")
	of := "alice:" + paths.Root
	_, err = db.Enqueue(t.Context(), store.Job{Project: of, Job: hook.Job{Kind: memory.JobKind, Key: "turn", Payload: "{}"}})
	require.NoError(t, err)
	attempts := func() int {
		all, err := db.Jobs(t.Context(), store.JobFilter{Project: of})
		require.NoError(t, err)
		require.Len(t, all, 1)
		return all[0].Attempts
	}
	dead := store.Node{ID: "dead", URL: "unix:/dead", TTL: time.Second, Projects: []store.NodeProject{{ID: of, Root: paths.Root}}}
	require.NoError(t, db.Beat(t.Context(), dead))
	assert.Zero(t, attempts(), "nobody has opened the program of alice")
	require.Eventually(t, func() bool { return attempts() > 0 }, 40*time.Second, 50*time.Millisecond)
}

// TestJobsOfOwnersRunInTheirOwnPrograms: two owners and the daemon's user share a directory and a database, and River brings the jobs of
// each to the program of that one.
func TestJobsOfOwnersRunInTheirOwnPrograms(t *testing.T) {
	t.Parallel()
	needs.Namespaces(t)
	paths := project(t)
	paths.Database = pgtest.Database(t)
	require.NoError(t, os.WriteFile(filepath.Join(paths.Root, "model.yaml"), []byte("format: true\nrules:\n"+
		"- {when: {system: You find what an assistant should remember}, say: '{\"memories\": []}'}\n- {when: always, say: Hi.}\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(paths.Root, ".grapnel", "agents", "helper.md"),
		[]byte("---\nmodel: script:model.yaml\nmemory: {recall: off, extraction: auto}\n---\nHelp.\n"), 0o600))
	s := serveOwners(t, paths, app.Node{Deliver: byRiver})
	var want []string
	everybody := map[string]*client.Client{paths.Root: s.local, "alice:" + paths.Root: s.as("alice"), "bob:" + paths.Root: s.as("bob")}
	for of, c := range everybody {
		for range 3 {
			says(t, c, "helper", "ann", "My boat is green.")
			want = append(want, of+": completed, by "+of+" "+of)
		}
	}
	assert.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, want, doneBy(t, paths.Database)) }, 40*time.Second, 50*time.Millisecond)
	for of, c := range everybody {
		all, err := c.Jobs(t.Context(), wire.JobFilter{Limit: 10})
		require.NoError(t, err)
		assert.Len(t, all, 3, of)
	}
}
