package api_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func TestJobsAreListedShownAndChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, j := range []store.Job{
		{Job: hook.Job{Kind: "k", Key: "1", Payload: `{"n":1}`}, Conversation: "c", Turn: "t"},
		{Job: hook.Job{Kind: "k", Key: "2"}}, {Job: hook.Job{Kind: "other", Key: "3"}}, {Job: hook.Job{Kind: "k", Key: "4"}, Project: "/elsewhere"},
	} {
		_, err := w.store.(store.Jobs).Enqueue(t.Context(), j)
		require.NoError(t, err)
	}
	keys := func(f wire.JobFilter) (out []string) {
		t.Helper()
		all, err := w.client.Jobs(t.Context(), f)
		require.NoError(t, err)
		for _, j := range all {
			assert.Empty(t, j.Payload)
			out = append(out, j.Key)
		}
		return out
	}
	assert.Equal(t, []string{"3", "2", "1"}, keys(wire.JobFilter{}))
	assert.Equal(t, []string{"2", "1"}, keys(wire.JobFilter{Kind: "k"}))
	assert.Equal(t, []string{"1"}, keys(wire.JobFilter{Conversation: "c", Status: "queued"}))
	assert.Equal(t, []string{"2"}, keys(wire.JobFilter{Before: 3, Limit: 1}))
	assert.Empty(t, keys(wire.JobFilter{Status: "failed"}))
	_, err := w.client.Jobs(t.Context(), wire.JobFilter{Status: "lost"})
	assert.ErrorContains(t, err, "write queued, running, succeeded, failed or cancelled")

	j, err := w.client.Job(t.Context(), 1)
	require.NoError(t, err)
	assert.JSONEq(t, `{"n":1}`, string(j.Payload))
	change := func(id int64, to string) (string, error) {
		j, err := w.client.ChangeJob(t.Context(), id, wire.JobChange{Change: to})
		return j.Status, err
	}
	_, err = change(1, "retry")
	assert.Equal(t, wire.CodeIdle, client.CodeOf(err))
	assert.ErrorContains(t, err, "job 1 is queued: only a job that is failed or cancelled can be changed by retry")
	_, err = change(1, "stop")
	assert.Equal(t, wire.CodeInvalid, client.CodeOf(err))
	for _, step := range [][2]string{{"cancel", "cancelled"}, {"retry", "queued"}, {"cancel", "cancelled"}, {"drop", "cancelled"}} {
		got, err := change(1, step[0])
		require.NoError(t, err)
		assert.Equal(t, step[1], got)
	}
	_, err = w.client.Job(t.Context(), 1)
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
	_, err = change(4, "cancel")
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err), "it is another project's")

	_, err = w.store.(store.Jobs).TakeJob(t.Context(), store.JobTake{Owner: "me", Kinds: []string{"other"}, Hold: 1})
	require.NoError(t, err)
	require.NoError(t, w.store.(store.Jobs).EndJob(t.Context(), 3, 1, store.JobEnd{Status: store.JobFailed, Failure: "error"}))
	j, err = w.client.Job(t.Context(), 3)
	require.NoError(t, err)
	assert.Equal(t, []any{"error", "me", 1}, []any{j.Failure, j.Owner, j.Attempts})
}
