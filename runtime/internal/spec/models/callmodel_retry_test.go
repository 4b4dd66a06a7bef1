package models_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// titled asks a model after each reply, with OnModelError of another hook beside it.
func titled(model string) *titles {
	return &titles{req: message.ModelRequest{Model: message.Model{Name: model}, Messages: message.MessagesOf(message.UserText("a title"))}}
}

var errBusyNow = &provider.Error{Class: message.FailureRateLimit, RetryAfter: 3 * time.Second, Err: errors.New("busy")}

func TestSpecAHooksModelCallPassesOnModelError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, asked := titled("small"), onErrors(hook.RetryFailure(time.Second), hook.FallbackFailure("spare"))
		w := rig.Start(t, rig.Plays(rig.Says("hi"), rig.Fails(errBusyNow), rig.Fails(errBusyNow), rig.Says("A title")), h, asked)
		began := time.Now()
		w.Send("1")
		require.NoError(t, h.err)
		assert.Equal(t, "A title", h.reply.Text())
		assert.Equal(t, "spare", h.reply.Model)
		assert.Equal(t, 3*time.Second, time.Since(began), "what the provider asks for is a minimum")
		require.Len(t, asked.seen, 2)
		assert.Equal(t, []int{1, 2}, []int{asked.seen[0].Attempt, asked.seen[1].Attempt})
		assert.Equal(t, "small", asked.seen[0].Model)
		assert.Empty(t, w.EventsOf(event.TurnRetried), "the reply of the turn stands")
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

func TestSpecAHooksModelCallFailsAfterItsTries(t *testing.T) {
	t.Parallel()
	h := titled("small")
	w := rig.Start(t, rig.Plays(rig.Says("hi"), rig.Fails(io.EOF), rig.Fails(io.EOF)), h, onErrors(hook.RetryFailure(0), hook.FailureDecision{}))
	w.Send("1")
	require.ErrorIs(t, h.err, io.EOF)
	assert.ErrorContains(t, h.err, "after 2 tries")
}

// A hook that asks a model about each failure must not ask about the failure of that.
func TestSpecModelCallsInOnModelErrorDoNotRecurse(t *testing.T) {
	t.Parallel()
	h, gone := &asksInError{}, errors.New("gone")
	w := rig.Start(t, rig.Plays(slices.Repeat([]message.ModelStream{rig.Fails(gone)}, 9)...), h)
	_, err := w.Try(t.Context(), "1")
	require.Error(t, err)
	assert.Equal(t, 1, h.asked)
	require.ErrorIs(t, h.err, gone)
}

type asksInError struct {
	hook.Nop
	asked int
	err   error
}

func (h *asksInError) OnModelError(ctx context.Context, s *hook.Step, _ message.ModelFailure) (hook.FailureDecision, error) {
	h.asked++
	_, h.err = s.Host().CallModel(ctx, message.ModelRequest{Messages: message.MessagesOf(message.UserText("why?"))})
	return hook.FailureDecision{}, nil
}
