package app_test

import (
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
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

// withRules is a project with rules of its own, of an agent, and of the user.
func withRules(t *testing.T, rules, agent, user string) app.Paths {
	t.Helper()
	p := project(t, map[string]string{
		".grapnel/policy.json":     rules,
		".grapnel/agents/chief.md": "---\npolicy: " + agent + "\n---\nHi.\n",
	})
	require.NoError(t, os.MkdirAll(filepath.Join(p.Home, ".grapnel"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(p.Home, ".grapnel", "policy.json"), []byte(user), 0o600))
	return p
}

// judged is what the rules make of commands, as calls of bash by the agent chief.
func judged(t *testing.T, o app.Options, commands ...string) (effects []policy.Effect, notes []string) {
	t.Helper()
	o.Sandbox = "off" // else commands without a rule are confined and not asked about
	o.Note = func(text string) {
		if !strings.Contains(text, "the sandbox is off") {
			notes = append(notes, text)
		}
	}
	opened, err := app.Open(t.Context(), o)
	require.NoError(t, err)
	defer func() { assert.NoError(t, opened.Close(context.WithoutCancel(t.Context()))) }()
	agent, err := opened.Register(t.Context(), "chief", hook.AgentConfig{})
	require.NoError(t, err)
	for _, c := range commands {
		e, err := opened.Explain(t.Context(), agent, "", "Bash", message.JSON(`{"command":"`+c+`"}`))
		require.NoError(t, err)
		effects = append(effects, e.Effect)
	}
	return effects, notes
}

// TestRules: the user's rules hold at once, those of the project that allow once
// they are approved, and until they change.
func TestRules(t *testing.T) {
	t.Parallel()
	p := withRules(t, `{"deny": ["Bash(rm *)"], "allow": ["Bash(make *)"]}`, `{ask: ["Bash(git push *)"], allow: ["Bash(go *)"]}`, `{"allow": ["Bash(git *)", "Bash(rm *)"]}`)
	commands := []string{"git log", "rm x", "git push", "make", "go vet", "ls"}
	tight := []policy.Effect{policy.Allow, policy.Deny, policy.Ask, policy.Ask, policy.Ask, policy.Ask}
	whole := []policy.Effect{policy.Allow, policy.Deny, policy.Ask, policy.Allow, policy.Allow, policy.Ask}

	effects, notes := judged(t, app.Options{Paths: p}, commands...)
	assert.Equal(t, tight, effects, "nobody is there to approve them")
	assert.Equal(t, []string{"calls that the project's rules allow still need approval (.grapnel/policy.json: Bash(make *); agent chief: Bash(go *)): " +
		"nobody has approved them; run the command in a terminal to be asked, or with --dangerously-accept-project-rules, or write them in ~/.grapnel/policy.json"}, notes)

	var asked []trust.Request
	answer := func(a trust.Answer) app.Options {
		return app.Options{Paths: p, Trust: func(_ context.Context, s trust.Request) (trust.Answer, error) {
			asked = append(asked, s)
			return a, nil
		}}
	}
	effects, notes = judged(t, answer(trust.Refused), commands...)
	assert.Equal(t, tight, effects)
	assert.Len(t, notes, 1)
	effects, notes = judged(t, answer(trust.Once), commands...)
	assert.Equal(t, whole, effects)
	assert.Empty(t, notes)
	effects, _ = judged(t, answer(trust.Always), commands...)
	assert.Equal(t, whole, effects)
	assert.Equal(t, []string{".grapnel/policy.json: Bash(make *)", "agent chief: Bash(go *)"}, asked[2].Wants[trust.Rules])
	effects, _ = judged(t, app.Options{Paths: p}, commands...)
	assert.Equal(t, whole, effects, "it is remembered")
	assert.Len(t, asked, 3)

	require.NoError(t, os.WriteFile(filepath.Join(p.Root, ".grapnel", "policy.json"), []byte(`{"allow": ["Bash"]}`), 0o600))
	effects, notes = judged(t, app.Options{Paths: p}, commands...)
	assert.Equal(t, []policy.Effect{policy.Allow, policy.Allow, policy.Ask, policy.Ask, policy.Ask, policy.Ask}, effects, "something else is allowed now")
	assert.Len(t, notes, 1)
}

// TestRulesTighten: a project's default counts if it is stricter, and the user's own
// may be anything.
func TestRulesTighten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		project, user string
		want          policy.Effect
	}{
		{`{}`, `{}`, policy.Ask},
		{`{"default": "deny"}`, `{}`, policy.Deny},
		{`{"default": "allow"}`, `{}`, policy.Ask},
		{`{}`, `{"default": "allow"}`, ""},
		{`{"default": "ask"}`, `{"default": "allow"}`, policy.Ask},
	} {
		effects, _ := judged(t, app.Options{Paths: withRules(t, c.project, "{}", c.user)}, "ls")
		assert.Equal(t, []policy.Effect{c.want}, effects, "%+v", c)
	}
}

