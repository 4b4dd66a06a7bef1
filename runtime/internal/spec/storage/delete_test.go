package storage_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func TestSpecADeletedConversationIsGoneAndItsReadersAreTold(t *testing.T) {
	t.Parallel()
	st := rig.OpenSQLite(t, t.TempDir())
	w := rig.StartWith(t, rig.Plays(rig.Says("one"), rig.Says("two"), rig.Says("new")), hook.AgentConfig{Name: "a"},
		&runtime.Options{Store: st, Events: runtime.Events{Recent: 100}})
	w.Send("1")
	other, err := dialog.Conversation(t.Context(), w.Runtime, "a", "bob")
	require.NoError(t, err)
	_, err = dialog.Send(t.Context(), other, message.TextInput("2"), nil)
	require.NoError(t, err)
	id := w.Conv.ID()
	follower := w.Runtime.Subscribe(&runtime.SubscribeOptions{Conversation: id})
	defer follower.Close()
	ended := make(chan error, 1)
	go func() {
		for _, err := range follower.Events(context.WithoutCancel(t.Context())) {
			if err != nil {
				ended <- err
			}
		}
	}()

	got, err := w.Runtime.Delete(t.Context(), id)
	require.NoError(t, err)
	assert.Equal(t, []string{id}, got.Conversations)
	assert.Positive(t, got.Messages)
	require.Error(t, <-ended, "its reader does not wait for ever")
	late := w.Runtime.Subscribe(&runtime.SubscribeOptions{Conversation: id, After: &runtime.Position{}})
	defer late.Close()
	_, err = late.Read(t.Context())
	require.ErrorIs(t, err, store.ErrUnknown, "nothing is held")
	everything := w.Runtime.Subscribe(&runtime.SubscribeOptions{After: &runtime.Position{}})
	defer everything.Close()
	page, err := everything.Read(t.Context())
	require.NoError(t, err)
	for _, item := range page.Items {
		assert.NotContains(t, string(item.JSON()), id)
	}

	_, err = w.Conv.Send(t.Context(), message.TextInput("late"), nil)
	require.ErrorIs(t, err, store.ErrUnknown, "who still has it cannot bring it back")
	_, err = w.Runtime.Delete(t.Context(), id)
	require.ErrorIs(t, err, store.ErrUnknown)
	fresh, err := dialog.Conversation(t.Context(), w.Runtime, "a", w.Conv.Sender())
	require.NoError(t, err)
	assert.NotEqual(t, id, fresh.ID())
	_, err = dialog.Send(t.Context(), fresh, message.TextInput("hello again"), nil)
	require.NoError(t, err)
	ms, err := st.Messages(t.Context(), fresh.ID())
	require.NoError(t, err)
	assert.Len(t, ms, 2)
	ms, err = st.Messages(t.Context(), other.ID())
	require.NoError(t, err)
	assert.Len(t, ms, 2)
}

func TestSpecARunningTurnKeepsItsConversation(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"in memory", "on disk"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o := &runtime.Options{}
			if kind == "on disk" {
				o.Store = rig.OpenSQLite(t, t.TempDir())
			}
			running, release := make(chan struct{}), make(chan struct{})
			w := rig.StartWith(t, rig.Plays(rig.Says("one"), rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("two"), rig.Says("three")), hook.AgentConfig{Name: "a"}, o,
				rig.Box(rig.Does("wait", func(context.Context) message.ToolResult {
					close(running)
					<-release
					return message.TextResult("waited")
				})))
			w.Send("1")
			ended := make(chan error, 1)
			go func() { _, err := w.Try(t.Context(), "2"); ended <- err }()
			<-running
			_, err := w.Runtime.Delete(t.Context(), w.Conv.ID())
			require.ErrorIs(t, err, runtime.ErrBusy)
			close(release)
			require.NoError(t, <-ended)
			w.Send("3")
			_, err = w.Runtime.Delete(t.Context(), w.Conv.ID())
			require.NoError(t, err)
		})
	}
}

func TestSpecAnotherProcessLearnsOfADeletion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := rig.StartWith(t, rig.Plays(rig.Says("one"), rig.Says("two")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: rig.OpenSQLite(t, dir)})
	w.Send("1")
	other := rig.StartWith(t, rig.Plays(), hook.AgentConfig{Name: "b"}, &runtime.Options{Store: rig.OpenSQLite(t, dir)})
	_, err := other.Runtime.Delete(t.Context(), w.Conv.ID())
	require.NoError(t, err)
	_, err = w.Try(t.Context(), "2")
	require.ErrorIs(t, err, store.ErrUnknown)
	require.ErrorContains(t, err, "it was deleted")
	fresh, err := dialog.Conversation(t.Context(), w.Runtime, "a", w.Conv.Sender())
	require.NoError(t, err)
	assert.NotEqual(t, w.Conv.ID(), fresh.ID())
}
