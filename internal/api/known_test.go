package api_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/api"
)

func masksHunter(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }

func TestServersAreListed(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	log := []string{"listening", "key hunter2"}
	all := []wire.Server{
		{Name: "notes", State: "connected", Since: since, Transport: "stdio", Place: "./notes hunter2", Process: 4711, Shared: true, Tools: []string{"mcp__notes__read"},
			RefusedTools: []wire.RefusedTool{{Name: "write", Reason: "its description has changed"}}, Log: log},
		{Name: "far", State: "refused", Reason: "nobody knows hunter2", Transport: "http", Place: "https://far.example/mcp", Tools: []string{}, RefusedTools: []wire.RefusedTool{}, Log: []string{}},
	}
	w := newWorld(t, &worldOptions{api: api.Options{Mask: masksHunter, Servers: func() []wire.Server { return all }}})
	got, err := w.client.Servers(t.Context())
	require.NoError(t, err)
	want := slices.Clone(all)
	want[0].Place, want[0].Log, want[1].Reason = "./notes ***", []string{"listening", "key ***"}, "nobody knows ***"
	assert.Equal(t, want, got)
	assert.Equal(t, "key hunter2", log[1], "what the function has returned stays")

	none, err := newWorld(t, nil).client.Servers(t.Context())
	require.NoError(t, err)
	assert.Empty(t, none)
}

// remembered are memories that are listed as they are.
type remembered struct {
	all     []wire.Memory
	changes []string
}

func (r *remembered) List(context.Context) ([]wire.Memory, error) { return r.all, nil }

func (r *remembered) Change(_ context.Context, id string, c wire.MemoryChange) (wire.Memory, error) {
	for _, m := range r.all {
		switch {
		case m.ID != id:
		case c.Content == "nonsense":
			return m, api.Invalid(errors.New("this is nonsense"))
		default:
			r.changes = append(r.changes, id+" "+c.Content)
			m.ID, m.Waiting, m.Replaces = "3-1", false, ""
			return m, nil
		}
	}
	return wire.Memory{}, api.NotFound(errors.New("there is none"))
}

func (r *remembered) Forget(_ context.Context, id string) error {
	if !slices.ContainsFunc(r.all, func(m wire.Memory) bool { return m.ID == id }) {
		return api.NotFound(errors.New("there is none"))
	}
	r.changes = append(r.changes, "forget "+id)
	return nil
}

func TestMemoriesAreListedChangedAndForgotten(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	known := &remembered{all: []wire.Memory{
		{ID: "w1", Waiting: true, Replaces: "Nine crowns, hunter2.", Of: "agent a", Name: "fee", Content: "Ten crowns.", Kind: "fact", Origin: "model", Trust: "workspace", Confidence: 0.5, Updated: at},
		{ID: "1-1", Of: "agent a", Name: "fee", Content: "Nine crowns, hunter2.", Kind: "fact", Origin: "user", Trust: "workspace", Confidence: 1,
			Sources: []wire.MemorySource{{Conversation: "c1", Turn: "t1"}}, Uses: 2, Used: at, Updated: at},
		{ID: "2-1", Of: "agent a", User: true, Name: "Berth", Content: "Number four.", Kind: "fact", Origin: "user", Trust: "workspace", Confidence: 1, Updated: at},
	}}
	w := newWorld(t, &worldOptions{api: api.Options{Mask: masksHunter, Memories: known}})
	list := func(f wire.MemoryFilter) (ids []string, total int) {
		t.Helper()
		got, err := w.client.Memories(t.Context(), f)
		require.NoError(t, err)
		for _, m := range got.Memories {
			ids = append(ids, m.ID)
			assert.NotContains(t, m.Content+m.Replaces, "hunter2")
		}
		return ids, got.Total
	}
	for _, tt := range []struct {
		f     wire.MemoryFilter
		ids   []string
		total int
	}{
		{wire.MemoryFilter{}, []string{"w1", "1-1", "2-1"}, 3},
		{wire.MemoryFilter{Limit: 1}, []string{"w1"}, 3},
		{wire.MemoryFilter{Agent: "a"}, []string{"w1", "1-1", "2-1"}, 3},
		{wire.MemoryFilter{Agent: "b"}, nil, 0},
		{wire.MemoryFilter{Text: "berth"}, []string{"2-1"}, 1},
		{wire.MemoryFilter{Text: "CROWNS", Agent: "a", Limit: 5}, []string{"w1", "1-1"}, 2},
		{wire.MemoryFilter{Text: "ships"}, nil, 0},
	} {
		ids, total := list(tt.f)
		assert.Equal(t, tt.ids, ids, "%+v", tt.f)
		assert.Equal(t, tt.total, total, "%+v", tt.f)
	}
	assert.Equal(t, 400, w.answer("GET", "/v1/memories?limit=many"))

	m, err := w.client.ChangeMemory(t.Context(), "1-1", wire.MemoryChange{Content: "Eleven crowns."})
	require.NoError(t, err)
	assert.Equal(t, "3-1", m.ID)
	_, err = w.client.ChangeMemory(t.Context(), "w1", wire.MemoryChange{Approve: true})
	require.NoError(t, err)
	require.NoError(t, w.client.ForgetMemory(t.Context(), "2-1"))
	assert.Equal(t, []string{"1-1 Eleven crowns.", "w1 ", "forget 2-1"}, known.changes)

	for _, change := range []wire.MemoryChange{{}, {Content: "x", Approve: true}, {Content: "nonsense"}} {
		_, err = w.client.ChangeMemory(t.Context(), "1-1", change)
		assert.Equal(t, wire.CodeInvalid, client.CodeOf(err), "%+v", change)
	}
	_, err = w.client.ChangeMemory(t.Context(), "9-9", wire.MemoryChange{Approve: true})
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(w.client.ForgetMemory(t.Context(), "9-9")))

	none, err := newWorld(t, nil).client.Memories(t.Context(), wire.MemoryFilter{})
	require.NoError(t, err)
	assert.Equal(t, wire.Memories{Memories: []wire.Memory{}}, none)
}

