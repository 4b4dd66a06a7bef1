package app_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/trust"
)

func TestMain(m *testing.M) {
	if os.Getenv(schoolEnv) != "" {
		school()
		return
	}
	goleak.VerifyTestMain(m)
}

// project makes a project of the files and returns its paths, with a state
// directory of its own.
func project(t testing.TB, files map[string]string) app.Paths {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	p, err := app.FindPaths(dir, env(map[string]string{"GRAPNEL_HOME": t.TempDir(), "HOME": t.TempDir()}))
	require.NoError(t, err)
	return p
}

func names(agents []app.Agent) []string {
	var out []string
	for _, a := range agents {
		out = append(out, a.Config.Name)
	}
	return out
}

func TestAgents(t *testing.T) {
	t.Parallel()
	agents, err := app.Agents(project(t, nil), nil)
	require.NoError(t, err)
	assert.Equal(t, []string{app.DefaultAgent}, names(agents))
	assert.NotEmpty(t, agents[0].Config.Instructions)
	assert.Nil(t, agents[0].Config.Tools, "the one that is built in has every tool")

	var notes []string
	p := project(t, map[string]string{
		".grapnel/agents/z.md":       "---\n---\nZ",
		".grapnel/agents/grapnel.md": "---\ntools: []\n---\nMine",
		".claude/agents/a.md":        "---\ncolor: red\n---\nA",
	})
	agents, err = app.Agents(p, func(text string) { notes = append(notes, text) })
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "grapnel", "z"}, names(agents))
	assert.Equal(t, "Mine", agents[1].Config.Instructions)
	require.Len(t, notes, 1)
	assert.Contains(t, notes[0], `a.md:2:1: key "color" is passed over`)

	_, err = app.Agents(project(t, map[string]string{".grapnel/agents/a.md": "nothing"}), nil)
	assert.ErrorContains(t, err, "the frontmatter is missing")
}

func TestOpenAndRegister(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{
		".grapnel/agents/reader.md": "---\ntools: [read]\nmodel: script:m.yaml\n---\nYou read.",
		"m.yaml":                    "rules: [{say: Hello.}]",
	})
	opened, err := app.Open(t.Context(), app.Options{Paths: p})
	require.NoError(t, err)
	defer func() { require.NoError(t, opened.Close(context.WithoutCancel(t.Context()))) }()

	a, err := opened.Register(t.Context(), "reader", hook.AgentConfig{})
	require.NoError(t, err)
	require.NoError(t, opened.CheckModel(a.Config()))
	for _, tool := range opened.Tools(a) {
		assert.Equal(t, tool.Name == "read", tool.OutOfScope == "", tool.Name)
		assert.NotEmpty(t, tool.Owner)
	}
	conv, err := dialog.Conversation(t.Context(), opened.Runtime, "reader", "ann")
	require.NoError(t, err)
	out, err := dialog.Send(t.Context(), conv, message.TextInput("hi"), nil)
	require.NoError(t, err)
	assert.Equal(t, "Hello.", out.Text())

	a, err = opened.Register(t.Context(), app.DefaultAgent, hook.AgentConfig{})
	require.NoError(t, err)
	needSection := []string{"Tasks", "Sessions"}
	for _, tool := range opened.Tools(a) {
		assert.Equal(t, slices.Contains(needSection, tool.Owner), tool.OutOfScope != "", "%s: %s", tool.Name, tool.OutOfScope)
	}
	assert.EqualError(t, opened.CheckModel(a.Config()),
		"no model is configured: name one with --model VENDOR:NAME or --model script:FILE, with `model:` in the agent's file or in ~/.grapnel/config.yaml")
	_, err = opened.Register(t.Context(), "nobody", hook.AgentConfig{})
	assert.EqualError(t, err, `there is no agent "nobody"; known are grapnel, reader; define it in .grapnel/agents/NAME.md`)
}

func TestOpenLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{".mcp.json": "{"})
	_, err := app.Open(t.Context(), app.Options{Paths: p})
	require.ErrorContains(t, err, ".mcp.json")
	require.NoError(t, os.Remove(filepath.Join(p.Root, ".mcp.json")))
	require.NoError(t, os.WriteFile(p.Memories, []byte("the notes of another program, which are long enough to be looked at\n"), 0o600))
	_, err = app.Open(t.Context(), app.Options{Paths: p})
	require.ErrorContains(t, err, "memory.db")
}

const servers = `{"mcpServers": {"a": {"command": "does-not-exist", "args": ["${HOME}", "${NONE:-x}"]}, "b": {"url": "${NONE:-http://localhost}"}}}`

