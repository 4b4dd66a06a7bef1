package storage_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// Hooks queue work that is done apart from any turn: by their host, or along with a
// contribution. It is kept where conversations are, and done once.

func handles(kind string, h func(context.Context, runtime.JobRun) error) runtime.JobOptions {
	return runtime.JobOptions{Handlers: map[string]func(context.Context, runtime.JobRun) error{kind: h}}
}

func TestSpecJobsAreQueuedByContributionsAndHostsAndDoneOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var done []runtime.JobRun
		jobOf := func(key string) hook.Job { return hook.Job{Kind: "memory.extract", Key: key, Payload: `{"n":1}`} }
		a := &rig.Adds{Policies: rig.Gives(hook.Policy{Attached: hook.Attached{Jobs: message.ListOf(jobOf("attached"))}})}
		asks := rig.Does("later", func(ctx context.Context) message.ToolResult { return message.TextResult("queued") })
		asks.Run = func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
			if err := env.Call.Host().Enqueue(ctx, jobOf("host")); err != nil {
				return message.FailedResult(message.FailOperation, err.Error())
			}
			return message.TextResult("queued")
		}
		m := rig.Plays(rig.Calls(rig.Call("c1", "later", `{}`)), rig.Says("one"), rig.Calls(rig.Call("c2", "later", `{}`)), rig.Says("two"))
		o := &runtime.Options{Jobs: handles("memory.extract", func(_ context.Context, j runtime.JobRun) error {
			j.Host = nil
			done = append(done, j)
			return nil
		})}
		o.Jobs.Workers = 1
		w := rig.StartWith(t, m, hook.AgentConfig{Name: "a"}, o, a, rig.Box(asks))
		w.Send("1")
		w.Send("2")
		synctest.Wait()
		assert.Equal(t, []string{"queued", "queued"}, w.Results())
		require.Len(t, done, 2, "each key once, though both were queued in both turns")
		turn := w.EventsOf(event.TurnStart)[0].Turn
		attached, host := jobOf("attached"), jobOf("host")
		attached.Version, host.Version = 1, 1 // that of a handler which says none
		assert.Equal(t, runtime.JobRun{Job: attached, Attempt: 1, Conversation: w.Conv.ID(), Turn: turn}, done[0])
		assert.Equal(t, host, done[1].Job)
		all, err := w.Runtime.Jobs(t.Context(), store.JobFilter{Statuses: []store.JobStatus{store.JobSucceeded}})
		require.NoError(t, err)
		assert.Len(t, all, 2)
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

func TestSpecARejectedTurnQueuesNoJobs(t *testing.T) {
	t.Parallel()
	a := &rig.Adds{
		Policies: rig.Gives(hook.Policy{Attached: hook.Attached{Jobs: message.ListOf(hook.Job{Kind: "k", Key: "1"})}}),
		Sections: func(*hook.Turn) ([]hook.PromptSection, error) {
			return nil, errors.New("oops")
		},
	}
	strict, err := composite.New(&struct {
		Strict *rig.Adds `hook:"PromptSections: failclosed"`
	}{a})
	require.NoError(t, err)
	w := rig.Start(t, rig.Plays(), strict)
	_, err = w.Try(t.Context(), "go")
	require.Error(t, err)
	all, err := w.Runtime.Jobs(t.Context(), store.JobFilter{})
	require.NoError(t, err)
	assert.Empty(t, all)
}

func TestSpecAJobThatIsNoneEndsNoTurn(t *testing.T) {
	t.Parallel()
	a := &rig.Adds{Policies: rig.Gives(hook.Policy{Attached: hook.Attached{Jobs: message.ListOf(hook.Job{Kind: "k"}, hook.Job{Kind: "k", Key: "1"})}})}
	w := rig.Start(t, rig.Plays(rig.Says("ok")), a)
	w.Send("go")
	told := w.EventsOf(event.Diagnostic)
	require.Len(t, told, 1)
	assert.Equal(t, "queue a job: store: a job has to have a kind and a key", told[0].Text)
	all, err := w.Runtime.Jobs(t.Context(), store.JobFilter{})
	require.NoError(t, err)
	assert.Len(t, all, 1, "and the others are queued; where nobody does them they wait")
}

func TestSpecJobsOutliveTheProcessThatQueuedOrDidThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	queues := &rig.Adds{Policies: rig.Gives(hook.Policy{Attached: hook.Attached{Jobs: message.ListOf(hook.Job{Kind: "k", Key: "1"})}})}
	began := make(chan int, 10)
	stuck := handles("k", func(ctx context.Context, j runtime.JobRun) error {
		began <- j.Attempt
		<-ctx.Done()
		return ctx.Err()
	})
	first := rig.Boot(t, dir, rig.Plays(rig.Says("ok")), runtime.Options{Owner: "first", Jobs: stuck}, queues)
	first.Send("go")
	assert.Equal(t, 1, <-began)
	// The first process never ends the job: it hangs. The second knows that it is gone.
	done := make(chan int, 10)
	second := rig.Boot(t, dir, rig.Plays(), runtime.Options{Owner: "second", Jobs: handles("k", func(_ context.Context, j runtime.JobRun) error {
		done <- j.Attempt
		return nil
	})})
	assert.Equal(t, 2, <-done, "the job is taken over, and knows that it was tried")
	require.NoError(t, second.Runtime.Close(t.Context()))
	all, err := first.Runtime.Jobs(t.Context(), store.JobFilter{})
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, store.JobSucceeded, all[0].Status)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, first.Runtime.Close(ctx), "closing breaks off what would go on, and its late end changes nothing")
}

func TestSpecAStoreWithoutJobsSaysSo(t *testing.T) {
	t.Parallel()
	type bare struct{ store.Store }
	o := &runtime.Options{Store: bare{mem.New(nil)}}
	w := rig.StartWith(t, rig.Plays(), hook.AgentConfig{Name: "a"}, o)
	_, err := w.Runtime.Jobs(t.Context(), store.JobFilter{})
	require.ErrorIs(t, err, runtime.ErrUnsupported)
	o.Jobs = handles("k", func(context.Context, runtime.JobRun) error { return nil })
	require.ErrorIs(t, runtime.New(nil, rig.Plays(), o).Open(t.Context()), runtime.ErrUnsupported, "also when it is to be done")
}

func TestSpecClosingWaitsForJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		closed, ended := false, false
		a := &rig.Adds{Policies: rig.Gives(hook.Policy{Attached: hook.Attached{Jobs: message.ListOf(hook.Job{Kind: "k", Key: "1"})}})}
		o := &runtime.Options{Jobs: handles("k", func(context.Context, runtime.JobRun) error {
			time.Sleep(time.Minute)
			ended = !closed
			return nil
		})}
		w := rig.StartWith(t, rig.Plays(rig.Says("ok")), hook.AgentConfig{Name: "a"}, o, a, point.OnCloseFunc(func(context.Context) error { closed = true; return nil }))
		w.Send("go")
		synctest.Wait()
		require.NoError(t, w.Runtime.Close(t.Context()))
		assert.True(t, ended, "the hooks are closed behind the last job")
		assert.True(t, closed)
	})
}
