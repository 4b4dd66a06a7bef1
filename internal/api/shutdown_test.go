package api_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/api/wire"
	"github.com/grapnel-go/grapnel/internal/client"
)

// watch follows all events until the stream ends, and returns how it did.
func watch(w *world, from string) (wait func() ([]hook.Event, error)) {
	var events []hook.Event
	var end error
	var wg sync.WaitGroup
	wg.Go(func() {
		for item, err := range w.direct.Events(w.t.Context(), "", from) {
			if err != nil {
				end = err
				return
			}
			events = append(events, item.Event)
		}
	})
	return func() ([]hook.Event, error) { wg.Wait(); return events, end }
}

// TestEndWaits: a turn in flight ends before the daemon does; its ask can be
// answered until then, no other turn begins, and readers get everything.
func TestEndWaits(t *testing.T) {
	t.Parallel()
	var order []string
	w := newWorld(t, &worldOptions{api: api.Options{Grace: 20 * time.Second}, end: func() { order = append(order, "end") }})
	w.box.closed = &order
	ctx := t.Context()
	conv, other := w.conversation("ann"), w.conversation("bob")
	health, err := w.client.Health(ctx)
	require.NoError(t, err)
	wait := watch(w, health.LastEventID)
	turn, err := w.client.Send(ctx, conv.ID, `call danger {"s":"x"}`)
	require.NoError(t, err)
	w.followTo(turn, hook.EventApprovalAsked)

	w.stop()
	for health.Status != wire.StatusClosing { // the daemon tells when it has begun to end
		health, err = w.client.Health(ctx)
		require.NoError(t, err)
	}
	_, err = w.client.Send(ctx, other.ID, "hello")
	assert.Equal(t, wire.CodeUnavailable, client.CodeOf(err))
	_, err = w.client.CreateAgent(ctx, wire.NewAgent{Name: "late"})
	assert.Equal(t, wire.CodeUnavailable, client.CodeOf(err))
	asks, err := w.client.Asks(ctx, "")
	require.NoError(t, err)
	require.Len(t, asks, 1)
	require.NoError(t, w.client.Answer(ctx, asks[0].ID, wire.Answer{Answer: wire.AnswerApprove}))

	w.end()
	events, err := wait()
	require.ErrorIs(t, err, client.ErrClosed)
	ended := only(events, hook.EventTurnEnd)
	require.Len(t, ended, 1)
	assert.Equal(t, hook.StopCompleted, ended[0].Detail().Stop)
	assert.Equal(t, hook.EventAgentUnregistered, last(t, events).Kind)
	assert.Equal(t, []string{"box", "end"}, order)
	assert.NoFileExists(t, w.socket())
}

// followTo reads a turn up to the first event of a kind.
func (w *world) followTo(turn wire.Turn, kind hook.EventKind) {
	w.t.Helper()
	for item, err := range w.client.Follow(w.t.Context(), turn) {
		require.NoError(w.t, err)
		if item.Event.Kind == kind {
			return
		}
	}
}

// TestEndCancels: turns that go on for longer than the grace period are
// cancelled, and what they did is recorded.
func TestEndCancels(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &worldOptions{api: api.Options{Grace: time.Millisecond}})
	conv := w.conversation("ann")
	health, err := w.client.Health(t.Context())
	require.NoError(t, err)
	wait := watch(w, health.LastEventID)
	_, err = w.client.Send(t.Context(), conv.ID, "call echo {\"s\":\"x\"}\ncall hold {}")
	require.NoError(t, err)
	<-w.box.held
	w.end()
	events, err := wait()
	require.ErrorIs(t, err, client.ErrClosed)
	assert.Equal(t, hook.StopCancelled, only(events, hook.EventTurnEnd)[0].Detail().Stop)
	messages, err := w.store.Messages(t.Context(), conv.ID)
	require.NoError(t, err)
	require.Len(t, messages, 4)
	assert.Equal(t, "done x", messages[2].Result.Text())
	assert.Equal(t, hook.FailCancelled, messages[3].Result.Failure)

	w.start()
	assert.Equal(t, "you said: and now?", last(t, w.turn(conv.ID, "and now?")).Text)
}

// TestEndWithStalledReader: one that takes nothing does not keep the daemon.
func TestEndWithStalledReader(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conv := w.conversation("ann")
	open(t, w.socket(), "/v1/conversations/"+conv.ID+"/events", "Last-Event-ID: "+conv.LastEventID+"\r\n")
	for range 4 {
		turn, err := w.direct.Send(t.Context(), conv.ID, `call emit {"s":"2000"}`)
		require.NoError(t, err)
		for _, err := range w.direct.Follow(t.Context(), turn) {
			require.NoError(t, err)
		}
	}
	w.end()
	assert.NoFileExists(t, w.socket())
}

// TestEndFails: the error of closing is that of Run.
func TestEndFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	dir, err := os.MkdirTemp("", "grapnel-")
	require.NoError(t, err)
	defer func() { require.NoError(t, os.RemoveAll(dir)) }()
	ln, err := api.Listen(t.Context(), dir+"/x.sock")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	boom := errors.New("boom")
	assert.ErrorIs(t, api.New(w.options()).Run(ctx, ln, func(context.Context) error { return boom }), boom)
	require.NoError(t, ln.Close())
	err = api.New(w.options()).Run(t.Context(), ln, func(context.Context) error { return nil })
	assert.ErrorContains(t, err, "closed", "a listener that fails ends the daemon")
}