func TestServersAreNotStartedUnasked(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{".mcp.json": servers})
	open := func(answer trust.Answer) (asked []string, state string) {
		opened, err := app.Open(t.Context(), app.Options{Paths: p, Trust: func(_ context.Context, s trust.Request) (trust.Answer, error) {
			asked = append(asked, s.Lines()...)
			return answer, nil
		}})
		require.NoError(t, err)
		state = opened.Hooks.MCP.Status()[0].Reason
		require.NoError(t, opened.Close(t.Context()))
		return asked, state
	}
	const no = "the list of servers has not been approved; run the command in a terminal to be asked, or with --start-servers"
	asked := []string{
		"a: does-not-exist ${HOME} ${NONE:-x}", "a: the program gets your variable HOME", "a: names your variable NONE, which is not set",
		"b: ${NONE:-http://localhost}", "b: names your variable NONE, which is not set",
	}
	steps := []struct {
		answer trust.Answer
		asked  []string
		reason string
	}{
		{trust.No, asked, no},
		{trust.Once, asked, ""},
		{trust.Always, asked, ""},
		{trust.No, nil, ""},
	}
	for i, s := range steps {
		asked, reason := open(s.answer)
		assert.Equal(t, s.asked, asked, "step %d", i)
		assert.Equal(t, s.reason, reason, "step %d", i)
	}
	require.NoError(t, os.WriteFile(filepath.Join(p.Root, ".mcp.json"), []byte(servers+"\n"), 0o600))
	asked, reason := open(trust.No)
	assert.Len(t, asked, 5, "another file is another question")
	assert.Equal(t, no, reason)
}

func TestServersOfAgentsAreNotStartedUnasked(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{".grapnel/agents/own.md": `---
model: script:x.yaml
mcp: {define: {mine: {command: does-not-exist, args: ["${HOME}"], env: {K: secret}}}}
---
`})
	open := func(answer trust.Answer) (asked []string, err error) {
		opened, err := app.Open(t.Context(), app.Options{Paths: p, Trust: func(_ context.Context, s trust.Request) (trust.Answer, error) {
			asked = append(append(asked, s.From), s.Wants[trust.Commands]...)
			return answer, nil
		}})
		require.NoError(t, err)
		_, err = opened.Register(t.Context(), "own", hook.AgentConfig{})
		require.NoError(t, opened.Close(t.Context()))
		return asked, err
	}
	for i, s := range []struct {
		answer trust.Answer
		asked  bool
		err    string
	}{
		{trust.No, true, "define.mine: the server has not been approved"},
		{trust.Refused, true, "define.mine: you said no"},
		{trust.Once, true, ""},
		{trust.Always, true, ""},
		{trust.No, false, ""},
	} {
		asked, err := open(s.answer)
		if s.err == "" {
			assert.NoError(t, err, "step %d", i)
		} else {
			assert.ErrorContains(t, err, s.err, "step %d", i)
		}
		if s.asked {
			assert.Equal(t, []string{"the agent own", "mine: does-not-exist ${HOME}", "mine: environment K=secret", "mine: the program gets your variable HOME"}, asked, "step %d", i)
		} else {
			assert.Empty(t, asked, "step %d", i)
		}
	}
}

// TestAVariableThatIsSetLaterIsAskedAbout: which of the user's variables a server gets is
// part of what is approved.
func TestAVariableThatIsSetLaterIsAskedAbout(t *testing.T) {
	const name = "GRAPNEL_TEST_LATER"
	p := project(t, map[string]string{".mcp.json": `{"mcpServers": {"a": {"url": "https://a.example", "headers": {"X": "${` + name + `:-none}"}}}}`})
	open := func() (asked []string) {
		opened, err := app.Open(t.Context(), app.Options{Paths: p, Trust: func(_ context.Context, s trust.Request) (trust.Answer, error) {
			asked = s.Wants[trust.URLs]
			return trust.Always, nil
		}})
		require.NoError(t, err)
		require.NoError(t, opened.Close(t.Context()))
		return asked
	}
	assert.Equal(t, []string{"a: https://a.example", "a: header X: ${" + name + ":-none}", "a: names your variable " + name + ", which is not set"}, open())
	assert.Empty(t, open())
	t.Setenv(name, "secret")
	assert.Equal(t, []string{"a: https://a.example", "a: header X: ${" + name + ":-none}", "a: your variable " + name + " LEAVES THIS MACHINE, with every request"}, open())
	assert.Empty(t, open())
}
