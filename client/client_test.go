package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/sse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve answers on a socket, whose path it returns.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	return serveWith(t, h, net.Listen)
}

// serveWith is serve with another way to listen.
func serveWith(t *testing.T, h http.HandlerFunc, listen func(network, address string) (net.Listener, error)) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "grapnel-") // short enough for a socket
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	path := filepath.Join(dir, "x.sock")
	ln, err := listen("unix", path)
	require.NoError(t, err)
	srv := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(ln)
	}()
	t.Cleanup(func() {
		assert.NoError(t, srv.Shutdown(context.Background()))
		<-done
	})
	return path
}

func TestNotRunning(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.sock")
	_, err := client.New(path, nil).Health(t.Context())
	require.ErrorIs(t, err, client.ErrNotRunning)
	assert.EqualError(t, err, "no daemon is running on "+path+"; start one with `grapnel serve`")
	for _, err := range client.New(path, nil).Events(t.Context(), "", "") {
		require.ErrorIs(t, err, client.ErrNotRunning)
	}
}

// A client of several daemons goes to the next one if nobody listens, stays there, and sends nothing
// twice: a daemon that has got a request may have done it.
func TestSeveralDaemons(t *testing.T) {
	t.Parallel()
	var got [2]atomic.Int64
	answers := func(i int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			got[i].Add(1)
			if i == 1 && got[i].Load() == 3 {
				panic(http.ErrAbortHandler) // dies with the request
			}
			_, _ = fmt.Fprintf(w, `{"status":"ok","pid":%d}`, i)
		}
	}
	nobody := filepath.Join(t.TempDir(), "x.sock")
	second, third := serve(t, answers(0)), serve(t, answers(1))
	c := client.New(nobody, &client.Options{Others: []string{third, second}, Named: true})
	for range 2 {
		h, err := c.Health(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 1, h.PID)
		assert.Equal(t, third, c.Address())
	}
	_, err := c.Health(t.Context())
	require.Error(t, err)
	assert.NotErrorIs(t, err, client.ErrNotRunning)
	assert.Zero(t, got[0].Load())

	require.NoError(t, os.Remove(third))
	h, err := c.Health(t.Context())
	require.NoError(t, err)
	assert.Zero(t, h.PID)
	assert.Equal(t, second, c.Address())
	none := client.New(nobody, &client.Options{Others: []string{nobody + "2"}, Named: true})
	_, err = none.Health(t.Context())
	assert.ErrorIs(t, err, client.ErrNotRunning)
	assert.ErrorContains(t, err, nobody)
}

func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		status     int
		says       string
		code       wire.Code
	}{
		{"a failure", `{"error":{"code":"busy","message":"a turn is running"}}`, 409, "a turn is running", wire.CodeBusy},
		{"something else", `<html>`, 502, "the daemon answered 502 Bad Gateway", ""},
		{"a failure without a message", `{"error":{}}`, 500, "the daemon answered 500 Internal Server Error", ""},
		{"success that is no JSON", `{`, 200, "read the answer of the daemon to GET /v1/health", ""},
		{"elsewhere", ``, 302, "the daemon answered 302 Found", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := serve(t, func(w http.ResponseWriter, r *http.Request) {
				assert.Equal(t, "grapnel", r.Host)
				if tt.status == http.StatusFound {
					w.Header().Set("Location", "http://elsewhere.example/")
				}
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body)
			})
			_, err := client.New(path, nil).Health(t.Context())
			require.ErrorContains(t, err, tt.says)
			assert.Equal(t, tt.code, client.CodeOf(err))
		})
	}
}

func eventOf(turn string, seq uint64, kind hook.EventKind) []byte {
	data, _ := json.Marshal(hook.Event{Kind: kind, Seq: seq, Turn: turn, Conversation: "c", Time: time.Unix(int64(seq), 0)})
	var out bytes.Buffer
	_ = sse.Event{ID: fmt.Sprintf("E-%d", seq), Data: data}.Write(&out)
	return out.Bytes()
}

// TestResumes: a stream goes on where it was, whatever cuts it, and gives up only
// after so many connections that brought nothing.
func TestResumes(t *testing.T) {
	t.Parallel()
	var asked []string
	answers := []func(w http.ResponseWriter){
		func(w http.ResponseWriter) { fmt.Fprint(w, "id: E-3\n\n") },
		func(w http.ResponseWriter) { _, _ = w.Write(eventOf("t", 4, event.TextDelta)) },
		func(w http.ResponseWriter) {
			fmt.Fprintf(w, "%sid: E-6\ndata: {\"kind\":", eventOf("t", 5, event.TextDelta))
		},
		func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		func(w http.ResponseWriter) { fmt.Fprint(w, "id: E-6\ndata: no JSON\n\n") },
		func(w http.ResponseWriter) { fmt.Fprint(w, "event: news\ndata: {}\n\n:\n\n") },
		func(w http.ResponseWriter) {
			fmt.Fprint(w, "id: E-7\nevent: lagged\ndata: {\"missed\":2}\n\nid: F-0\nevent: restarted\ndata: {}\n\n")
		},
	}
	path := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Last-Event-ID"))
		if len(asked) <= len(answers) {
			answers[len(asked)-1](w)
		}
	})
	c := client.New(path, &client.Options{Retries: 4, Wait: time.Nanosecond})
	var got []string
	for item, err := range c.Events(t.Context(), "c", "") {
		if err != nil {
			got = append(got, "error")
			assert.ErrorIs(t, err, io.EOF)
			assert.ErrorContains(t, err, "could not be resumed")
			continue
		}
		got = append(got, fmt.Sprintf("%s seq %d missed %d restarted %v", item.ID, item.Event.Seq, item.Missed, item.Restarted))
	}
	assert.Equal(t, []string{
		"E-4 seq 4 missed 0 restarted false", "E-5 seq 5 missed 0 restarted false",
		"E-7 seq 0 missed 2 restarted false", "F-0 seq 0 missed 0 restarted true", "error",
	}, got)
	assert.Equal(t, []string{"", "E-3", "E-4", "E-5", "E-5", "E-5", "E-5", "F-0", "F-0", "F-0", "F-0"}, asked)
}

