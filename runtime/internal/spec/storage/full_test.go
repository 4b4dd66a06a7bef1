package storage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// fullStore is a store whose disk is full while full is set.
type fullStore struct {
	*mem.Store
	full atomic.Bool
	// cause is the error of its writes; nil is store.ErrFull.
	cause error
}

func (s *fullStore) err() error {
	switch {
	case !s.full.Load():
		return nil
	case s.cause != nil:
		return s.cause
	}
	return fmt.Errorf("append: %w", store.ErrFull)
}

func (s *fullStore) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	if err := s.err(); err != nil {
		return 0, err
	}
	return s.Store.Append(ctx, id, a)
}

func (s *fullStore) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	if err := s.err(); err != nil {
		return 0, err
	}
	return s.Store.Note(ctx, id, n)
}

func newFullStore() *fullStore { return &fullStore{Store: mem.New(&mem.Options{Journal: true})} }

// texts are the texts of the stored events.
func (s *fullStore) texts(t *testing.T, id string) map[string]int {
	t.Helper()
	events, err := s.Events(t.Context(), id, 0, 100_000)
	require.NoError(t, err)
	out := map[string]int{}
	for _, e := range events {
		var ev hook.Event
		require.NoError(t, json.Unmarshal([]byte(e.Data), &ev))
		out[ev.Text]++
	}
	return out
}

// TestSpecAFullDiskAsksNoModel: the turn is refused before a model is asked, and the next one
// works when there is room, without a restart.
func TestSpecAFullDiskAsksNoModel(t *testing.T) {
	t.Parallel()
	st := newFullStore()
	w := rig.StartWith(t, rig.Plays(rig.Says("one"), rig.Says("three")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: st})
	w.Send("1")
	st.full.Store(true)
	for range 3 {
		_, err := w.Try(t.Context(), "2") // the script has no reply for it
		require.ErrorIs(t, err, store.ErrFull)
		require.ErrorContains(t, err, "free some")
	}
	st.full.Store(false)
	w.Send("3")
	assert.Equal(t, []string{"user 1", "assistant one", "user 3", "assistant three"}, w.History())
}

// TestSpecAFullDiskBetweenStepsAsksNoModel: what a call has done is not paid for by another
// request whose answer could not be stored, and it is in the history in the end.
func TestSpecAFullDiskBetweenStepsAsksNoModel(t *testing.T) {
	t.Parallel()
	st := newFullStore()
	w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("c1", "fill", `{}`)), rig.Says("after")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: st},
		rig.Box(rig.Does("fill", func(context.Context) message.ToolResult {
			st.full.Store(true)
			return message.TextResult("filled")
		})))
	out, err := w.Try(t.Context(), "1")
	require.Error(t, err)
	assert.Equal(t, hook.StopError, out.Stop)
	require.ErrorIs(t, out.Err, store.ErrFull)
	assert.Equal(t, 1, out.Steps)
	st.full.Store(false)
	w.Send("2")
	assert.Equal(t, "assistant after", w.History()[len(w.History())-1])
}

// TestSpecAFullDiskStopsATurnAndLosesNoEvent: a call that tells more than waits in memory is
// cancelled at the first write that fails, and everything that it has told is stored afterwards.
func TestSpecAFullDiskStopsATurnAndLosesNoEvent(t *testing.T) {
	t.Parallel()
	st := newFullStore()
	var told atomic.Int64
	w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("c1", "talk", `{}`)), rig.Says("two")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: st},
		rig.Box(talks("talk", func(ctx context.Context, say func(string)) message.ToolResult {
			st.full.Store(true)
			for ctx.Err() == nil && told.Load() < 10_000 {
				say(fmt.Sprint("told ", told.Add(1)))
			}
			return message.TextResult("stopped")
		})))
	out, err := w.Try(t.Context(), "1")
	require.Error(t, err)
	assert.Equal(t, hook.StopError, out.Stop)
	require.ErrorIs(t, out.Err, store.ErrFull)
	n := int(told.Load())
	assert.Less(t, n, 1000, "the call is cancelled")
	assert.Greater(t, n, 200)
	st.full.Store(false)
	w.Send("2")
	have := st.texts(t, w.Conv.ID())
	for i := range n {
		assert.Equal(t, 1, have[fmt.Sprint("told ", i+1)], i)
	}
}

// talks is a tool that emits diagnostics.
func talks(name string, run func(ctx context.Context, say func(string)) message.ToolResult) rig.Tool {
	return rig.Tool{Tool: message.Tool{Name: name}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		return run(ctx, func(text string) { env.Call.Host().Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: text}) })
	}}
}
