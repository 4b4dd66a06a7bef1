package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func runRules() []rule {
	return []rule{
		{"A run is written when it begins and again when it ends, as one record", runsAreMerged},
		{"Attempts are added to the record of their job", attemptsAreAdded},
		{"Only a job that has failed begins a new record when it is queued again", failedRunsBeginAnew},
		{"A filter selects runs, the newest first, of one project", runsAreFiltered},
		{"The last runs of each project are kept, with texts and attempts within bounds", runsAreBounded},
		{"A record without an id or a status is refused, and nothing of its batch is kept", badRunsAreRefused},
		{"Runs outlive the process unless the store is volatile", runsAreKept},
	}
}

func runsOf(b *bench) store.Runs { return b.Store.(store.Runs) }

// began is when the runs of these tests begin. Stores keep times to the nanosecond, in no zone.
func began() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC) }

func runOf(project, id string) store.Run {
	return store.Run{
		ID: id, Project: project, Owner: "me", Conversation: "c", Turn: "t", Subsystem: "Core.Guard", Point: "BeforeTool",
		CallID: "call", Tool: "bash", Status: event.RunRunning, Started: began(),
	}
}

func writeRuns(t *testing.T, b *bench, runs ...store.Run) {
	t.Helper()
	require.NoError(t, runsOf(b).WriteRuns(t.Context(), runs))
}

func runs(t *testing.T, b *bench, f store.RunFilter) []store.Run {
	t.Helper()
	out, err := runsOf(b).Runs(t.Context(), f)
	require.NoError(t, err)
	return out
}

func runsAreMerged(t *testing.T, b *bench) {
	first := runOf("p", "1")
	writeRuns(t, b, first)
	assert.Equal(t, []store.Run{first}, runs(t, b, store.RunFilter{Project: "p"}))
	end := store.Run{ID: "1", Project: "p", Owner: "you", Status: event.RunFailed, Error: "it failed", Ended: began().Add(time.Second)}
	writeRuns(t, b, end)
	want := first
	want.Owner, want.Status, want.Error, want.Ended = "you", event.RunFailed, "it failed", end.Ended
	assert.Equal(t, []store.Run{want}, runs(t, b, store.RunFilter{Project: "p"}))
}

func attemptsAreAdded(t *testing.T, b *bench) {
	job := store.Run{ID: "j", Project: "p", Owner: "me", Job: "k", Status: event.RunQueued, Queued: began()}
	attempt := func(n int, status string) store.Run {
		r := store.Run{ID: "j", Project: "p", Owner: "me", Job: "k", Started: began().Add(time.Duration(n) * time.Second)}
		a := store.RunAttempt{Number: n, Started: r.Started, Status: event.RunRunning}
		if r.Status = event.RunRunning; status != "" {
			a.Status, a.Error, a.DurationMS = event.RunFailed, status, 1.5
			r.Status = event.RunFailed
		}
		r.Attempts = []store.RunAttempt{a}
		return r
	}
	writeRuns(t, b, job, attempt(1, ""), attempt(1, "no"))
	writeRuns(t, b, attempt(2, ""))
	writeRuns(t, b, attempt(3, "again"))
	got := runs(t, b, store.RunFilter{Project: "p"})
	require.Len(t, got, 1)
	require.Len(t, got[0].Attempts, 3)
	assert.Equal(t, attempt(1, "no").Attempts[0], got[0].Attempts[0])
	assert.Equal(t, event.RunInterrupted, got[0].Attempts[1].Status, "the next one began, so it has not ended by itself")
	assert.Equal(t, attempt(3, "again").Attempts[0], got[0].Attempts[2])
	assert.Equal(t, began(), got[0].Queued)
	assert.Equal(t, began().Add(time.Second), got[0].Started, "the start of the first attempt")
}

