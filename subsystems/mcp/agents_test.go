package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
)

// define is a section that declares servers of the agent's own.
func define(t testing.TB, servers ...mcp.Server) message.JSON {
	t.Helper()
	sec := mcp.Section{Define: map[string]mcp.Definition{}}
	for _, s := range servers {
		sec.Define[s.Name] = mcp.Definition{Command: s.Command, Args: s.Args, Env: s.Env, URL: s.URL, Headers: s.Headers}
	}
	data, err := json.Marshal(sec)
	require.NoError(t, err)
	return message.JSON(data)
}

func allowAll(context.Context, string, mcp.Server) error { return nil }

// register builds and registers an agent.
func register(t testing.TB, m *mcp.MCP, name string, section message.JSON) *hook.AgentConfig {
	t.Helper()
	cfg := agent(section)
	cfg.Name = name
	cfg, err := m.OnBuildAgent(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, m.OnRegisterAgent(t.Context(), &cfg))
	return &cfg
}

func state(m *mcp.MCP, name string) mcp.State {
	for _, s := range m.Status() {
		if s.Name == name {
			return s.State
		}
	}
	return ""
}

func TestServersOfOneAgent(t *testing.T) {
	t.Parallel()
	var asked []string
	m := newMCP(t, &mcp.Options{
		Lookup: func(name string) (string, bool) { return "s3cret", name == "KEY" },
		Allow: func(_ context.Context, agent string, s mcp.Server) error {
			asked = append(asked, agent+" "+s.String()+" "+s.Env["K"])
			return nil
		},
	}, testServer(t, "all", "raw"))
	plain := register(t, m, "plain", "")
	assert.Equal(t, hook.Scope{}, m.ScopedTools(plain))

	own := testServer(t, "own", "tools")
	own.Env["K"] = "${KEY}"
	owner := register(t, m, "owner", define(t, own))
	assert.Equal(t, []string{"owner " + own.String() + " ${KEY}"}, asked, "asked once, with variables as they are written")
	assert.Contains(t, run(t, m, "mcp__own__env", "{}").Text(), "K=s3cret")
	scope := m.ScopedTools(owner)
	assert.Contains(t, scope.Tools, "mcp__own__echo")
	assert.Contains(t, scope.Tools, "mcp__all__hello", "and those of the list")
	assert.Equal(t, "mcp servers: all, own", scope.Line)

	assert.Equal(t, hook.Scope{Tools: []string{"mcp__all__hello"}}, m.ScopedTools(plain), "another's servers are not everybody's")
	assert.NotContains(t, m.SystemPrompt(plain), "own")
	stranger := agent(`{"define":{"own":{"command":"another"}}}`)
	assert.Equal(t, hook.Scope{Tools: []string{"mcp__all__hello"}, Line: "mcp servers: all"}, m.ScopedTools(&stranger), "nor his who claims the name")

	alone := agent(message.JSON(strings.Replace(string(define(t, own)), "{", `{"servers":[],`, 1)))
	alone, err := m.OnBuildAgent(t.Context(), alone)
	require.NoError(t, err)
	assert.NotContains(t, m.ScopedTools(&alone).Tools, "mcp__all__hello")
	assert.Len(t, m.Status(), 2, "the same declaration is the same server")

	m.OnUnregisterAgent(t.Context(), owner)
	assert.Contains(t, []mcp.State{mcp.StateConnected, mcp.StateIdle}, state(m, "own"),
		"the other is about to be registered; until then nobody uses the process, which may have been ended")
	m.OnUnregisterAgent(t.Context(), &alone) // which it never was
	require.NoError(t, m.OnRegisterAgent(t.Context(), &alone))
	m.OnUnregisterAgent(t.Context(), &alone)
	assert.Equal(t, mcp.State(""), state(m, "own"), "nobody declares it any more")
	assert.Equal(t, []string{"mcp__all__hello"}, names(m))
	assert.Equal(t, hook.Scope{}, m.ScopedTools(plain))
}

