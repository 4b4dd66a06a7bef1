package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/sse"
	"github.com/grapnel-go/grapnel/runtime"
)

// open sends one request over a connection of its own, which the test's end
// closes, and returns the body of the answer.
func open(t *testing.T, socket, path string, headers ...string) io.Reader {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: grapnel\r\n%s\r\n", path, strings.Join(headers, ""))
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	return resp.Body
}

// TestSubscribers: of two that read along one loses its connection again and
// again. Both get every event exactly once and in order.
func TestSubscribers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conv := w.conversation("ann")
	var wg sync.WaitGroup
	read := func(c *client.Client) *[]hook.Event {
		var out []hook.Event
		wg.Go(func() {
			for item, err := range c.Events(t.Context(), conv.ID, conv.LastEventID) {
				if !assert.NoError(t, err) || !assert.Zero(t, item.Missed) {
					return
				}
				out = append(out, item.Event)
				if item.Event.Kind == event.TurnEnd && strings.Contains(item.Event.Text, "bye") {
					return
				}
			}
		})
		return &out
	}
	steady := read(w.direct)
	cut := &cutter{socket: w.socket(), every: 2000}
	flaky := read(client.New(cut.listen(t), &client.Options{Wait: time.Microsecond}))
	for i := range 5 {
		w.turn(conv.ID, fmt.Sprintf("call emit {\"s\":\"%d\"}", 10*i))
	}
	w.turn(conv.ID, "bye")
	wg.Wait()
	inOrder(t, *steady)
	assert.Equal(t, uint64(1), (*steady)[0].Seq)
	assert.Greater(t, len(*steady), 150)
	assert.Equal(t, seqs(*steady), seqs(*flaky))
	assert.Greater(t, cut.count(), 5, "the connection was cut")
}

func seqs(events []hook.Event) []uint64 {
	out := make([]uint64, len(events))
	for i, ev := range events {
		out[i] = ev.Seq
	}
	return out
}

// cutter passes connections on and cuts each after so many bytes of the answer.
type cutter struct {
	socket string
	every  int64
	mu     sync.Mutex
	cuts   int
}

func (c *cutter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cuts
}

func (c *cutter) listen(t *testing.T) string {
	path := c.socket + ".cut"
	ln, err := net.Listen("unix", path)
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { c.pass(conn) })
		}
	})
	t.Cleanup(func() {
		assert.NoError(t, ln.Close())
		wg.Wait()
	})
	return path
}

func (c *cutter) pass(conn net.Conn) {
	defer conn.Close()
	to, err := net.Dial("unix", c.socket)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, conn)
		_ = to.Close() // the client has gone
	}()
	if n, _ := io.CopyN(conn, to, c.every); n == c.every {
		c.mu.Lock()
		c.cuts++
		c.mu.Unlock()
	}
}

// TestStalled: a reader that reads nothing during thousands of events slows nobody and gets
// the exact number of events that it has missed.
func TestStalled(t *testing.T) {
	t.Parallel()
	const kept = 100
	w := newWorld(t, &worldOptions{recent: kept})
	conv := w.conversation("ann")
	body := open(t, w.socket(), "/v1/conversations/"+conv.ID+"/events", "Last-Event-ID: "+conv.LastEventID+"\r\n")
	for range 5 { // several times what the connection can hold
		turn, err := w.direct.Send(t.Context(), conv.ID, `call emit {"s":"2000"}`)
		require.NoError(t, err)
		for _, err := range w.direct.Follow(t.Context(), turn) { // may lag, but sees the end
			require.NoError(t, err)
		}
	}
	end, err := w.direct.ConversationByID(t.Context(), conv.ID)
	require.NoError(t, err)
	newest, err := runtime.ParsePosition(end.LastEventID)
	require.NoError(t, err)

	got, missed, lags := uint64(0), uint64(0), 0
	parts := sse.NewReader(body, nil)
	for at := uint64(0); at < newest.Seq; {
		p, err := parts.Next()
		require.NoError(t, err)
		id, err := runtime.ParsePosition(p.ID)
		require.NoError(t, err)
		if p.Data != nil {
			require.Equal(t, newest.Epoch, id.Epoch)
		}
		switch {
		case p.Name == wire.StreamLagged:
			var n uint64
			_, err := fmt.Sscanf(string(p.Data), `{"missed":%d,`, &n)
			require.NoError(t, err)
			require.Equal(t, at+n, id.Seq, "the id says where the reader is")
			missed, at, lags = missed+n, at+n, lags+1
		case p.Data != nil:
			ev, err := wire.DecodeEvent(p.Data)
			require.NoError(t, err)
			require.Equal(t, at+1, ev.Seq)
			got, at = got+1, ev.Seq
		}
	}
	assert.Positive(t, lags)
	assert.Equal(t, newest.Seq, got+missed)
	assert.GreaterOrEqual(t, got, uint64(kept))
}

