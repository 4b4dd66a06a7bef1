package schedule

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/sqldb"
	"github.com/grapnel-go/grapnel/internal/test/databases"
	"github.com/grapnel-go/grapnel/internal/test/statements"
)

// TestEveryStatementKnowsItsTenant, in a database that has the same of two other tenants.
func TestEveryStatementKnowsItsTenant(t *testing.T) {
	t.Parallel()
	check := statements.Check{
		Own: "alice", Other: "carol",
		AnyTenant: map[string]string{
			"FROM schedule WHERE sender = $1":                       "looks for the schedules of a sender who is being deleted; they are deleted by their project",
			"FROM schedule WHERE conversation <> ''":                "looks for conversations that are being deleted; what names them is changed by its project",
			"WHERE r.held = 0 AND r.conversation <> ''":             "does the same",
			"SELECT count(*) FROM (SELECT 1 FROM":                   "is of a copy",
			"SELECT num, project, name, agent, sender, prompt":      "is of a copy",
			"SELECT schedule, key, due, began, ended, held, status": "is of a copy",
		},
		Makes: map[string]string{"INSERT INTO schedule (project, name": "makes a row of its own project"},
	}
	raw := databases.Postgres(t).SQL()
	everything(t, raw, check.DB("PostgreSQL", raw))
	file, err := openFile(t.Context(), filepath.Join(t.TempDir(), "schedules.db"), nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, file.Close()) }()
	everything(t, file.SQL(), check.DB("SQLite", file.SQL()))
	check.Report(t)
}

// everything calls everything that schedules can do as alice, between what others have. Both are the same database.
func everything(t *testing.T, raw, watched sqldb.DB) {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 11, 27, 6, 59, 0, 0, time.UTC), stop: hook.StopCompleted}
	in := func(db sqldb.DB) func(o *Options) (*Schedule, error) {
		return func(o *Options) (*Schedule, error) { return OpenIn(db, o), nil }
	}
	w.open = in(raw)
	bob, dora := w.of("bob:/srv/harbour"), w.of("dora:/srv/harbour")
	w.open = in(watched)
	s := w.of("alice:/srv/harbour")
	require.NoError(t, s.Load(t.Context(), func(context.Context, sqldb.Each) error { return nil }))
	for _, other := range []*Schedule{bob, dora} {
		w.add(other, morning())
		require.NoError(t, other.RunNow(t.Context(), "news", w.run))
	}
	for _, name := range []string{"news", "moved", "broken", "held"} {
		w.add(s, Entry{Name: name, Agent: "helper", Prompt: "What is new?", Cron: "0 7 * * *", Late: LateRun})
	}
	w.add(s, Entry{Name: "event", Agent: "helper", Prompt: "Look.", On: On{Kind: event.TurnEnd}})
	w.pass(2 * time.Minute)
	w.tick(s)
	require.NoError(t, s.RunNow(t.Context(), "news", func(ctx context.Context, task Task) (hook.StopReason, error) {
		stop, err := w.run(ctx, task)
		s.mu.Lock()
		live := slices.Collect(maps.Keys(s.live))
		s.mu.Unlock()
		for _, run := range live {
			held, failed := s.table.hold(ctx, run.schedule, run.key, w.clock().Add(holdTime))
			assert.NoError(t, failed)
			assert.True(t, held)
		}
		return stop, err
	}))
	w.repaired(s, raw)
	w.heldUp(s)
	w.pruned(s, raw)

	runs, err := s.Runs(t.Context(), "news")
	require.NoError(t, err)
	assert.Len(t, runs, keptRuns)
	require.NoError(t, s.Remove(t.Context(), "news"))
	w.erased(s)
	require.NoError(t, s.Rows(t.Context(), func(string, []any) error { return nil }))
	for _, other := range []*Schedule{bob, dora} {
		runs, err := other.Runs(t.Context(), "news")
		require.NoError(t, err)
		assert.NotEmpty(t, runs, "what others have stays")
	}
}