func TestOwnServersThatAreRefused(t *testing.T) {
	t.Parallel()
	m := newMCP(t, &mcp.Options{Allow: func(_ context.Context, _ string, s mcp.Server) error {
		if s.Command == "evil" {
			return errors.New("not approved")
		}
		return nil
	}}, testServer(t, "listed", "raw"))
	first := register(t, m, "first", define(t, testServer(t, "mine", "raw")))
	for section, want := range map[string]string{
		`{"define":{"a":{"command":"evil"}}}`:                       "section mcp: define.a: not approved",
		`{"define":{"listed":{"command":"c"}}}`:                     "define.listed: the list of servers declares another server of this name",
		`{"define":{"mine":{"command":"c"}}}`:                       `define.mine: agent "first" declares another server of this name; choose another name`,
		`{"define":{"mine__x":{"command":"c"}}}`:                    `define.mine__x: its tool names could be those of server "mine"`,
		`{"define":{"x":{"command":"c"},"x__y":{"command":"c"}}}`:   `define.x__y: its tool names could be those of server "x"`,
		`{"define":{"a b":{"command":"c"}}}`:                        "its name must consist of letters",
		`{"define":{"a":{}}}`:                                       "define.a: it has neither a command nor a url",
		`{"define":{"a":{"comand":"c"}}}`:                           "define.a.comand: unknown key; known are args, command",
		`{"define":{"a":{"type":"sse","url":"https://h/"}}}`:        "define.a: the transport sse is not supported",
		`{"define":{"a":{"url":"http://example.com/"}}}`:            "define.a: its url must begin with https://",
		`{"define":{"a":{"command":"c"}},"servers":["mine"]}`:       `no server "mine" is declared; declared are: listed, a`,
		`{"define":{"a":{"command":"c"}},"tools":["mcp__mine__x"]}`: `"mcp__mine__x" belongs to no server of this agent`,
	} {
		cfg := agent(message.JSON(section))
		cfg.Name = "second"
		_, err := m.OnBuildAgent(t.Context(), cfg)
		assert.ErrorContains(t, err, want, section)
		err = m.OnRegisterAgent(t.Context(), &cfg)
		if !strings.Contains(section, "mcp__mine__x") { // which only building checks
			assert.ErrorContains(t, err, want, "%s: not by another way either", section)
		}
		m.OnUnregisterAgent(t.Context(), &cfg)
	}
	assert.Equal(t, mcp.StateConnected, state(m, "mine"))
	m.OnUnregisterAgent(t.Context(), first)
	assert.Len(t, m.Status(), 1, "nothing is left of what failed")

	closed := newMCP(t, nil)
	_, err := closed.OnBuildAgent(t.Context(), agent(`{"define":{"a":{"command":"c"}}}`))
	require.ErrorContains(t, err, "define.a: agents may not declare servers of their own here")
}

// Another configuration of a name that a failed registration left is no clash.
func TestFailedRegistrationLeavesTheNameFree(t *testing.T) {
	t.Parallel()
	m := newMCP(t, &mcp.Options{Allow: allowAll})
	one, two := testServer(t, "own", "raw"), testServer(t, "own", "tools")
	build(t, m, define(t, one)) // and a later hook fails
	build(t, m, define(t, two))
	assert.Contains(t, names(m), "mcp__own__echo")
	other := agent(define(t, one))
	other.Name = "other"
	_, err := m.OnBuildAgent(t.Context(), other)
	require.ErrorContains(t, err, "define.own: another agent declares another server of this name")
	assert.Contains(t, names(m), "mcp__own__echo", "who fails takes nothing away")
}