func failedRunsBeginAnew(t *testing.T, b *bench) {
	queued := store.Run{ID: "j", Project: "p", Owner: "me", Job: "k", Status: event.RunQueued, Queued: began().Add(time.Hour)}
	for status, anew := range map[hook.RunStatus]bool{
		event.RunQueued: false, event.RunRunning: false, event.RunSucceeded: false, event.RunFailed: true, event.RunTimedOut: true, event.RunPanicked: true,
	} {
		old := store.Run{
			ID: "j" + string(status), Project: "p", Owner: "me", Job: "k", Status: status, Queued: began(), Started: began(),
			Attempts: []store.RunAttempt{{Number: 1, Started: began(), Status: status}},
		}
		again, want := queued, old
		if again.ID = old.ID; anew {
			want = again
		}
		writeRuns(t, b, old)
		writeRuns(t, b, again)
		assert.Equal(t, []store.Run{want}, runs(t, b, store.RunFilter{Project: "p", ID: old.ID}), "%s", status)
	}
}

func runsAreFiltered(t *testing.T, b *bench) {
	other := runOf("p", "2")
	other.Conversation, other.Subsystem, other.Status = "d", "Core", event.RunSucceeded
	like := runOf("p", "3")
	like.Subsystem = "Corello"
	writeRuns(t, b, runOf("p", "1"), other, like, runOf("q", "1"))
	ids := func(f store.RunFilter) string {
		f.Project = "p"
		var out []string
		for _, r := range runs(t, b, f) {
			assert.Equal(t, "p", r.Project)
			out = append(out, r.ID)
		}
		return strings.Join(out, " ")
	}
	assert.Equal(t, "3 2 1", ids(store.RunFilter{}))
	assert.Equal(t, "3 2", ids(store.RunFilter{Limit: 2}))
	assert.Equal(t, "1", ids(store.RunFilter{ID: "1"}))
	assert.Equal(t, "2", ids(store.RunFilter{Conversation: "d"}))
	assert.Equal(t, "2", ids(store.RunFilter{Status: event.RunSucceeded}))
	assert.Equal(t, "2 1", ids(store.RunFilter{Subsystem: "Core"}), "with its members, and nothing whose name begins alike")
	assert.Empty(t, ids(store.RunFilter{Subsystem: "Core' OR 1=1 --"}))
}

func runsAreBounded(t *testing.T, b *bench) {
	writeRuns(t, b, runOf("q", "kept"))
	batch := make([]store.Run, 0, 1000)
	for i := range store.MaxRuns + 10 {
		if batch = append(batch, runOf("p", fmt.Sprint(i))); len(batch) == cap(batch) {
			writeRuns(t, b, batch...)
			batch = batch[:0]
		}
	}
	writeRuns(t, b, batch...)
	got := runs(t, b, store.RunFilter{Project: "p"})
	require.Len(t, got, store.MaxRuns)
	assert.Equal(t, "10", got[len(got)-1].ID, "the oldest ones are gone")
	assert.Len(t, runs(t, b, store.RunFilter{Project: "q"}), 1, "another project keeps its own")

	long := runOf("q", "long")
	long.Status, long.Error = event.RunFailed, strings.Repeat("é", 2000)
	for i := range store.MaxAttempts + 5 {
		long.Attempts = append(long.Attempts, store.RunAttempt{Number: i + 1, Status: event.RunFailed, Started: began()})
	}
	writeRuns(t, b, long)
	got = runs(t, b, store.RunFilter{Project: "q", ID: "long"})
	require.Len(t, got, 1)
	assert.LessOrEqual(t, len(got[0].Error), 1000)
	assert.True(t, strings.HasPrefix(long.Error, got[0].Error), "cut between characters")
	require.Len(t, got[0].Attempts, store.MaxAttempts)
	assert.Equal(t, 6, got[0].Attempts[0].Number, "the last ones stay")
}

func badRunsAreRefused(t *testing.T, b *bench) {
	for _, bad := range []store.Run{{Project: "p", Status: event.RunRunning}, {Project: "p", ID: "1"}, {Project: "p", ID: strings.Repeat("x", 300), Status: event.RunRunning}} {
		require.Error(t, runsOf(b).WriteRuns(t.Context(), []store.Run{runOf("p", "good"), bad}))
	}
	assert.Empty(t, runs(t, b, store.RunFilter{Project: "p"}))
}

func runsAreKept(t *testing.T, b *bench) {
	writeRuns(t, b, runOf("p", "1"))
	if b.reopen == nil {
		return
	}
	b.Store = b.reopen()
	assert.Equal(t, []store.Run{runOf("p", "1")}, runs(t, b, store.RunFilter{Project: "p"}))
}
