package mcp_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
)

func TestToolsOfAServer(t *testing.T) {
	t.Parallel()
	m := newMCP(t, nil, testServer(t, "srv", "tools"))
	assert.Empty(t, m.Schema(), "declaring starts nothing")
	assert.Equal(t, mcp.StateDeclared, m.Status()[0].State)
	build(t, m, "")
	assert.Equal(t, []string{
		"mcp__srv__big", "mcp__srv__die", "mcp__srv__echo", "mcp__srv__env", "mcp__srv__fail", "mcp__srv__parts", "mcp__srv__slow",
	}, names(m))
	status := m.Status()[0]
	assert.Equal(t, mcp.StateConnected, status.State)
	require.Len(t, status.Refused, 1)
	assert.Equal(t, "bad.name", status.Refused[0].Name)
	assert.Contains(t, status.Refused[0].Reason, "^[a-zA-Z0-9_-]{1,64}$")
	for _, tool := range m.Schema() {
		assert.Equal(t, message.Annotations{OpenWorld: true, Destructive: true}, tool.Annotations, "hints are not believed")
		assert.Equal(t, time.Minute, tool.Timeout)
		assert.Contains(t, string(tool.Input), `"type":"object"`)
	}
}

func TestConfiguredTimeoutAndHarmless(t *testing.T) {
	t.Parallel()
	s := testServer(t, "srv", "raw")
	s.Harmless, s.Timeout = true, 3*time.Second
	m := newMCP(t, nil, s)
	build(t, m, "")
	require.Len(t, m.Schema(), 1)
	assert.Equal(t, message.Annotations{OpenWorld: true}, m.Schema()[0].Annotations)
	assert.Equal(t, 3*time.Second, m.Schema()[0].Timeout)
}

func TestCall(t *testing.T) {
	t.Parallel()
	m := newMCP(t, nil, testServer(t, "srv", "tools"))
	build(t, m, "")

	r := run(t, m, "mcp__srv__echo", ` {"text": "<hé>", "times": 2}`)
	assert.Equal(t, message.ToolResult{Content: message.ListOf(message.TextBlock("<hé><hé>")), Trust: message.TrustExternal}, r)

	r = run(t, m, "mcp__srv__fail", "")
	assert.Equal(t, message.FailOperation, r.Failure)
	assert.Equal(t, message.TrustExternal, r.Trust)
	assert.Equal(t, "the disk is full", r.Text())

	r = run(t, m, "mcp__srv__parts", "{}")
	assert.Equal(t, []message.Block{
		{Kind: message.BlockImage, MIME: "image/png", Data: "cG5n"},
		{Kind: message.BlockAudio, MIME: "audio/wav", Data: "d2F2"},
		{Kind: message.BlockResource, MIME: "text/plain", URI: "file:///a"},
		{Kind: message.BlockResource, MIME: "text/plain", URI: "file:///b", Text: "bee"},
		{Kind: message.BlockResource, URI: "file:///c", Data: "YmxvYg=="},
		{Kind: message.BlockJSON, JSON: `{"n":9007199254740993}`},
	}, r.Content.Slice())
}

func TestResultIsCutAtARune(t *testing.T) {
	t.Parallel()
	m := newMCP(t, &mcp.Options{MaxOutput: 1001}, testServer(t, "srv", "tools"))
	build(t, m, "")
	r := run(t, m, "mcp__srv__big", "{}")
	require.Equal(t, 2, r.Content.Len())
	body, mark := r.Content.At(0).Text, r.Content.At(1).Text
	assert.LessOrEqual(t, len(body), 1001)
	assert.True(t, utf8.ValidString(body))
	shown := len(strings.TrimSuffix(body, "…"))
	assert.Contains(t, mark, "the last "+strconv.Itoa(1_000_000-shown)+" bytes")

	inv := bind(t, m, "mcp__srv__big", "{}")
	r = inv.Runner().Run(t.Context(), &hook.Env{Grant: hook.Grant{MaxOutput: 100}})
	assert.LessOrEqual(t, len(r.Content.At(0).Text), 100, "the grant's bound is tighter")
}

func TestEnvironmentIsAnAllowList(t *testing.T) {
	t.Parallel()
	s := testServer(t, "srv", "tools")
	s.Env["OWN"] = "configured"
	m := newMCP(t, &mcp.Options{Dir: t.TempDir(), Lookup: func(name string) (string, bool) {
		return "of-" + name, name == "PATH" || name == "API_KEY"
	}}, s)
	build(t, m, "")
	env := "\n" + run(t, m, "mcp__srv__env", "{}").Text() + "\n"
	assert.Contains(t, env, "\nPATH=of-PATH\n")
	assert.Contains(t, env, "\nOWN=configured\n")
	assert.Contains(t, env, "\nCLAUDE_PROJECT_DIR=/")
	assert.NotContains(t, env, "API_KEY")
	assert.NotContains(t, env, "HOME=")
}

