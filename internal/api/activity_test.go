package api_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/monitor"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// settled asks for the activity until check finds what it looks for.
func (w *world) settled(check func(t *assert.CollectT, a wire.Activity)) (last wire.Activity) {
	w.t.Helper()
	require.EventuallyWithT(w.t, func(t *assert.CollectT) {
		a, err := w.client.Activity(w.t.Context())
		if assert.NoError(t, err) {
			last = a
			check(t, a)
		}
	}, time.Minute, 2*time.Millisecond)
	return last
}

func TestActivity(t *testing.T) {
	t.Parallel()
	kept, day := mem.New(nil), time.Now().Format(time.DateOnly)
	for _, k := range []store.SpentKey{
		{Day: day, Project: "/project", Agent: "a"}, {Day: day, Project: "/project", Agent: "b"}, {Day: day, Project: "/other"}, {Day: "2020-01-01", Project: "/project"},
	} {
		require.NoError(t, kept.Settle(t.Context(), 0, store.Spent{SpentKey: k, Calls: 2, Unpriced: 1, Cost: 3}))
	}
	w := newWorld(t, &worldOptions{store: kept, api: api.Options{Monitor: monitor.New(nil), Project: "/project"}})
	ctx, began := t.Context(), time.Now()
	holds, asks, approves := w.conversation("ann"), w.conversation("bob"), w.conversation("eve")
	w.turn(holds.ID, "call deaf {}")

	running, err := w.client.Send(ctx, holds.ID, "call hold {}")
	require.NoError(t, err)
	<-w.box.held
	_, err = w.client.Send(ctx, asks.ID, `call ask {"s":"Which?"}`)
	require.NoError(t, err)
	danger, err := w.client.Send(ctx, approves.ID, `call danger {"s":"x"}`)
	require.NoError(t, err)
	w.followTo(danger, event.ApprovalAsked)
	var queued sync.WaitGroup
	queued.Go(func() {
		_, err := w.direct.SendWhenBusy(ctx, holds.ID, "later", wire.BusyQueue)
		assert.NoError(t, err)
	})
	wait := watch(w, "")
	a := w.settled(func(t *assert.CollectT, a wire.Activity) {
		assert.Equal(t, []int{1, 1, 0, 1, 1}, []int{a.Approvals, a.Questions, a.ClientCalls, a.QueuedMessages, a.Streams})
	})
	assert.Equal(t, wire.StatusOK, a.Status)
	assert.Equal(t, []wire.Abandoned{{Tool: "deaf", Count: 1}}, a.Abandoned)
	assert.Equal(t, &wire.SpentToday{Calls: 4, Unpriced: 2, Cost: 6}, a.Today)
	require.NotNil(t, a.QueuedJobs)
	require.Len(t, a.Turns, 3)
	states := map[string]string{}
	for _, one := range a.Turns {
		states[one.Sender] = one.State
		assert.Equal(t, "helper", one.Agent)
		assert.Equal(t, "/project", one.Project)
		assert.False(t, one.Since.Before(began))
	}
	assert.Equal(t, map[string]string{"ann": "tool", "bob": "question", "eve": "approval"}, states)
	first := a.Turns[0]
	require.Len(t, first.Calls, 1)
	assert.Equal(t, wire.ActiveCall{Tool: "hold", Agent: "helper", Since: first.Calls[0].Since}, first.Calls[0])
	assert.Equal(t, running.ID, first.ID)
	assert.Equal(t, holds.ID, first.Conversation)
	assert.Equal(t, 1, first.Step)

	w.box.release <- struct{}{} // for hold or deaf; whoever takes it
	w.box.release <- struct{}{}
	queued.Wait()
	for _, id := range []string{asks.ID, approves.ID} {
		_, err = w.client.Cancel(ctx, id)
		require.NoError(t, err)
	}
	w.settled(func(t *assert.CollectT, a wire.Activity) {
		assert.Empty(t, a.Turns)
		assert.Empty(t, a.Abandoned)
		assert.Equal(t, []int{0, 0, 0}, []int{a.Approvals, a.Questions, a.QueuedMessages})
	})
	w.end()
	_, _ = wait()
}