// TestWrongRules: whatever is wrong with rules is said with the place, before
// anything runs.
func TestWrongRules(t *testing.T) {
	t.Parallel()
	const fix = `; write {"allow": ["Bash(git *)"], "ask": […], "deny": […], "default": "annotations"}`
	for _, c := range []struct{ project, agent, user, want string }{
		{`{"alow": []}`, "{}", `{}`, ".grapnel/policy.json:1:2: the key alow is unknown" + fix},
		{`{}`, "{}", `{"deny": [3]}`, "~/.grapnel/policy.json:1:11: deny.0 is of the wrong kind" + fix},
		{`{"deny": ["Bash(rm"]}`, "{}", `{}`, `.grapnel/policy.json: deny[0]: rule "Bash(rm": the parenthesis is not closed at the end; write the tool and then its pattern, and nothing behind it: Bash(git *)`},
		{`{"deny": ["Bahs(command=rm)"]}`, "{}", `{}`, `.grapnel/policy.json: deny[0]: rule "Bahs(command=rm)": there is no such tool; did you mean bash?`},
		{`{}`, "{deny: [Reed]}", `{}`, `chief.md:2:9: agent "chief": section policy: deny[0]: rule "Reed": there is no such tool; did you mean read?`},
		{`{}`, "{alow: [Reed]}", `{}`, `chief.md:2:9: agent "chief": section policy: alow: unknown key; known are allow, allow_safe_commands, ask, default, deny`},
	} {
		opened, err := app.Open(t.Context(), app.Options{Paths: withRules(t, c.project, c.agent, c.user)})
		if err == nil {
			_, err = opened.Register(t.Context(), "chief", hook.AgentConfig{})
			assert.NoError(t, opened.Close(context.WithoutCancel(t.Context())))
		}
		assert.ErrorContains(t, err, c.want)
	}
}

// TestSafeCommands: the user lets safe commands run unasked, a project only when that is approved. What is the daemon's own is denied
// whatever the rules say.
func TestSafeCommands(t *testing.T) {
	t.Parallel()
	const safe = `{"allow_safe_commands": true}`
	own := withRules(t, `{}`, `{}`, safe)
	effects, _ := judged(t, app.Options{Paths: own}, "ls -la | head", "ls > x", "cat .env", "mkdir x")
	assert.Equal(t, []policy.Effect{policy.Allow, policy.Ask, policy.Ask, policy.Ask}, effects)

	for name, p := range map[string]app.Paths{"project": withRules(t, safe, `{}`, `{}`), "agent": withRules(t, `{}`, safe, `{}`)} {
		effects, notes := judged(t, app.Options{Paths: p}, "ls")
		assert.Equal(t, []policy.Effect{policy.Ask}, effects, name)
		require.Len(t, notes, 1, name)
		assert.Contains(t, notes[0], "commands that only read the project", name)
		effects, _ = judged(t, app.Options{Paths: p, Trust: func(context.Context, trust.Request) (trust.Answer, error) { return trust.Once, nil }}, "ls")
		assert.Equal(t, []policy.Effect{policy.Allow}, effects, name)
	}

	all := withRules(t, `{}`, `{}`, `{"allow": ["Bash"]}`)
	effects, _ = judged(t, app.Options{Paths: all}, "cp x y", "cat "+all.Conversations, "echo x > "+all.Approvals()+"/y", "sqlite3 "+all.State+"/memory.db", "rm -rf /")
	assert.Equal(t, []policy.Effect{policy.Allow, policy.Deny, policy.Deny, policy.Deny, policy.Deny}, effects)
}
