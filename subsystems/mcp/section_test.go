package mcp_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
)

func TestSections(t *testing.T) {
	t.Parallel()
	m := newMCP(t, nil, testServer(t, "one", "raw"), testServer(t, "two", "raw"))
	tests := []struct {
		name    string
		section message.JSON
		scope   hook.Scope
		prompt  string
	}{
		{name: "none is all", prompt: "one, two"},
		{name: "empty section is all", section: `{}`, prompt: "one, two"},
		{name: "one server", section: `{"servers":["two"]}`,
			scope: hook.Scope{Tools: []string{"mcp__two__hello"}, Line: "mcp servers: two"}, prompt: "two"},
		{name: "no server", section: `{"servers":[]}`, scope: hook.Scope{Tools: []string{}}},
		{name: "one tool", section: `{"tools":["mcp__one__hello"]}`,
			scope: hook.Scope{Tools: []string{"mcp__one__hello"}, Line: "mcp servers: one"}, prompt: "one"},
		{name: "no tool", section: `{"tools":[]}`, scope: hook.Scope{Tools: []string{}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := build(t, m, tt.section)
			if tt.prompt == "one, two" {
				require.Equal(t, []string{"mcp__one__hello", "mcp__two__hello"}, names(m))
			}
			assert.Equal(t, tt.scope, m.ScopedTools(&cfg))
			prompt := m.SystemPrompt(&cfg)
			if tt.prompt == "" {
				assert.Empty(t, prompt)
				return
			}
			assert.Contains(t, prompt, "belong to MCP servers: "+tt.prompt+".")
		})
	}
	cfg := agent("")
	cfg.Tools = []string{"mcp__two__hello"}
	assert.Contains(t, m.SystemPrompt(&cfg), "servers: two.", "a server is named only with a tool that the agent has")
}

func TestAnAgentStartsOnlyItsServers(t *testing.T) {
	t.Parallel()
	m := newMCP(t, nil, testServer(t, "one", "raw"), testServer(t, "two", "raw"))
	build(t, m, `{"servers":[]}`)
	build(t, m, `{"tools":[]}`)
	cfg := agent("")
	cfg.Tools = []string{"bash"}
	_, err := m.OnBuildAgent(t.Context(), cfg)
	require.NoError(t, err)
	assert.Equal(t, mcp.StateDeclared, m.Status()[0].State)
	build(t, m, `{"servers":["two"]}`)
	assert.Equal(t, mcp.StateDeclared, m.Status()[0].State)
	assert.Equal(t, mcp.StateConnected, m.Status()[1].State)
}

func TestWrongSections(t *testing.T) {
	t.Parallel()
	m := newMCP(t, nil, testServer(t, "one", "raw"), testServer(t, "two", "raw"), testServer(t, "gone", "exit"))
	for section, want := range map[message.JSON]string{
		`{"server":["one"]}`:                              "server: unknown key; known are define, servers, tools",
		`{"servers":["three"]}`:                           `no server "three" is declared; declared are: one, two, gone`,
		`{"tools":["mcp__three__x"]}`:                     `"mcp__three__x" belongs to no server of this agent`,
		`{"tools":["hello"]}`:                             `"hello" belongs to no server of this agent`,
		`{"servers":["one"],"tools":["mcp__two__hello"]}`: `"mcp__two__hello" belongs to no server of this agent`,
		`{"tools":["mcp__one__bye"]}`:                     `the server one has no usable tool "mcp__one__bye"`,
	} {
		_, err := m.OnBuildAgent(t.Context(), agent(section))
		assert.ErrorContains(t, err, want, string(section))
	}
	cfg := build(t, m, `{"tools":["mcp__gone__x"]}`)
	assert.Equal(t, hook.Scope{Tools: []string{}}, m.ScopedTools(&cfg), "a server that is not there is believed to have it")
}

func TestServersThatDoNotStart(t *testing.T) {
	t.Parallel()
	exits, hangs := testServer(t, "exits", "exit"), testServer(t, "hangs", "hang")
	missing := mcp.Server{Name: "missing", Command: "no-such-program-anywhere"}
	remote := mcp.Server{Name: "remote", Refused: "the transport sse is not supported"}
	process, place := &recorder{}, &recorder{}
	m := newMCP(t, &mcp.Options{ConnectTimeout: 10 * time.Second, Patience: time.Minute}, exits, hangs, missing, remote, testServer(t, "ok", "tools"))
	require.NoError(t, m.OnOpen(t.Context(), process))
	cfg, err := m.OnBuildAgent(t.Context(), agent("").WithHost(place))
	require.NoError(t, err, "an agent is built without the tools of servers that are not there")
	assert.Equal(t, "a", cfg.Name)
	assert.Contains(t, names(m), "mcp__ok__echo")
	assert.Equal(t, []string{
		"diagnostic the tools of the MCP server exits are missing: it ended while it was started (exit status 3); the end of its stderr: server says hello | no licence",
		"diagnostic the tools of the MCP server hangs are missing: it did not answer within 10s; the end of its stderr: server says hello",
		`diagnostic the tools of the MCP server missing are missing: start: exec: "no-such-program-anywhere": executable file not found in $PATH`,
		"diagnostic the tools of the MCP server remote are missing: the transport sse is not supported",
		`diagnostic the tool "bad.name" of the MCP server ok is not offered: the name "mcp__ok__bad.name" must match ^[a-zA-Z0-9_-]{1,64}$`,
	}, place.texts())
	eventually(t, "events", func() bool { return len(process.texts()) == 4 })
	assert.ElementsMatch(t, []string{
		"server_lost exits: it ended while it was started (exit status 3); the end of its stderr: server says hello | no licence",
		"server_lost hangs: it did not answer within 10s; the end of its stderr: server says hello",
		`server_lost missing: start: exec: "no-such-program-anywhere": executable file not found in $PATH`,
		"server_connected ok",
	}, process.texts())
	status := m.Status()
	assert.Equal(t, mcp.StateLost, status[0].State)
	assert.Contains(t, status[0].Stderr, "no licence")
	assert.Equal(t, mcp.StateRefused, status[3].State)
}

func TestManyFirstUsesStartOneProcess(t *testing.T) {
	t.Parallel()
	s := testServer(t, "srv", "tools")
	file := startsFile(t, &s)
	m := newMCP(t, nil, s)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			_, err := m.OnBuildAgent(t.Context(), agent(""))
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	assert.Len(t, starts(t, file), 1)

	// Two agents and both their calls: still one process.
	build(t, m, `{"servers":["srv"]}`)
	for range 8 {
		wg.Go(func() {
			inv := bind(t, m, "mcp__srv__echo", `{"text":"x"}`)
			assert.Equal(t, "x", inv.Runner().Run(t.Context(), &hook.Env{}).Text())
		})
	}
	wg.Wait()
	assert.Len(t, starts(t, file), 1)
}

func TestCallerThatLeavesDoesNotEndTheStart(t *testing.T) {
	t.Parallel()
	s := testServer(t, "srv", "tools")
	file := startsFile(t, &s)
	m := newMCP(t, nil, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.OnBuildAgent(ctx, agent(""))
	require.ErrorIs(t, err, context.Canceled)
	build(t, m, "")
	assert.Len(t, starts(t, file), 1)
}