// of returns the schedules of a tenant.
func (w *world) of(project string) *Schedule {
	w.t.Helper()
	s, err := w.open(&Options{Project: project, Run: w.run, Now: w.clock, Zone: time.UTC})
	require.NoError(w.t, err)
	return s
}

// change runs a statement that no tenant would.
func (w *world) change(db sqldb.DB, query string, args ...any) {
	w.t.Helper()
	require.NoError(w.t, db.Write(w.t.Context(), func(tx sqldb.Tx) error {
		n, err := tx.Exec(query, args...)
		assert.EqualValues(w.t, 1, n)
		return err
	}))
}

// repaired lets a schedule be due in a year, and another one have a line that nobody can read.
func (w *world) repaired(s *Schedule, raw sqldb.DB) {
	w.t.Helper()
	w.change(raw, `UPDATE schedule SET due = $1 WHERE name = 'moved'`, w.clock().Add(365*24*time.Hour).UnixNano())
	w.change(raw, `UPDATE schedule SET cron = 'x', due = $1 WHERE name = 'broken'`, w.clock().UnixNano())
	s.looked = time.Time{}
	w.tick(s)
	all, err := s.List(w.t.Context())
	require.NoError(w.t, err)
	for _, one := range all {
		switch one.Name {
		case "moved":
			assert.Equal(w.t, time.Date(2026, 11, 28, 7, 0, 0, 0, time.UTC), one.Next.UTC())
		case "broken":
			assert.True(w.t, one.Next.IsZero())
		}
	}
}

// heldUp begins a run that goes on, skips two events meanwhile, and lets it die.
func (w *world) heldUp(s *Schedule) {
	w.t.Helper()
	ctx := w.t.Context()
	one, err := s.table.row(ctx, "event")
	require.NoError(w.t, err)
	require.NoError(w.t, s.table.write(ctx, func(tx sqldb.Tx) error {
		_, err := s.table.begin(tx, one.num, "dies", Run{Due: w.clock(), Began: w.clock(), Status: Running}, w.clock().Add(holdTime))
		return err
	}))
	for i := range 2 {
		w.pass(time.Second)
		require.NoError(w.t, s.arrived(ctx, ctx, arrival{row: one, key: fmt.Sprint("event ", i)}))
	}
	w.pass(2 * holdTime)
	w.tick(s)
	runs, err := s.Runs(ctx, "event")
	require.NoError(w.t, err)
	require.Len(w.t, runs, 2, "the second event says that the first one was skipped again")
	assert.Equal(w.t, []Status{Skipped, Interrupted}, []Status{runs[0].Status, runs[1].Status})
}

// pruned begins a run behind more old ones than are kept.
func (w *world) pruned(s *Schedule, raw sqldb.DB) {
	w.t.Helper()
	one, err := s.table.row(w.t.Context(), "news")
	require.NoError(w.t, err)
	var rows [][]any
	for i := range int64(2 * keptRuns) {
		rows = append(rows, []any{one.num, fmt.Sprint("old ", i), i + 1, i + 1, i + 2, int64(0), string(Completed), "", "", ""})
	}
	require.NoError(w.t, raw.Write(w.t.Context(), func(tx sqldb.Tx) error {
		return tx.Load("run", []string{"schedule", "key", "due", "began", "ended", "held", "status", "conversation", "turn", "note"}, rows)
	}))
	require.NoError(w.t, s.RunNow(w.t.Context(), "news", w.run))
}

// erased deletes a conversation, a sender and the project.
func (w *world) erased(s *Schedule) {
	w.t.Helper()
	for _, what := range []Subject{
		{Conversations: []string{"conversation of schedule:held"}}, {Sender: "schedule:held"}, {Project: s.o.Project, AllOfProject: true},
	} {
		deleted, named, err := s.Erase(w.t.Context(), what, false)
		require.NoError(w.t, err)
		assert.Positive(w.t, deleted+named, what)
	}
	all, err := s.List(w.t.Context())
	require.NoError(w.t, err)
	assert.Empty(w.t, all)
}