// options are those of a second server over the same runtime.
func (w *world) options() api.Options {
	return api.Options{Runtime: w.rt, Store: w.store, Hook: api.NewHook(nil)}
}

// TestHeartbeat: a stream without events shows that it is alive.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	synctest.Test(t, func(t *testing.T) {
		o := w.options()
		o.Heartbeat = time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()
		req := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://grapnel/v1/events", nil)
		out := httptest.NewRecorder()
		api.New(o).ServeHTTP(out, req)
		body := out.Body.String()
		assert.Regexp(t, `^id: [0-9]+-[0-9]+\n\n:\n\n:\n\n$`, body)
	})
}

// asking runs Approve as the runtime does and returns its decision.
func asking(ctx context.Context, h *api.Hook, call *hook.ToolCall) <-chan hook.Verdict {
	out := make(chan hook.Verdict, 1)
	go func() {
		d, _ := h.Approve(ctx, call, hook.AskTool("why"))
		out <- d.Verdict()
	}()
	return out
}

func callOf(args hook.JSON) *hook.ToolCall {
	conv := hook.NewConversation(hook.ConversationData{ID: "conv", Agent: &hook.AgentConfig{Name: "helper"}})
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: conv, ID: "turn"})
	return hook.NewToolCall(hook.ToolCallData{Step: hook.NewStep(turn, 1, "m"), ID: "c1", Tool: hook.Tool{Name: "danger"}, Args: args})
}

func asked(args hook.JSON) hook.Event {
	return hook.Event{Kind: hook.EventApprovalAsked, Conversation: "conv", Turn: "turn", Seq: 1}.
		WithDetail(hook.EventDetail{CallID: "c1", Tool: "danger", Args: args})
}

// TestAskEnds: an ask that nobody answers is refused when its time is over or the
// turn ends, and is then gone.
func TestAskEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	list := func(t *testing.T, h *api.Hook) []wire.Ask {
		o := w.options()
		o.Hook = h
		out := httptest.NewRecorder()
		api.New(o).ServeHTTP(out, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://grapnel/v1/asks", nil))
		var asks wire.Asks
		require.NoError(t, jsonOf(out, &asks))
		return asks.Asks
	}
	answer := func(t *testing.T, h *api.Hook, id string) int {
		o := w.options()
		o.Hook = h
		out := httptest.NewRecorder()
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://grapnel/v1/asks/"+id, bodyOf(`{"answer":"approve"}`))
		req.Header.Set("Content-Type", "application/json")
		api.New(o).ServeHTTP(out, req)
		return out.Code
	}
	t.Run("its time is over", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := api.NewHook(&api.HookOptions{AskTimeout: time.Minute})
			begun := time.Now()
			got := asking(t.Context(), h, callOf(`{}`))
			synctest.Wait()
			asks := list(t, h)
			require.Len(t, asks, 1)
			assert.Equal(t, time.Minute, asks[0].Expires.Sub(asks[0].Asked))
			v := <-got
			assert.Equal(t, time.Minute, time.Since(begun))
			assert.Equal(t, hook.AnswerRefuse, v.Kind)
			assert.Equal(t, "Nobody answered within 1m0s.", v.Reason)
			assert.Empty(t, list(t, h))
			assert.Equal(t, http.StatusNotFound, answer(t, h, asks[0].ID))
		})
	})
	t.Run("the turn ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := api.NewHook(nil)
			ctx, cancel := context.WithCancel(t.Context())
			got := asking(ctx, h, callOf(`{}`))
			synctest.Wait()
			require.Zero(t, list(t, h)[0].Expires)
			cancel()
			assert.Equal(t, hook.AnswerRefuse, (<-got).Kind)
			assert.Empty(t, list(t, h))
		})
	})
	t.Run("the answer is there before anybody waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := api.NewHook(nil)
			h.OnEvent(t.Context(), asked(`{}`))
			id := list(t, h)[0].ID
			assert.Equal(t, http.StatusOK, answer(t, h, id))
			assert.Empty(t, list(t, h))
			assert.Equal(t, http.StatusNotFound, answer(t, h, id))
			assert.Equal(t, hook.AnswerApprove, (<-asking(t.Context(), h, callOf(`{}`))).Kind)
		})
	})
	t.Run("an answer counts for the arguments that were shown", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := api.NewHook(nil)
			h.OnEvent(t.Context(), asked(`{"s":"harmless"}`))
			assert.Equal(t, http.StatusOK, answer(t, h, list(t, h)[0].ID))
			got := asking(t.Context(), h, callOf(`{"s":"harmful"}`))
			synctest.Wait()
			asks := list(t, h)
			require.Len(t, asks, 1, "it is asked anew")
			assert.Equal(t, hook.JSON(`{"s":"harmful"}`), asks[0].Args)
			h.OnEvent(t.Context(), asked(`{"s":"harmless"}`)) // told late
			assert.Equal(t, asks, list(t, h))
			assert.Equal(t, http.StatusOK, answer(t, h, asks[0].ID))
			assert.Equal(t, hook.AnswerApprove, (<-got).Kind)
		})
	})
	t.Run("nobody comes to wait", func(t *testing.T) {
		h := api.NewHook(nil)
		h.OnEvent(t.Context(), asked(`{}`))
		require.Len(t, list(t, h), 1)
		h.OnEvent(t.Context(), hook.Event{Kind: hook.EventTurnEnd, Conversation: "conv", Turn: "turn", Seq: 2})
		assert.Empty(t, list(t, h))
	})
}
