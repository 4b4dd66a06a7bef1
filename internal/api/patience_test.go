package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// brief are timeouts that a test can wait for, and soon is when all of them are over.
const (
	brief = time.Second
	soon  = time.Minute
)

func impatient(t *testing.T) *world {
	t.Helper()
	return newWorld(t, &worldOptions{api: api.Options{Timeouts: api.Timeouts{Header: brief, Body: brief, Idle: brief}, Heartbeat: brief / 3}})
}

// raw is a connection to the daemon on which nothing happens by itself.
func (w *world) raw(text string) net.Conn {
	w.t.Helper()
	conn, err := new(net.Dialer).DialContext(w.t.Context(), "unix", w.socket())
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = conn.Close() })
	require.NoError(w.t, conn.SetReadDeadline(time.Now().Add(soon)))
	_, err = io.WriteString(conn, text)
	require.NoError(w.t, err)
	return conn
}

// dribble sends a byte from time to time until the daemon takes no more.
func dribble(ctx context.Context, conn net.Conn) {
	for tick := time.Tick(brief / 10); ; {
		select {
		case <-tick:
			if _, err := conn.Write([]byte("x")); err != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// TestASlowHeadEndsTheConnection, however regularly it comes.
func TestASlowHeadEndsTheConnection(t *testing.T) {
	t.Parallel()
	w := impatient(t)
	conn := w.raw("GET /v1/health HTTP/1.1\r\nHost: grapnel\r\nX-Long: ")
	go dribble(t.Context(), conn)
	_, err := io.ReadAll(conn)
	assert.False(t, isTimeout(err), "the daemon holds the connection")
}

// TestASlowBodyIsRefused at every door, also where nobody reads it.
func TestASlowBodyIsRefused(t *testing.T) {
	t.Parallel()
	w := impatient(t)
	conv := w.conversation("ann")
	of := "/v1/conversations/" + conv.ID
	for _, c := range []struct {
		request, header string
		status          int
	}{
		{"POST /v1/conversations", "Content-Type: application/json", 408},
		{"POST /v1/agents", "Content-Type: application/json", 408},
		{"POST " + of + "/messages", "Content-Type: application/json", 408},
		{"POST /v1/import", "Content-Type: application/jsonl", 408},
		{"GET " + of + "/events", "X-Y: z", 408},
		{"GET /v1/health", "X-Y: z", 200},
		{"POST " + of + "/cancel", "X-Y: z", 200},
		{"POST " + of + "/resume", "X-Y: z", 409},
		{"POST /v1/conversations", "Content-Type: text/plain", 415},
		{"POST /v1/conversations", "Origin: http://elsewhere", 403},
		{"POST /v1/nowhere", "X-Y: z", 404},
	} {
		for _, length := range []string{"Content-Length: 100000", "Transfer-Encoding: chunked"} {
			t.Run(c.request+" "+c.header+" "+length, func(t *testing.T) {
				t.Parallel()
				first := " "
				if strings.HasPrefix(length, "T") {
					first = "fffff\r\n "
				}
				conn := w.raw(c.request + " HTTP/1.1\r\nHost: grapnel\r\n" + c.header + "\r\n" + length + "\r\n\r\n" + first)
				go dribble(t.Context(), conn)
				in := bufio.NewReader(conn)
				resp, err := http.ReadResponse(in, nil)
				require.NoError(t, err)
				body, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				assert.Equal(t, c.status, resp.StatusCode, "%s", body)
				if c.status == http.StatusRequestTimeout {
					assert.Contains(t, string(body), `"code":"too_slow"`)
					covered.failed(c.status, body)
				}
				_, err = io.ReadAll(in)
				assert.False(t, isTimeout(err), "the daemon holds the connection")
			})
		}
	}
}

// TestALongBodyMayTakeItsTime if it keeps coming.
func TestALongBodyMayTakeItsTime(t *testing.T) {
	needs.Proof(t)
	t.Parallel()
	w := impatient(t)
	text := `{"sender":"ann"` + strings.Repeat(" ", 5*64<<10) + "}"
	conn := w.raw(fmt.Sprintf("POST /v1/conversations HTTP/1.1\r\nHost: grapnel\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(text)))
	for tick := time.Tick(brief / 2); len(text) > 0; <-tick {
		n := min(len(text), 80<<10)
		_, err := io.WriteString(conn, text[:n])
		require.NoError(t, err)
		text = text[n:]
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, http.StatusOK, resp.StatusCode)
}

// TestAnIdleConnectionEnds, before its first request and behind it.
func TestAnIdleConnectionEnds(t *testing.T) {
	t.Parallel()
	w := impatient(t)
	for _, text := range []string{"", "GET /v1/health HTTP/1.1\r\nHost: grapnel\r\n\r\n"} {
		_, err := io.ReadAll(w.raw(text))
		assert.False(t, isTimeout(err), "%q: the daemon holds the connection", text)
	}
}

// TestStreamsOutliveAllTimeouts: nothing is asked on their connections for hours.
func TestStreamsOutliveAllTimeouts(t *testing.T) {
	t.Parallel()
	w := impatient(t)
	conv := w.conversation("ann")
	events := "/v1/conversations/" + conv.ID + "/events HTTP/1.1\r\nHost: grapnel\r\n"
	say := func(path, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: grapnel\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
	}
	streams := map[string]net.Conn{
		"without a body": w.raw("GET " + events + "\r\n"),
		"with a body":    w.raw("GET " + events + "Content-Length: 2\r\n\r\n{}"),
		"chunked":        w.raw("GET " + events + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
		"of a turn":      w.raw(say("/v1/conversations/"+conv.ID+"/messages?stream=1", `{"text":"call hold {}"}`)),
	}
	<-w.box.held
	time.Sleep(3 * brief) // that is what is tested
	w.box.release <- struct{}{}
	for name, conn := range streams {
		found := false
		for lines := bufio.NewScanner(conn); !found && lines.Scan(); {
			found = strings.Contains(lines.Text(), `"kind":"turn_end"`)
		}
		assert.True(t, found, name)
	}
}

// TestAnAnswerThatNobodyTakesEnds: the connection does not hold it for ever.
func TestAnAnswerThatNobodyTakesEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &worldOptions{api: api.Options{Stall: brief}})
	conv := w.conversation("ann")
	text := strings.Repeat("a long story ", 300_000)
	c, err := dialog.Conversation(t.Context(), w.rt, "helper", "ann")
	require.NoError(t, err)
	_, err = dialog.Send(t.Context(), c, message.TextInput(text), nil)
	require.NoError(t, err)
	conn := w.raw("GET /v1/conversations/" + conv.ID + "/messages HTTP/1.1\r\nHost: grapnel\r\n\r\n")
	_, err = conn.Read(make([]byte, 1)) // then the answer is being written
	require.NoError(t, err)
	time.Sleep(3 * brief) // that is what is tested
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(soon)))
	all, err := io.ReadAll(conn)
	assert.False(t, isTimeout(err), "the daemon holds the connection")
	assert.Less(t, len(all), 2*len(text), "it was cut")
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}