// scheduled is one schedule until it is removed.
type scheduled struct{ all []wire.Schedule }

func (s *scheduled) List(context.Context) (out []wire.Schedule, _ error) {
	for _, one := range s.all {
		one.Runs = nil
		out = append(out, one)
	}
	return out, nil
}

func (s *scheduled) Find(_ context.Context, name string) (wire.Schedule, error) {
	for _, one := range s.all {
		if one.Name == name {
			return one, nil
		}
	}
	return wire.Schedule{}, api.NotFound(errors.New("there is no schedule of that name"))
}

func (s *scheduled) Remove(ctx context.Context, name string) error {
	_, err := s.Find(ctx, name)
	s.all = slices.DeleteFunc(s.all, func(one wire.Schedule) bool { return one.Name == name })
	return err
}

func TestSchedulesAreListedShownAndRemoved(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	failed := wire.ScheduleRun{Due: at, Began: at, Ended: at, Conversation: "c1", Turn: "t1", Status: "failed", Note: "hunter2 is wrong"}
	known := &scheduled{[]wire.Schedule{
		{Name: "news", Agent: "a", Sender: "schedule:news", Prompt: "What is new, hunter2?", When: "0 7 * * * Europe/Berlin", Late: "run", Created: at, Next: at, Missed: 2, MissedLast: at,
			Last: &failed, Runs: []wire.ScheduleRun{failed, {Due: at, Status: "skipped"}}},
		{Name: "nurse", Agent: "a", Sender: "schedule:nurse", Prompt: "What is wrong?", When: "on turn_end stop=error", Late: "report", Created: at},
	}}
	w := newWorld(t, &worldOptions{api: api.Options{Mask: masksHunter, Schedules: known}})
	all, err := w.client.Schedules(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, "What is new, ***?", all[0].Prompt)
	assert.Equal(t, "*** is wrong", all[0].Last.Note)
	assert.Empty(t, all[0].Runs)
	assert.Equal(t, known.all[1], all[1])

	one, err := w.client.Schedule(t.Context(), "news")
	require.NoError(t, err)
	require.Len(t, one.Runs, 2)
	assert.Equal(t, "*** is wrong", one.Runs[0].Note)
	assert.Equal(t, "hunter2 is wrong", failed.Note, "what the functions have returned stays")

	require.NoError(t, w.client.RemoveSchedule(t.Context(), "news"))
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(w.client.RemoveSchedule(t.Context(), "news")))
	_, err = w.client.Schedule(t.Context(), "news")
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))

	none, err := newWorld(t, nil).client.Schedules(t.Context())
	require.NoError(t, err)
	assert.Empty(t, none)
}

// lax takes an id as a number is read, however it is written.
type lax struct{ *remembered }

func (l lax) Forget(ctx context.Context, id string) error {
	return l.remembered.Forget(ctx, strings.TrimLeft(id, "0"))
}

// TestMemoriesOfTheUserAreForWhoMaySeeAllProjects: others neither see nor change them, also if they administer their own project.
func TestMemoriesOfTheUserAreForWhoMaySeeAllProjects(t *testing.T) {
	t.Parallel()
	known := &remembered{all: []wire.Memory{
		{ID: "1-1", Of: "agent a", Name: "fee", Content: "Nine crowns."},
		{ID: "2-1", Of: "agent a", User: true, Name: "berth", Content: "Number four."},
	}}
	d := newTCP(t, worldOptions{api: api.Options{Memories: lax{known}, Project: "/p"}})
	all := client.New(d.url, &client.Options{Token: d.token("all", "read,administer")})
	one := client.New(d.url, &client.Options{Token: d.token("one", "read,administer", "/p")})
	for c, want := range map[*client.Client]int{all: 2, one: 1} {
		got, err := c.Memories(t.Context(), wire.MemoryFilter{})
		require.NoError(t, err)
		assert.Equal(t, want, got.Total)
		assert.Len(t, got.Memories, want)
	}
	_, err := one.ChangeMemory(t.Context(), "2-1", wire.MemoryChange{Content: "Number five."})
	assert.Equal(t, wire.CodeForbidden, client.CodeOf(err))
	assert.Equal(t, wire.CodeForbidden, client.CodeOf(one.ForgetMemory(t.Context(), "2-1")))
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(one.ForgetMemory(t.Context(), "02-1")), "another way to write it is no way to it")
	assert.Empty(t, known.changes)
	require.NoError(t, one.ForgetMemory(t.Context(), "1-1"))
	require.NoError(t, all.ForgetMemory(t.Context(), "2-1"))
	assert.Equal(t, []string{"forget 1-1", "forget 2-1"}, known.changes)
}
