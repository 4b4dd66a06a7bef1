package api_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
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

// probe is the whole answer of a probe.
func (w *world) probe(path string) (int, string) {
	w.t.Helper()
	status, body := w.bare(http.MethodGet, path)
	return status, string(body)
}

const isOK = `{"status":"ok"}` + "\n"

// sick is a store that hangs in one thing and fails in another.
type sick struct {
	*mem.Store
	hangs chan struct{} // nil is not at all
	fails error
}

func (s *sick) Find(ctx context.Context, id string) (store.Record, error) {
	if s.hangs != nil {
		<-s.hangs
	}
	return s.Store.Find(ctx, id)
}

func (s *sick) Reserve(ctx context.Context, r store.Reservation, limits []store.SpendingLimit) (int64, error) {
	if s.hangs != nil {
		<-s.hangs // it ignores its context, as a dead disk does
	}
	if s.fails != nil {
		return 0, s.fails
	}
	return s.Store.Reserve(ctx, r, limits)
}

func TestProbes(t *testing.T) {
	t.Parallel()
	ready := monitor.New(&monitor.Options{Starting: true})
	kept := mem.New(nil)
	w := newWorld(t, &worldOptions{store: kept, api: api.Options{Monitor: ready}})
	for range 2 {
		status, body := w.probe("/healthz")
		assert.Equal(t, http.StatusOK, status)
		assert.Equal(t, isOK, body)
	}
	status, body := w.probe("/readyz")
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Equal(t, `{"status":"starting"}`+"\n", body)
	ready.Registered()
	status, body = w.probe("/readyz")
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, isOK, body)
	spent, err := kept.Spent(t.Context(), store.SpendingFilter{})
	require.NoError(t, err)
	assert.Empty(t, spent, "to ask costs nothing")
}

// TestProbesOfADaemonThatEnds: who sends it no more requests learns that from it, also without a token.
func TestProbesOfADaemonThatEnds(t *testing.T) {
	t.Parallel()
	d := newTCP(t, worldOptions{api: api.Options{Grace: 20 * time.Second}})
	assert.Equal(t, http.StatusOK, d.status(request{method: "GET", path: "/healthz"}))
	assert.Equal(t, http.StatusOK, d.status(request{method: "GET", path: "/readyz"}))
	assert.Equal(t, http.StatusForbidden, d.status(request{method: "GET", path: "/readyz", host: "evil.example"}))
	conv := d.conversation("ann")
	turn, err := d.client.Send(t.Context(), conv.ID, `call danger {"s":"x"}`)
	require.NoError(t, err)
	d.followTo(turn, event.ApprovalAsked)
	d.stop()
	assert.EventuallyWithT(t, func(t *assert.CollectT) {
		assert.Equal(t, http.StatusServiceUnavailable, d.status(request{method: "GET", path: "/readyz"}))
	}, time.Minute, time.Millisecond)
	_, body := d.probe("/readyz")
	assert.Equal(t, `{"status":"closing"}`+"\n", body)
	assert.Equal(t, http.StatusOK, d.status(request{method: "GET", path: "/healthz"}))
	asks, err := d.client.Asks(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, asks, 1)
	require.NoError(t, d.client.Answer(t.Context(), asks[0].ID, wire.Answer{Answer: wire.AnswerApprove}))
}

// TestProbesOfAStoreThatHangs: the daemon is alive and not ready, and no probe starts a second write while one hangs.
func TestProbesOfAStoreThatHangs(t *testing.T) {
	t.Parallel()
	s := &sick{Store: mem.New(nil), hangs: make(chan struct{})}
	w := newWorld(t, &worldOptions{store: s})
	busy := make(chan int, 1)
	go func() { busy <- w.answer(http.MethodGet, "/v1/conversations/x") }()
	for range 2 {
		status, body := w.probe("/readyz")
		assert.Equal(t, http.StatusServiceUnavailable, status)
		assert.Equal(t, `{"status":"store"}`+"\n", body)
		status, body = w.probe("/healthz")
		assert.Equal(t, http.StatusOK, status)
		assert.Equal(t, isOK, body)
	}
	close(s.hangs)
	assert.Equal(t, http.StatusNotFound, <-busy)
}

// TestReadyAgain: a full disk makes a daemon not ready until there is room; what a probe has found counts for a while.
func TestReadyAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sick{Store: mem.New(nil), fails: errors.New("disk full")}
		m := monitor.New(nil)
		m.Watch(s, "")
		assert.Equal(t, wire.StatusStore, m.Ready(t.Context()))
		s.fails = nil
		assert.Equal(t, wire.StatusStore, m.Ready(t.Context()))
		time.Sleep(3 * time.Second)
		assert.Equal(t, wire.StatusOK, m.Ready(t.Context()))
	})
}
