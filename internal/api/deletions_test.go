package api_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/runtime"
)

func TestDeletions(t *testing.T) {
	t.Parallel()
	var asked []wire.Deletion
	w := newWorld(t, &worldOptions{api: api.Options{Delete: func(_ context.Context, d wire.Deletion) (wire.Deleted, error) {
		asked = append(asked, d)
		if d.Sender == "busy" {
			return wire.Deleted{}, fmt.Errorf("%w: c1", runtime.ErrBusy)
		}
		return wire.Deleted{DryRun: d.DryRun, Conversations: []string{d.Conversation}, Freed: 3,
			Places: []wire.DeletedPlace{{Place: "undo", Deleted: 1, What: "turns", Bytes: 2, Kept: "the rest"}}}, nil
	}}})
	conv := w.conversation("ann")
	out, err := w.client.Delete(t.Context(), wire.Deletion{Conversation: conv.ID, DryRun: true})
	require.NoError(t, err)
	assert.Equal(t, wire.Deleted{DryRun: true, Conversations: []string{conv.ID}, Freed: 3,
		Places: []wire.DeletedPlace{{Place: "undo", Deleted: 1, What: "turns", Bytes: 2, Kept: "the rest"}}}, out)
	assert.Equal(t, []wire.Deletion{{Conversation: conv.ID, DryRun: true}}, asked)
	for _, in := range []wire.Deletion{{Project: "/p"}, {Sender: "ann"}} {
		_, err = w.client.Delete(t.Context(), in)
		require.NoError(t, err)
	}
	for _, tc := range []struct {
		in   wire.Deletion
		code wire.Code
	}{
		{wire.Deletion{}, wire.CodeInvalid},
		{wire.Deletion{Sender: "a", Project: "b"}, wire.CodeInvalid},
		{wire.Deletion{Conversation: "none"}, wire.CodeNotFound},
		{wire.Deletion{Sender: "busy"}, wire.CodeBusy},
	} {
		_, err := w.client.Delete(t.Context(), tc.in)
		assert.Equal(t, tc.code, client.CodeOf(err), "%v", err)
	}
	none := newWorld(t, nil)
	_, err = none.client.Delete(t.Context(), wire.Deletion{Sender: "ann"})
	assert.Equal(t, wire.CodeInvalid, client.CodeOf(err))
}

// TestDeletionEndsStreams: who reads a conversation is told of its end, and finds nothing afterwards.
func TestDeletionEndsStreams(t *testing.T) {
	t.Parallel()
	var w *world
	w = newWorld(t, &worldOptions{api: api.Options{Delete: func(ctx context.Context, d wire.Deletion) (wire.Deleted, error) {
		out, err := w.rt.Delete(ctx, d.Conversation)
		return wire.Deleted{Conversations: append([]string{}, out.Conversations...), Places: []wire.DeletedPlace{}}, err
	}}})
	conv := w.conversation("ann")
	w.turn(conv.ID, "hello")
	ended, began := make(chan error, 1), make(chan struct{}, 100)
	go func() {
		for _, err := range w.client.Events(t.Context(), conv.ID, "0-0") {
			if err != nil {
				ended <- err
				return
			}
			began <- struct{}{}
		}
	}()
	<-began
	_, err := w.client.Delete(t.Context(), wire.Deletion{Conversation: conv.ID})
	require.NoError(t, err)
	require.Error(t, <-ended)
	_, err = w.client.ConversationByID(t.Context(), conv.ID)
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
	_, err = w.client.Send(t.Context(), conv.ID, "late")
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
	fresh := w.conversation("ann")
	assert.NotEqual(t, conv.ID, fresh.ID)
	w.turn(fresh.ID, "hello again")
}
