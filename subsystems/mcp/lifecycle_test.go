//go:build unix

package mcp_test

import (
	"context"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
)

// files returns the number of open files of this process, 0 where the system
// does not tell.
func files() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// gone reports whether no process of that id is left, not even a zombie.
func gone(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }

// Not parallel: it counts the goroutines and files of the whole process.
func TestKillCyclesLeaveNothingBehind(t *testing.T) {
	s := testServer(t, "srv", "tools")
	file := startsFile(t, &s)
	m := newMCP(t, nil, s)
	build(t, m, "")
	var goroutines, open int
	for cycle := range 21 {
		assert.Equal(t, "x", run(t, m, "mcp__srv__echo", `{"text":"x"}`).Text())
		if cycle == 1 { // the first brought up what stays
			goroutines, open = runtime.NumGoroutine(), files()
		}
		inv := bind(t, m, "mcp__srv__slow", "{}")
		pid := m.Status()[0].Process
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				assert.Equal(t, message.FailUnreachable, inv.Runner().Run(t.Context(), &hook.Env{}).Failure)
			})
		}
		eventually(t, "calls are in flight", func() bool { return count(m.Status()[0].Stderr, "slow begins") == 4 })
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		wg.Wait()
		eventually(t, "the loss is noticed", func() bool { return m.Status()[0].State == mcp.StateLost })
		assert.True(t, gone(pid), "the process is reaped")
	}
	assert.Equal(t, "x", run(t, m, "mcp__srv__echo", `{"text":"x"}`).Text())
	eventually(t, "goroutines are back", func() bool { return runtime.NumGoroutine() <= goroutines })
	assert.LessOrEqual(t, files(), open)
	pids := starts(t, file)
	assert.Len(t, pids, 22)
	require.NoError(t, m.OnClose(t.Context()))
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		require.NoError(t, err)
		assert.True(t, gone(pid), "process %d", pid)
	}
}

func count(text, part string) int {
	n := 0
	for i := 0; i+len(part) <= len(text); i++ {
		if text[i:i+len(part)] == part {
			n++
		}
	}
	return n
}

func TestCloseEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, mode string
		grace      time.Duration
	}{
		{"gently", "tools", time.Minute},
		{"with a child that holds the pipes", "parent", time.Minute},
		{"that ignores everything", "stubborn", 50 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := testServer(t, "srv", tt.mode)
			file := startsFile(t, &s)
			m := newMCP(t, &mcp.Options{StopGrace: tt.grace}, s)
			build(t, m, "")
			require.Equal(t, mcp.StateConnected, m.Status()[0].State)
			require.NoError(t, m.OnClose(t.Context()))
			pid, err := strconv.Atoi(starts(t, file)[0])
			require.NoError(t, err)
			eventually(t, "the group is gone", func() bool { return syscall.Kill(-pid, 0) == syscall.ESRCH })
		})
	}
}

func TestCloseWithoutTime(t *testing.T) {
	t.Parallel()
	m := newMCP(t, &mcp.Options{StopGrace: time.Hour}, testServer(t, "srv", "stubborn"), testServer(t, "never", "tools")) // killed at once
	build(t, m, `{"servers":["srv"]}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, m.OnClose(ctx))
}

func TestCloseWhileAServerIsStarted(t *testing.T) {
	t.Parallel()
	m := newMCP(t, nil, testServer(t, "srv", "hang"))
	built := make(chan error, 1)
	go func() {
		_, err := m.OnBuildAgent(t.Context(), agent(""))
		built <- err
	}()
	eventually(t, "it is being started", func() bool { return m.Status()[0].State == mcp.StateConnecting })
	require.NoError(t, m.OnClose(t.Context()))
	require.NoError(t, <-built, "the agent is built without its tools")
	assert.Empty(t, m.Schema())
}

// Not parallel, as above.
func TestHTTPCyclesLeaveNothingBehind(t *testing.T) {
	r := newRemote(t, nil)
	m := newRemoteMCP(t, r, &mcp.Options{CallTimeout: 5 * time.Second})
	host := &recorder{}
	require.NoError(t, m.OnOpen(t.Context(), host))
	var goroutines, open int
	for cycle := range 24 {
		res := run(t, m, "mcp__r__echo", `{"text":"x"}`)
		if cycle%4 == 1 && res.Failure == message.FailUnreachable {
			// The connections were killed a moment ago. A call that went out on one of them
			// before the client heard of it is lost, and is not made twice.
			res = run(t, m, "mcp__r__echo", `{"text":"x"}`)
		}
		require.Equal(t, "x", res.Text(), "cycle %d: %+v %v", cycle, m.Status(), host.texts())
		if cycle == 2 { // the first brought up what stays
			goroutines, open = runtime.NumGoroutine(), files()
		}
		switch cycle % 4 {
		case 0: // killed connections, the server lives: the call fails, and the session goes on
			call := callAsync(t, m, "mcp__r__slow", "{}")
			select {
			case <-r.slow:
			case res := <-call:
				require.Fail(t, "the call ended", "cycle %d: %s %v", cycle, res.Text(), m.Status()[0])
			}
			r.CloseClientConnections()
			assert.Equal(t, message.FailUnreachable, (<-call).Failure)
		case 1:
			r.forget()
		case 2:
			r.putFront(cut("echo", "data: x"))
			assert.Equal(t, message.FailUnreachable, run(t, m, "mcp__r__echo", `{"text":"x"}`).Failure)
			r.putFront(nil)
		case 3: // garbage costs the connection
			r.putFront(func(w http.ResponseWriter, req *http.Request) bool {
				w.Header().Set("Content-Type", "application/json")
				return isCall(req, "echo") && status(200, "{]")(w, req)
			})
			assert.Equal(t, message.FailUnreachable, run(t, m, "mcp__r__echo", `{"text":"x"}`).Failure)
			r.putFront(nil)
		}
	}
	require.NoError(t, m.OnClose(t.Context()))
	close(r.going)
	r.CloseClientConnections()
	for s := range r.server.Sessions() {
		_ = s.Close()
	}
	eventually(t, "goroutines are back", func() bool { return runtime.NumGoroutine() <= goroutines })
	eventually(t, "files are back", func() bool { return files() <= open })
}
