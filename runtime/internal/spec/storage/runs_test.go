package storage_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
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

func asText(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

func recordedRuns(t *testing.T, w *rig.World, f store.RunFilter) []store.Run {
	t.Helper()
	out, err := w.Runtime.Runs(t.Context(), f)
	require.NoError(t, err)
	return out
}

// TestSpecAHookRunIsRecordedWhenItStarts: while it runs its record says so, and its end becomes part of the same record.
func TestSpecAHookRunIsRecordedWhenItStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
			time.Sleep(20 * time.Second)
			return hook.DenyTool("not today"), nil
		})
		o := &runtime.Options{Events: runtime.Events{RecordHooks: true}}
		gate, err := composite.Of("Gates", composite.Field{Name: "Slow", Hook: slow}, composite.Field{Name: "Box", Hook: rig.Box(rig.Does("look", nil))})
		require.NoError(t, err)
		w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("c1", "look", `{"s":"`+rig.Canary+`"}`)), rig.Says("done")), hook.AgentConfig{Name: "a"}, o, gate)
		began := time.Now()
		go w.Send("go")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		f := store.RunFilter{Subsystem: "Slow"}
		during := recordedRuns(t, w, f)
		require.Len(t, during, 1)
		assert.Equal(t, event.RunRunning, during[0].Status)
		assert.Equal(t, "BeforeTool", during[0].Point)
		assert.Equal(t, "c1", during[0].CallID)
		assert.Equal(t, w.Conv.ID(), during[0].Conversation)
		assert.NotEmpty(t, during[0].Turn)
		assert.True(t, during[0].Ended.IsZero())
		time.Sleep(time.Minute)
		synctest.Wait()
		after := recordedRuns(t, w, f)
		require.Len(t, after, 1, "one record")
		assert.Equal(t, during[0].ID, after[0].ID)
		assert.Equal(t, event.RunDenied, after[0].Status)
		assert.Equal(t, hook.AnswerDeny, after[0].Answer)
		assert.Equal(t, "not today", after[0].Error)
		assert.WithinDuration(t, began.Add(20*time.Second), after[0].Ended, time.Second)
		require.NoError(t, w.Runtime.Close(t.Context()))
		all, err := o.Store.(store.Runs).Runs(t.Context(), store.RunFilter{})
		require.NoError(t, err)
		assert.NotContains(t, asText(t, all), rig.Canary, "arguments are nowhere in the records")
	})
}

// TestSpecTheRecordOfAJobHasItsAttempts, each with its time and its error.
func TestSpecTheRecordOfAJobHasItsAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &runtime.Options{Jobs: handles("k", func(_ context.Context, j runtime.JobRun) error {
			time.Sleep(2 * time.Second)
			if j.Attempt < 3 {
				return errors.New(rig.Canary)
			}
			return nil
		})}
		a := &rig.Adds{Policies: rig.Gives(hook.Policy{Attached: hook.Attached{Jobs: message.ListOf(hook.Job{Kind: "k", Key: "1"})}})}
		w := rig.StartWith(t, rig.Plays(rig.Says("ok")), hook.AgentConfig{Name: "a"}, o, a)
		w.Send("go")
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		runs := recordedRuns(t, w, store.RunFilter{})
		require.Len(t, runs, 1, "hook runs are not recorded unless they are asked for, jobs always")
		r := runs[0]
		assert.Equal(t, event.RunSucceeded, r.Status)
		assert.Equal(t, "k", r.Job)
		require.Len(t, r.Attempts, 3)
		for i, want := range []hook.RunStatus{event.RunFailed, event.RunFailed, event.RunSucceeded} {
			assert.Equal(t, i+1, r.Attempts[i].Number)
			assert.Equal(t, want, r.Attempts[i].Status)
			assert.InDelta(t, 2000, r.Attempts[i].DurationMS, 1)
		}
		assert.NotEmpty(t, r.Attempts[0].Error)
		assert.Empty(t, r.Attempts[2].Error)
		assert.NotContains(t, asText(t, runs), rig.Canary, "the cause may quote secrets")
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

// TestSpecARunOfAProcessThatDiedIsInterrupted, for whoever asks and, from the next start on, in the store.
func TestSpecARunOfAProcessThatDiedIsInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := mem.New(nil)
		require.NoError(t, s.WriteRuns(t.Context(), []store.Run{
			{ID: "left", Owner: "dead", Subsystem: "Slow", Point: "BeforeTool", Status: event.RunRunning, Started: time.Now()},
			{ID: "going on", Owner: "alive", Subsystem: "Slow", Point: "BeforeTool", Status: event.RunRunning, Started: time.Now()},
		}))
		gone := func(owner string) bool { return owner == "dead" }
		w := rig.StartWith(t, rig.Plays(), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: s, Gone: gone, Owner: "me"})
		time.Sleep(time.Second)
		synctest.Wait()
		for _, read := range []func() ([]store.Run, error){
			func() ([]store.Run, error) {
				return w.Runtime.Runs(t.Context(), store.RunFilter{Status: event.RunInterrupted})
			},
			func() ([]store.Run, error) {
				return s.Runs(t.Context(), store.RunFilter{Status: event.RunInterrupted})
			},
		} {
			got, err := read()
			require.NoError(t, err)
			require.Len(t, got, 1)
			assert.Equal(t, "left", got[0].ID)
		}
		running := recordedRuns(t, w, store.RunFilter{Status: event.RunRunning})
		require.Len(t, running, 1)
		assert.Equal(t, "going on", running[0].ID)
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

// TestSpecParallelContributorsAreBounded: in a turn no more of them run at once than the runtime is told.
func TestSpecParallelContributorsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		slow := &rig.Adds{Sections: func(*hook.Turn) ([]hook.PromptSection, error) {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Second)
			now.Add(-1)
			return nil, nil
		}}
		c, err := composite.New(&struct {
			Extra []hook.Hook `hook:"PromptSections: parallel"`
		}{[]hook.Hook{slow, slow, slow, slow, slow, slow}})
		require.NoError(t, err)
		o := &runtime.Options{Calls: runtime.Calls{Contributors: composite.Parallel{Point: 2}}}
		w := rig.StartWith(t, rig.Plays(rig.Says("ok")), hook.AgentConfig{Name: "a"}, o, c)
		began := time.Now()
		w.Send("go")
		assert.Equal(t, int64(2), most.Load())
		assert.Equal(t, 3*time.Second, time.Since(began))
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}