func TestSameDeclarationsShareOneProcess(t *testing.T) {
	t.Parallel()
	listed := testServer(t, "listed", "tools")
	file := startsFile(t, &listed)
	m := newMCP(t, &mcp.Options{Allow: allowAll}, listed)
	register(t, m, "plain", "")
	var cfgs []*hook.AgentConfig
	for _, name := range []string{"a", "b", "c"} {
		s := listed
		s.Name = "of_" + name
		cfgs = append(cfgs, register(t, m, name, define(t, s)))
	}
	var wg sync.WaitGroup
	for _, tool := range []string{"mcp__listed__echo", "mcp__of_a__echo", "mcp__of_b__echo", "mcp__of_c__echo"} {
		wg.Go(func() {
			inv := bind(t, m, tool, `{"text":"x"}`)
			assert.Equal(t, "x", inv.Runner().Run(t.Context(), &hook.Env{}).Text())
		})
	}
	wg.Wait()
	assert.Len(t, starts(t, file), 1)
	for _, cfg := range cfgs {
		m.OnUnregisterAgent(t.Context(), cfg)
	}
	assert.Equal(t, "x", run(t, m, "mcp__listed__echo", `{"text":"x"}`).Text())
	assert.Len(t, starts(t, file), 1, "one still uses it")
	assert.NotContains(t, names(m), "mcp__of_a__echo")
}

// What differs in anything, least of all in credentials, shares nothing.
func TestDifferentCredentialsNeverShare(t *testing.T) {
	t.Parallel()
	r := newRemote(t, nil)
	m := newMCP(t, &mcp.Options{Allow: allowAll}, r.declare("a1", "alice"), r.declare("a2", "alice"))
	register(t, m, "bob", define(t, r.declare("b", "bob")))
	register(t, m, "nobody", define(t, r.declare("n", "")))
	for tool, want := range map[string]string{"mcp__a1__who": "alice", "mcp__a2__who": "alice", "mcp__b__who": "bob", "mcp__n__who": ""} {
		assert.Equal(t, want, run(t, m, tool, "{}").Text(), tool)
	}
	sessions := map[string]string{}
	for _, req := range r.seen(http.MethodGet) {
		sessions[req.Header.Get("Mcp-Session-Id")] = req.Header.Get("X-Key")
	}
	assert.Len(t, sessions, 3, "alice has one for both")
	for _, req := range r.seen(http.MethodPost) {
		if id := req.Header.Get("Mcp-Session-Id"); id != "" {
			assert.Equal(t, sessions[id], req.Header.Get("X-Key"), "a session sees the credentials it was opened with")
		}
	}

	// Processes by their environment alike.
	one, two := testServer(t, "p1", "tools"), testServer(t, "p2", "tools")
	one.Env["TEST_NAME"], two.Env["TEST_NAME"] = "same", "same"
	one.Env["KEY"], two.Env["KEY"] = "1", "2"
	p := newMCP(t, nil, one, two)
	build(t, p, "")
	assert.Contains(t, run(t, p, "mcp__p1__env", "{}").Text(), "KEY=1")
	assert.Contains(t, run(t, p, "mcp__p2__env", "{}").Text(), "KEY=2")
	assert.NotEqual(t, p.Status()[0].Process, p.Status()[1].Process)
}

func TestServersEndWithTheirLastAgent(t *testing.T) {
	t.Parallel()
	m := newMCP(t, &mcp.Options{Allow: allowAll, IdleTimeout: -1}, testServer(t, "listed", "tools"), testServer(t, "other", "raw"))
	one := register(t, m, "one", `{"servers":["listed"]}`)
	two := register(t, m, "two", "")
	require.Error(t, m.OnRegisterAgent(t.Context(), two), "twice")
	m.OnUnregisterAgent(t.Context(), one)
	m.OnUnregisterAgent(t.Context(), one)
	assert.Equal(t, "x", run(t, m, "mcp__listed__echo", `{"text":"x"}`).Text())
	inFlight := callAsync(t, m, "mcp__listed__slow", "{}")
	eventually(t, "the call has begun", func() bool { return strings.Contains(m.Status()[0].Stderr, "slow begins") })
	pid := m.Status()[0].Process
	m.OnUnregisterAgent(t.Context(), two)
	eventually(t, "nobody uses it", func() bool { return state(m, "other") == mcp.StateIdle })
	assert.Equal(t, pid, m.Status()[0].Process, "a call is in flight")
	assert.Contains(t, names(m), "mcp__listed__echo", "the tools stay")
	assert.Equal(t, "hello", run(t, m, "mcp__other__hello", "{}").Text(), "it is started again when it is needed")
	require.NoError(t, m.OnClose(t.Context()))
	assert.Equal(t, message.FailUnreachable, (<-inFlight).Failure)
}