// TestResume: what a stream answers to ids that it cannot go on from.
func TestResume(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &worldOptions{recent: 10})
	conv := w.conversation("ann")
	turn, err := w.direct.Send(t.Context(), conv.ID, `call emit {"s":"40"}`)
	require.NoError(t, err)
	for _, err := range w.direct.Follow(t.Context(), turn) {
		require.NoError(t, err)
	}
	first := func(c *client.Client, after string) (items []client.Item) {
		for item, err := range c.Events(t.Context(), conv.ID, after) {
			require.NoError(t, err)
			items = append(items, item)
			if item.Event.Seq > 0 {
				break
			}
		}
		return items
	}
	end, err := w.direct.ConversationByID(t.Context(), conv.ID)
	require.NoError(t, err)
	newest, err := runtime.ParsePosition(end.LastEventID)
	require.NoError(t, err)

	late := first(w.client, runtime.Position{Epoch: newest.Epoch, Seq: 5}.String())
	require.Len(t, late, 2)
	assert.Equal(t, newest.Seq-10-5, late[0].Missed)
	assert.Equal(t, newest.Seq-9, late[1].Event.Seq)

	other := first(w.client, "99-7")
	require.Len(t, other, 3)
	assert.True(t, other[0].Restarted)
	assert.Equal(t, newest.Seq-10, other[1].Missed)
	assert.Equal(t, newest.Seq-9, other[2].Event.Seq)

	for _, id := range []string{"other-7", "01-1", "x", "-1", "x-", "x-y", "x--1", strings.Repeat("x", 70) + "-1"} {
		for _, err := range w.direct.Events(t.Context(), conv.ID, id) {
			assert.Equal(t, wire.CodeInvalid, client.CodeOf(err), id)
		}
	}

	t.Log("a registration anew begins a new epoch")
	require.NoError(t, w.client.DeleteAgent(t.Context(), "helper"))
	_, err = w.client.Send(t.Context(), conv.ID, "hello")
	assert.Equal(t, wire.CodeAgentGone, client.CodeOf(err))
	_, err = w.client.CreateAgent(t.Context(), wire.NewAgent{Name: "helper"})
	require.NoError(t, err)
	w.turn(conv.ID, "hello")
	again := first(w.client, end.LastEventID)
	assert.True(t, again[0].Restarted)

	t.Log("a daemon started anew, too")
	w.end()
	w.start()
	w.turn(conv.ID, "hello")
	assert.True(t, first(w.client, again[1].ID)[0].Restarted)
}

// TestStreamedAnswer: stream=1 answers with the turn and ends with it.
func TestStreamedAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conv := w.conversation("ann")
	for _, text := range []string{"hello", "call emit {\"s\":\"200\"}"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://grapnel/v1/conversations/"+conv.ID+"/messages?stream=1",
			strings.NewReader(fmt.Sprintf(`{"text":%q}`, text)))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		resp, err := over(w.client.Address()).RoundTrip(req)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, resp.StatusCode)
		var events []hook.Event
		parts := sse.NewReader(resp.Body, nil)
		for {
			p, err := parts.Next()
			if err != nil {
				require.ErrorIs(t, err, io.EOF)
				break
			}
			if p.Data != nil {
				ev, err := wire.DecodeEvent(p.Data)
				require.NoError(t, err)
				events = append(events, ev)
			}
		}
		require.NoError(t, resp.Body.Close())
		inOrder(t, events)
		assert.Equal(t, event.TurnStart, events[0].Kind)
		assert.Equal(t, event.TurnEnd, last(t, events).Kind)
	}

	t.Log("a client that goes leaves the turn alone")
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://grapnel/v1/conversations/"+conv.ID+"/messages?stream=1", strings.NewReader(`{"text":"call hold {}"}`))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := over(w.socket()).RoundTrip(req)
	require.NoError(t, err)
	<-w.box.held
	cancel()
	require.NoError(t, resp.Body.Close())
	now, err := w.client.ConversationByID(t.Context(), conv.ID)
	require.NoError(t, err)
	require.NotEmpty(t, now.Turn)
	w.box.release <- struct{}{}
	events := w.follow(wire.Turn{ID: now.Turn, Conversation: conv.ID, LastEventID: now.LastEventID}, nil)
	assert.Equal(t, hook.StopCompleted, last(t, events).Detail().Stop)
}

func over(socket string) *http.Transport {
	return &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
}
