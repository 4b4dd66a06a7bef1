package api_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// TestTasksAreThoseOfTheStore: the state is written as package subsystems/tasks does, whose
// tests have the same JSON.
func TestTasksAreThoseOfTheStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	write := func(sender string, data message.JSON) string {
		rec, err := w.store.Conversation(t.Context(), store.Key{Agent: "helper", Sender: sender})
		require.NoError(t, err)
		_, err = w.store.Note(t.Context(), rec.ID, store.Note{States: []hook.StateValue{{Name: "a", Data: `1`}, {Name: "tasks.list", Data: data}}})
		require.NoError(t, err)
		return rec.ID
	}
	id := write("ann", `{"plan":"A boat","todos":[{"content":"saw","status":"in_progress","active_form":"sawing"},{"content":"plane","status":"pending"}]}`)
	got, err := w.client.Tasks(t.Context(), id)
	require.NoError(t, err)
	assert.Equal(t, wire.Tasks{Plan: "A boat", Todos: []wire.Task{{Content: "saw", Status: "in_progress", ActiveForm: "sawing"}, {Content: "plane", Status: "pending"}}}, got)

	_, err = w.client.Tasks(t.Context(), write("bob", `{"todos":1}`))
	assert.Error(t, err)
	_, err = w.client.Tasks(t.Context(), "nobody")
	assert.ErrorContains(t, err, `there is no conversation "nobody"`)
}