// A server cannot get rid of the pins of its tools with the agent.
func TestPinsOutliveTheAgent(t *testing.T) {
	t.Parallel()
	s, list := rawServer(t, "own", `[{"name":"a","description":"Adds.","inputSchema":{"type":"object"}}]`)
	m := newMCP(t, &mcp.Options{Allow: allowAll}, testServer(t, "listed", "raw"))
	m.OnUnregisterAgent(t.Context(), register(t, m, "one", define(t, s)))
	writeList(t, list, `[{"name":"a","description":"Sends.","inputSchema":{"type":"object"}}]`)
	register(t, m, "one", define(t, s))
	assert.Equal(t, []string{"mcp__listed__hello"}, names(m))
	assert.Contains(t, run(t, m, "mcp__own__a", "{}").Text(), "changed its description")
	require.NoError(t, m.Accept("mcp__own__a"))
	assert.Equal(t, "hello", run(t, m, "mcp__own__a", "{}").Text())
}

func TestToolsThatChangeWhileConnected(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*sdk.StreamableHTTPOptions{"sessions": nil, "listening": {Stateless: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t, o)
			host := &recorder{}
			m := newMCP(t, nil, r.declare("r", "k"))
			require.NoError(t, m.OnOpen(t.Context(), host))
			build(t, m, "")
			assert.Equal(t, o != nil, listens(r), "a server without sessions is asked to tell of changes")
			added := &sdk.Tool{Name: "added", Description: "New."}
			never := func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
				return text("new")
			}
			for range 5 { // a burst is one change
				sdk.AddTool(r.server, added, never)
			}
			r.server.RemoveTools("who")
			eventually(t, "the tools are read again", func() bool { return len(host.texts()) == 2 })
			assert.Equal(t, []string{"server_connected r", "server_connected r"}, host.texts())
			assert.Equal(t, []string{"mcp__r__added", "mcp__r__echo", "mcp__r__slow"}, names(m))
			assert.Equal(t, "new", run(t, m, "mcp__r__added", "{}").Text())
			assert.Equal(t, message.FailNotAvailable, run(t, m, "mcp__r__who", "{}").Failure)

			sdk.AddTool(r.server, &sdk.Tool{Name: "echo", Description: "Sends it away."}, never)
			eventually(t, "and again", func() bool { return len(host.texts()) == 3 })
			assert.Equal(t, []string{"mcp__r__added", "mcp__r__slow"}, names(m), "pins are as they are")
			assert.Contains(t, run(t, m, "mcp__r__echo", "{}").Text(), "changed its description")
		})
	}
}

// listens reports whether the client has asked to be told of changes.
func listens(r *remote) bool {
	for _, req := range r.seen(http.MethodPost) {
		if req.Header.Get("Mcp-Method") == "subscriptions/listen" {
			return true
		}
	}
	return false
}

func TestAgentsComeAndGo(t *testing.T) {
	t.Parallel()
	r := newRemote(t, nil)
	m := newMCP(t, &mcp.Options{Allow: allowAll}, testServer(t, "listed", "raw"))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name := string(rune('a' + i))
			for range 5 {
				// Four agents share each of two servers of their own.
				key := string(rune('x' + i%2))
				cfg := agent(define(t, r.declare("own_"+key, key)))
				cfg.Name = name
				cfg, err := m.OnBuildAgent(t.Context(), cfg)
				if !assert.NoError(t, err) || !assert.NoError(t, m.OnRegisterAgent(t.Context(), &cfg)) {
					return
				}
				res := bind(t, m, "mcp__own_"+key+"__who", "{}").Runner().Run(t.Context(), &hook.Env{})
				assert.Equal(t, key, res.Text())
				m.OnUnregisterAgent(t.Context(), &cfg)
			}
		})
	}
	wg.Wait()
	assert.Len(t, m.Status(), 1)
	assert.Equal(t, []string{"mcp__listed__hello"}, names(m))
	eventually(t, "all sessions are ended", func() bool {
		open := 0
		for range r.server.Sessions() {
			open++
		}
		return open == 0
	})
}