func TestServerThatDiesFailsItsCallOnly(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"tools", "parent"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			host := &recorder{}
			mortal, other := testServer(t, "srv", mode), testServer(t, "other", "tools")
			file := startsFile(t, &mortal)
			m := newMCP(t, nil, mortal, other)
			require.NoError(t, m.OnOpen(t.Context(), host))
			build(t, m, "")

			r := run(t, m, "mcp__srv__die", "{}")
			assert.Equal(t, message.FailUnreachable, r.Failure)
			assert.Equal(t, "x", run(t, m, "mcp__other__echo", `{"text":"x"}`).Text())
			eventually(t, "the loss is told", func() bool { return m.Status()[0].State == mcp.StateLost })
			assert.Contains(t, m.Status()[0].Reason, "exit status 9")
			assert.Contains(t, names(m), "mcp__srv__echo", "its tools stay")

			assert.Equal(t, "back", run(t, m, "mcp__srv__echo", `{"text":"back"}`).Text())
			assert.Len(t, starts(t, file), 2)
			eventually(t, "events", func() bool { return len(host.texts()) == 4 })
			assert.ElementsMatch(t, []string{
				"server_connected other", "server_connected srv",
				"server_lost srv: it ended (exit status 9); the end of its stderr: server says hello", "server_connected srv",
			}, host.texts())
		})
	}
}

func TestServerThatBreaksTheProtocolOrGoesDeaf(t *testing.T) {
	t.Parallel()
	t.Run("garbage", func(t *testing.T) {
		t.Parallel()
		m := newMCP(t, nil, testServer(t, "srv", "garbage"))
		build(t, m, "")
		r := run(t, m, "mcp__srv__hello", "{}")
		assert.Equal(t, message.FailUnreachable, r.Failure)
		eventually(t, "lost", func() bool { return m.Status()[0].State == mcp.StateLost })
	})
	t.Run("deaf", func(t *testing.T) {
		t.Parallel()
		m := newMCP(t, nil, testServer(t, "srv", "deaf"))
		build(t, m, "")
		// More than a pipe holds, so that writing blocks.
		inv := bind(t, m, "mcp__srv__hello", message.JSON(`{"x":"`+strings.Repeat("x", 1<<20)+`"}`))
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		r := inv.Runner().Run(ctx, &hook.Env{})
		assert.Equal(t, message.FailTimeout, r.Failure)
		eventually(t, "lost", func() bool { return m.Status()[0].State == mcp.StateLost })
		assert.Contains(t, m.Status()[0].Reason, "does not take its input")
	})
}

func TestCancelAndTimeoutReachTheServer(t *testing.T) {
	t.Parallel()
	s := testServer(t, "srv", "tools")
	m := newMCP(t, &mcp.Options{CallTimeout: time.Second}, s)
	build(t, m, "")
	assert.Equal(t, message.FailTimeout, run(t, m, "mcp__srv__slow", "{}").Failure)
	eventually(t, "the server hears of it", func() bool { return strings.Contains(m.Status()[0].Stderr, "slow was cancelled") })

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Equal(t, message.FailCancelled, runIn(t, ctx, m, "mcp__srv__slow", "{}").Failure)
	assert.Equal(t, mcp.StateConnected, m.Status()[0].State, "a call that ends early costs no connection")
	assert.Equal(t, "x", run(t, m, "mcp__srv__echo", `{"text":"x"}`).Text())
}

func TestGrantThatCannotBeKeptIsDenied(t *testing.T) {
	t.Parallel()
	m := newMCP(t, nil, testServer(t, "srv", "tools"))
	build(t, m, "")
	for _, g := range []hook.Grant{{Void: true}, {ReadOnly: true}, {NoNetwork: true}, {Root: "/x"}} {
		r := bind(t, m, "mcp__srv__echo", `{"text":"x"}`).Runner().Run(t.Context(), &hook.Env{Grant: g})
		assert.Equal(t, message.FailDenied, r.Failure, "%+v", g)
	}
	r := bind(t, m, "mcp__srv__slow", "{}").Runner().Run(t.Context(), &hook.Env{Grant: hook.Grant{Timeout: 50 * time.Millisecond}})
	assert.Equal(t, message.FailTimeout, r.Failure)
}

func TestCloseFailsCallsInFlight(t *testing.T) {
	t.Parallel()
	m := newMCP(t, &mcp.Options{StopGrace: 100 * time.Millisecond}, testServer(t, "srv", "tools"))
	build(t, m, "")
	inv := bind(t, m, "mcp__srv__slow", "{}")
	result := make(chan message.ToolResult, 1)
	go func() { result <- inv.Runner().Run(t.Context(), &hook.Env{}) }()
	eventually(t, "the call has begun", func() bool { return strings.Contains(m.Status()[0].Stderr, "slow begins") })
	require.NoError(t, m.OnClose(t.Context()))
	assert.Equal(t, message.FailUnreachable, (<-result).Failure)
	assert.Equal(t, message.FailUnreachable, run(t, m, "mcp__srv__echo", `{"text":"x"}`).Failure, "nothing starts after OnClose")
	require.NoError(t, m.OnClose(t.Context()), "twice is once")
}