// TestStops: a consumer that has enough, a context that ends and a daemon that
// says so end a stream at once.
func TestStops(t *testing.T) {
	t.Parallel()
	path := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(eventOf("t", 1, event.TurnStart))
		if r.URL.Path == "/v1/events" {
			fmt.Fprint(w, "event: closed\ndata: {}\n\n")
			return
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	c := client.New(path, nil)
	n := 0
	for _, err := range c.Events(t.Context(), "c", "") {
		require.NoError(t, err)
		n++
		break
	}
	assert.Equal(t, 1, n)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var end error
	for _, err := range c.Events(ctx, "c", "") {
		cancel()
		end = err
	}
	assert.ErrorIs(t, end, context.Canceled)

	for _, err := range c.Events(t.Context(), "", "") {
		end = err
	}
	assert.ErrorIs(t, end, client.ErrClosed)
}

func TestFollow(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		parts [][]byte
		lost  bool
	}{
		{"to its end", [][]byte{eventOf("t", 1, event.TurnStart), eventOf("", 2, event.SkillLoaded), eventOf("t", 3, event.TurnEnd), eventOf("u", 4, event.TurnStart)}, false},
		{"another turn", [][]byte{eventOf("t", 1, event.TurnStart), eventOf("u", 9, event.TurnStart)}, true},
		{"another epoch", [][]byte{eventOf("t", 1, event.TurnStart), []byte("id: F-0\nevent: restarted\ndata: {}\n\n")}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := serve(t, func(w http.ResponseWriter, r *http.Request) {
				assert.Equal(t, "E-0", r.Header.Get("Last-Event-ID"))
				for _, p := range tt.parts {
					_, _ = w.Write(p)
				}
			})
			var end error
			for _, err := range client.New(path, nil).Follow(t.Context(), wire.Turn{ID: "t", Conversation: "c", LastEventID: "E-0"}) {
				end = err
			}
			assert.Equal(t, tt.lost, errors.Is(end, client.ErrTurnLost), "%v", end)
		})
	}
}

// TestPauses: the time between connections doubles up to a bound, and the context
// ends it.
func TestPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var end error
		for _, err := range client.New("/nonexistent/x.sock", nil).Events(t.Context(), "c", "E-1") {
			end = err
		}
		require.ErrorIs(t, end, client.ErrNotRunning)
		assert.Equal(t, (50+100+200+400+800+1600+2000+2000)*time.Millisecond, time.Since(begun))

		ctx, cancel := context.WithTimeout(t.Context(), 75*time.Millisecond)
		defer cancel()
		for _, err := range client.New("/nonexistent/x.sock", nil).Events(ctx, "c", "E-1") {
			end = err
		}
		assert.ErrorIs(t, end, context.DeadlineExceeded)
	})
}

// TestFollowOverARestart: a daemon that comes back may go on with the turn; if it
// does not, the stream ends as soon as everything that is left of it was read.
func TestFollowOverARestart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, running, newest string
		parts                 [][]byte
		lost                  bool
	}{
		{"gone on with", "t", "2-9", [][]byte{eventOf("t", 2, event.TurnStart), eventOf("t", 3, event.TurnEnd)}, false},
		{"ended, and its end was kept", "", "2-2", [][]byte{eventOf("t", 2, event.TurnEnd)}, false},
		{"gone", "", "2-2", [][]byte{eventOf("t", 2, event.StepStart)}, true},
		{"gone, and everything was read", "", "1-1", nil, true},
		{"told in vain", "", "1-0", [][]byte{[]byte("id: 1-0\nevent: restarted\ndata: {\"kept\":true}\n\n")}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			connections := 0
			path := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v1/conversations/c" {
					fmt.Fprintf(w, `{"id":"c","turn":%q,"last_event_id":%q}`, tt.running, tt.newest)
					return
				}
				connections++
				if connections == 1 {
					_, _ = w.Write(eventOf("t", 1, event.TurnStart))
					return
				}
				for _, p := range tt.parts {
					_, _ = w.Write(p)
				}
			})
			var end error
			turn := wire.Turn{ID: "t", Conversation: "c", LastEventID: "E-0"}
			for _, err := range client.New(path, &client.Options{Retries: 1, Wait: time.Nanosecond}).Follow(t.Context(), turn) {
				end = err
			}
			assert.Equal(t, tt.lost, errors.Is(end, client.ErrTurnLost), "%v", end)
			if !tt.lost {
				assert.NoError(t, end)
			}
			assert.Equal(t, 2, connections)
		})
	}
}
