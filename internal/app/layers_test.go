package app_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/trust"
)

// withHooks is a project in which the user, the project and an agent say something
// of subsystems; "" says nothing.
func withHooks(t *testing.T, user, theirs, agent string) app.Paths {
	t.Helper()
	files := map[string]string{".grapnel/agents/chief.md": "---\nhooks: " + agent + "\n---\nHi.\n"}
	if theirs != "" {
		files[".grapnel/hooks.json"] = theirs
	}
	if agent == "" {
		files[".grapnel/agents/chief.md"] = "---\nname: chief\n---\nHi.\n"
	}
	p := project(t, files)
	if user != "" {
		require.NoError(t, os.MkdirAll(filepath.Join(p.Home, ".grapnel"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(p.Home, ".grapnel", "hooks.json"), []byte(user), 0o600))
	}
	return p
}

func says(t *testing.T, texts map[string]string) (s app.Settings) {
	t.Helper()
	for name, text := range texts {
		require.NoError(t, s.Set(name+"="+text))
	}
	return s
}

// is tells what is off for the process and for the agent chief, and what was noted.
func is(t *testing.T, o app.Options) (process, agent, notes string) {
	t.Helper()
	var noted []string
	o.Note = func(text string) { noted = append(noted, text) }
	opened, err := app.Open(t.Context(), o)
	require.NoError(t, err)
	defer func() { assert.NoError(t, opened.Close(context.WithoutCancel(t.Context()))) }()
	a, err := opened.Register(t.Context(), "chief", hook.AgentConfig{})
	require.NoError(t, err)
	off := func(w interface{ Text() string }) string {
		var out []string
		for line := range strings.SplitSeq(w.Text(), "\n") {
			if text, ok := strings.CutPrefix(line, "off: "); ok {
				out = append(out, text)
			}
		}
		return strings.Join(out, "; ")
	}
	return off(opened.Runtime.Plan()), off(a.Plan()), strings.Join(noted, "\n")
}

func TestTheUserAndTheProjectTurnSubsystemsOff(t *testing.T) {
	t.Parallel()
	p := withHooks(t, `{"Memory": "off", "Policy": false, "Cost": "AfterStep: timeout=2s"}`, `{"AskUser": "off"}`, `{OS: off}`)
	require.NoError(t, os.WriteFile(p.Memories, []byte("no database"), 0o600))
	process, agent, notes := is(t, app.Options{Paths: p})
	assert.Equal(t, "Policy, by ~/.grapnel/hooks.json; AskUser, by .grapnel/hooks.json; Memory, by ~/.grapnel/hooks.json", process,
		"and the database that cannot be read is not missed")
	assert.Equal(t, process+`; OS, by agent "chief"`, agent)
	assert.Empty(t, notes, "what is no gate may go without asking")

	set := says(t, map[string]string{"AskUser": "on", "MCP": "off"})
	process, _, _ = is(t, app.Options{Paths: p, Set: set})
	assert.Equal(t, "Policy, by ~/.grapnel/hooks.json; Memory, by ~/.grapnel/hooks.json; MCP, by --set", process)
}

// What is off is not there, and everything else works: also with all of it off.
func TestAnySubsystemMayBeOff(t *testing.T) {
	t.Parallel()
	all := map[string]string{}
	for _, m := range new(app.Hooks).Compose().Plan().Members {
		if m.Field == "Extra" {
			continue
		}
		all[m.Field] = "off"
		set := says(t, map[string]string{m.Field: "off"})
		process, _, _ := is(t, app.Options{Paths: withHooks(t, "", "", ""), Set: set})
		assert.Equal(t, m.Field+", by --set", process)
	}
	set := says(t, all)
	opened, err := app.Open(t.Context(), app.Options{Paths: withHooks(t, "", "", ""), Set: set})
	require.NoError(t, err)
	defer func() { assert.NoError(t, opened.Close(context.WithoutCancel(t.Context()))) }()
	a, err := opened.Register(t.Context(), "chief", hook.AgentConfig{Model: message.Model{Name: "script:x"}})
	require.NoError(t, err)
	assert.Zero(t, a.Tools().Tools().Len())
	assert.Empty(t, opened.Tools(a))
	assert.Empty(t, opened.Skills(a))
}

// A gate that the project takes away is there until somebody has approved that, and
// asked again when the project changes it.
func TestAProjectLoosensNoGateUnasked(t *testing.T) {
	t.Parallel()
	cases := []struct{ project, agent, want string }{
		{`{"Policy": "off"}`, "", ".grapnel/hooks.json: Policy: off"},
		{`{"Approval": "Approve: failopen"}`, "", ".grapnel/hooks.json: Approval: Approve: failopen"},
		{`{"Policy": "without=BeforeTool"}`, "", ".grapnel/hooks.json: Policy: without=BeforeTool"},
		{`{"Extra": "BeforeTool: failopen"}`, "", ".grapnel/hooks.json: Extra: BeforeTool: failopen"},
		{`{"Extra": "off"}`, "", ".grapnel/hooks.json: Extra: off"},
		{`{"Memory": "on"}`, "", ".grapnel/hooks.json: Memory: on"},
		{`{"Skills": "off"}`, "", ".grapnel/hooks.json: Skills: off"},
		{"", `{Guard: off, Memory: off}`, `agent "chief": Guard: off; agent "chief": Memory: off`},
		{`{"Policy": "BeforeTool: timeout=1s,failclosed", "MCP": "off"}`, `{Guard: "AfterTurn: timeout=1s"}`, ""},
	}
	for _, c := range cases {
		p := withHooks(t, `{"Memory": "off"}`, c.project, c.agent)
		process, agent, notes := is(t, app.Options{Paths: p})
		if c.want == "" {
			assert.Empty(t, notes, c.project)
			continue
		}
		assert.Equal(t, "subsystems that guard stay as they are ("+c.want+"): nobody has approved it; run the command in a terminal to be asked, or with --dangerously-accept-project-rules, or write it in ~/.grapnel/hooks.json", notes)
		assert.Equal(t, "Memory, by ~/.grapnel/hooks.json", process, c.project)
		assert.Equal(t, "Memory, by ~/.grapnel/hooks.json", agent, c.agent)

		var asked []trust.Request
		yes := func(_ context.Context, s trust.Request) (trust.Answer, error) {
			asked = append(asked, s)
			return trust.Always, nil
		}
		_, _, notes = is(t, app.Options{Paths: p, Trust: yes})
		assert.Empty(t, notes)
		require.Len(t, asked, 1)
		assert.Equal(t, c.want, strings.Join(asked[0].Wants[trust.Guards], "; "))
		_, _, notes = is(t, app.Options{Paths: p})
		assert.Empty(t, notes, "it is remembered")
		if c.project == "" {
			continue
		}
		require.NoError(t, os.WriteFile(filepath.Join(p.Root, ".grapnel", "hooks.json"), []byte(`{"Guard": "off"}`), 0o600))
		_, _, notes = is(t, app.Options{Paths: p})
		assert.Contains(t, notes, "(.grapnel/hooks.json: Guard: off)", "until it changes")
	}
}

func TestWrongHooks(t *testing.T) {
	t.Parallel()
	cases := []struct{ user, project, agent, want string }{
		{`{"Memroy": "off"}`, "", "", "HG056: ~/.grapnel/hooks.json names Memroy, but app.Hooks has no such member; did you mean Memory?"},
		{"", `{"Memory": "of"}`, "", `.grapnel/hooks.json: Memory: HG009: unknown word "of"; did you mean "off"?`},
		{"", `{"Memory": "off"`, "", ".grapnel/hooks.json: unexpected end of the text"},
		{"", "", `{Memory: [off]}`, `chief.md:2:8: agent "chief": section hooks: ["off"] is neither a text nor true or false; write "off", "on", or options as in a tag`},
		{"", "", `{Memroy: off}`, `chief.md:2:8: HG056: agent "chief" names Memroy`},
		{`{"OS": "off"}`, "", "{OS: on}", `HG056: agent "chief" turns OS on, but ~/.grapnel/hooks.json has turned it off for all later layers; leave it on in ~/.grapnel/hooks.json, and turn it off for those that are to do without it`},
		{`{"OS": "off"}`, "", "{}\ntools: [bash]", `chief.md:3:8: agent "chief": tool "bash": OS, which has it, is turned off by ~/.grapnel/hooks.json; take the tool out of the list, or leave it on`},
	}
	yes := func(context.Context, trust.Request) (trust.Answer, error) { return trust.Once, nil }
	for _, c := range cases {
		opened, err := app.Open(t.Context(), app.Options{Paths: withHooks(t, c.user, c.project, c.agent), Trust: yes})
		if err == nil {
			_, err = opened.Register(t.Context(), "chief", hook.AgentConfig{})
			assert.NoError(t, opened.Close(t.Context()))
		}
		assert.ErrorContains(t, err, c.want)
	}
}

// The example of the documentation can be laid.
func TestTheExampleOfHooksCanBeLaid(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/files.md")
	require.NoError(t, err)
	_, text, _ = bytes.Cut(text, []byte("`hooks.json`\n\n```json\n"))
	example, _, found := bytes.Cut(text, []byte("```"))
	require.True(t, found)
	process, _, _ := is(t, app.Options{Paths: withHooks(t, string(example), "", "")})
	assert.Equal(t, "Memory, by ~/.grapnel/hooks.json", process)
}

// Rules may go on naming the tools of what is turned off.
func TestRulesMayNameWhatIsOff(t *testing.T) {
	t.Parallel()
	p := withRules(t, `{"deny": ["Bash(rm *)"]}`, `{}`, `{"allow": ["Read"]}`)
	set := says(t, map[string]string{"OS": "off"})
	opened, err := app.Open(t.Context(), app.Options{Paths: p, Set: set})
	require.NoError(t, err)
	assert.NoError(t, opened.Close(t.Context()))
}
