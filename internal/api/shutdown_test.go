package api_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/socket"
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
	w.followTo(turn, event.ApprovalAsked)

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
	ended := only(events, event.TurnEnd)
	require.Len(t, ended, 1)
	assert.Equal(t, hook.StopCompleted, ended[0].Detail().Stop)
	assert.Equal(t, event.AgentUnregistered, last(t, events).Kind)
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
	assert.Equal(t, hook.StopCancelled, only(events, event.TurnEnd)[0].Detail().Stop)
	messages, err := w.store.Messages(t.Context(), conv.ID)
	require.NoError(t, err)
	require.Len(t, messages, 4)
	assert.Equal(t, "done x", messages[2].Result.Text())
	assert.Equal(t, message.FailCancelled, messages[3].Result.Failure)

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
	ln, err := socket.Listen(t.Context(), dir+"/x.sock")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	boom := errors.New("boom")
	assert.ErrorIs(t, api.New(w.options()).Run(ctx, ln, func(context.Context) error { return boom }), boom)
	require.NoError(t, ln.Close())
	err = api.New(w.options()).Run(t.Context(), ln, func(context.Context) error { return nil })
	assert.ErrorContains(t, err, "closed", "a listener that fails ends the daemon")
}

// quiet is a listener that nobody reaches.
type quiet struct {
	net.Listener
	closed chan struct{}
}

func (q quiet) Accept() (net.Conn, error) {
	<-q.closed
	return nil, net.ErrClosed
}

func (q quiet) Close() error {
	close(q.closed)
	return nil
}

// TestEndHangs: what cannot be cancelled keeps the daemon for a bounded time, and the error says so.
func TestEndHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begun, hangs, left := time.Now(), make(chan struct{}), make(chan struct{})
		o := w.options()
		o.Grace = time.Minute
		err := api.New(o).Run(ctx, quiet{closed: make(chan struct{})}, func(context.Context) error {
			defer close(left)
			<-hangs
			return nil
		})
		require.ErrorContains(t, err, "the daemon did not end within 1m40s, because something hangs")
		assert.Equal(t, 100*time.Second, time.Since(begun))
		close(hangs)
		<-left
	})
}

// options are those of a second server over the same runtime.
func (w *world) options() api.Options {
	return api.Options{Runtime: w.rt, Store: w.store}
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
