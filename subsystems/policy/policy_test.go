package policy_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

func TestConformance(t *testing.T) {
	t.Parallel()
	some := policy.Rules{Deny: list("Bash(rm *)"), Ask: list("mcp__*"), Allow: list("Read")}
	section := hook.AgentConfig{}.WithSection("policy", `{"ask":["Grep"],"default":"deny"}`)
	for name, o := range map[string]*hooktest.Options{"plain": {Golden: "testdata/descriptor.txt", Update: *update}, "with a section": {Agent: section}} {
		t.Run(name, func(t *testing.T) {
			hooktest.Run(t, func(t *testing.T) hook.Hook { return newPolicy(t, some, nil) }, o)
		})
	}
	t.Run("without rules", func(t *testing.T) {
		hooktest.Run(t, func(t *testing.T) hook.Hook { return newPolicy(t, policy.Rules{}, &policy.Options{}) }, nil)
	})
}

// TestOrder: deny beats ask beats allow, in whichever lists and order.
func TestOrder(t *testing.T) {
	t.Parallel()
	git := message.Tool{Name: "bash"}
	for _, c := range []struct {
		name             string
		deny, ask, allow string
		want             policy.Effect
	}{
		{"all three", "Bash(git *)", "Bash(git *)", "Bash(git *)", policy.Deny},
		{"a wide deny", "Bash", "", "Bash(git log *)", policy.Deny},
		{"a narrow deny", "Bash(git log *)", "", "Bash", policy.Deny},
		{"ask and allow", "", "Bash(git *)", "Bash(git log -1)", policy.Ask},
		{"everything is asked", "", "*", "Bash(git log *)", policy.Ask},
		{"allow", "Bash(rm *)", "Bash(git push *)", "Bash(git *)", policy.Allow},
		{"none", "Bash(rm *)", "Bash(git push *)", "Bash(go *)", policy.Ask},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var layers []policy.Rules
			for e, text := range map[policy.Effect]string{policy.Deny: c.deny, policy.Ask: c.ask, policy.Allow: c.allow} {
				if text == "" {
					continue
				}
				layers = append(layers, map[policy.Effect]policy.Rules{
					policy.Deny: {Deny: list(text)}, policy.Ask: {Ask: list(text)}, policy.Allow: {Allow: list(text)},
				}[e])
			}
			p, err := policy.New(layers, nil)
			require.NoError(t, err)
			assert.Equal(t, c.want, effect(t, p, git, args("command", "git log -1")))
		})
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	tools := []message.Tool{
		{Name: "look"}, {Name: "wipe", Annotations: message.Annotations{Destructive: true}}, {Name: "call", Annotations: message.Annotations{OpenWorld: true, ReadOnly: true}},
	}
	for _, c := range []struct {
		own, rules policy.Default
		want       string
	}{
		{"", "", "ask ask ask"},
		{policy.DefaultAnnotations, "", " ask ask"},
		{policy.DefaultAllow, "", "  "},
		{policy.DefaultDeny, "", "deny deny deny"},
		{policy.DefaultAnnotations, policy.DefaultDeny, "deny deny deny"},
		{policy.DefaultAsk, policy.DefaultAllow, "ask ask ask"},
	} {
		p := newPolicy(t, policy.Rules{Default: c.rules}, &policy.Options{Default: c.own})
		var got []string
		for _, tool := range tools {
			got = append(got, string(effect(t, p, tool, `{}`)))
		}
		assert.Equal(t, c.want, strings.Join(got, " "), "%q and %q", c.own, c.rules)
	}
	_, err := policy.New(nil, &policy.Options{Default: "maybe"})
	assert.EqualError(t, err, `policy: there is no default "maybe"; use one of the constants`)
}

// TestReasons pins what the model and the person are told.
func TestReasons(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, policy.Rules{Deny: list("Bash(rm *)"), Ask: list("Bash(git push *)"), Allow: list("Bash(git *)")},
		&policy.Options{Default: policy.DefaultAnnotations})
	bash := message.Tool{Name: "bash", Annotations: message.Annotations{Destructive: true, OpenWorld: true}}
	for command, want := range map[string]string{
		"git log && rm x": "deny: denied by the rule Bash(rm *)",
		"git push":        "ask: the rule Bash(git push *) asks for it",
		"git $WHAT":       "ask: it may do what the rule Bash(git push *) is about",
		"git log > f":     "ask: the rules cannot judge it: it reads or writes a file by redirection (\"> f\")",
		"git log; sort":   "ask: it may change or delete things",
		"git log":         ": ",
	} {
		d, err := p.BeforeTool(t.Context(), hook.NewToolCall(hook.ToolCallData{Tool: bash, Args: args("command", command)}))
		require.NoError(t, err)
		assert.Equal(t, want, fmt.Sprintf("%s: %s", d.Verdict().Kind, d.Verdict().Reason), command)
	}
	call := hook.NewToolCall(hook.ToolCallData{Tool: message.Tool{Name: "web", Annotations: message.Annotations{OpenWorld: true}}, Args: `{}`})
	d, err := p.BeforeTool(t.Context(), call)
	require.NoError(t, err)
	assert.Equal(t, "it reaches beyond this machine or runs what others wrote", d.Verdict().Reason)
}

// TestArguments: which argument a pattern is compared with.
func TestArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, tool, args string
		want             bool
	}{
		{"Bash(git log)", "bash", `{"command":"git log"}`, true},
		{"bAsH(git log)", "BASH", `{"command":"git log"}`, true},
		{"Bash(git *)", "bash", `{"command":"git log","description":"x"}`, true},
		{"Bash(git *)", "bash", `{"command":"git log","env":{"GIT_PAGER":"sh"}}`, false},
		{"Bash(git *)", "bash", `{"command":"git log","env":{}}`, true},
		{"Bash", "bash", `{"command":"git log","env":{"GIT_PAGER":"sh"}}`, true},
		{"Bash(*)", "bash", `{"command":"$x"}`, true},
		{"Bash(git *)", "bash", `{"command":""}`, false},
		{"Bash(git *)", "bash", `{"command":"# git"}`, false},
		{"Bash(git *)", "bash", `{"command":["git","log"]}`, false},
		{"Skill(code-*)", "skill", `{"name":"code-review"}`, true},
		{"Skill(code-*)", "skill", `{"name":"release"}`, false},
		{"Agent(reviewer)", "delegate", `{"tasks":[{"agent":"reviewer"},{"agent":"reviewer"}]}`, true},
		{"Task(reviewer)", "delegate", `{"tasks":[{"agent":"reviewer"},{"agent":"writer"}]}`, false},
		{"AskUserQuestion", "ask_user", `{}`, true},
		{"mcp__tracker", "mcp__tracker__create", `{}`, true},
		{"mcp__tracker", "mcp__tracker2__create", `{}`, false},
		{"mcp__tracker__*", "mcp__tracker__create", `{}`, true},
		{"mcp__*__create", "mcp__tracker__create", `{}`, true},
		{"mcp__*__create", "mcp__tracker__delete", `{}`, false},
		{"mcp__t__get(project=web-*)", "mcp__t__get", `{"project":"web-1","id":3}`, true},
		{"mcp__t__get(project=web-*)", "mcp__t__get", `{"project":"api"}`, false},
		{"mcp__t__get(project=web-*)", "mcp__t__get", `{}`, false},
		{"mcp__t__get(project=*)", "mcp__t__get", `{"project":null}`, false},
		{"mcp__t__*(id=3)", "mcp__t__get", `{"id":3}`, true},
		{"mcp__t__*(where.kind=bug)", "mcp__t__get", `{"where":{"kind":"bug"}}`, true},
		{"mcp__f__get(url=https://a.example/**)", "mcp__f__get", `{"url":"https://a.example/x/y"}`, true},
		{"mcp__f__get(url=https://a.example/*)", "mcp__f__get", `{"url":"https://a.example/x/y"}`, false},
		{"mcp__f__get(url=https://a.example/*)", "mcp__f__get", `{"url":"https://a.example/x"}`, true},
		{"mcp__f__get(url=https://a.example/:*)", "mcp__f__get", `{"url":"https://a.example/x/y"}`, true},
		{"mcp__f__get(path=/src/**)", "mcp__f__get", `{"path":"/src/../etc/passwd"}`, false},
		{"mcp__f__get(path=/src/**)", "mcp__f__get", `{"path":"/src/%2e%2E/etc"}`, false},
		{"mcp__f__get(path=/src/**)", "mcp__f__get", `{"path":["/src/a","/etc/b"]}`, false},
		{"mcp__f__get(path=/src/**)", "mcp__f__get", `{"path":["/src/a","/src/b..c"]}`, true},
		{"Grep(pattern=TODO)", "grep", `{"pattern":"TODO"}`, true},
		{"Grep(pattern=TODO)", "grep", `{"pattern":"password"}`, false},
		{"run_shell", "bash", `{"command":"x"}`, false},
		{"*", "anything", `{}`, true},
	} {
		p := newPolicy(t, policy.Rules{Allow: list(c.rule)}, nil)
		got := effect(t, p, message.Tool{Name: c.tool}, message.JSON(c.args))
		assert.Equal(t, c.want, got == policy.Allow, "%s for %s %s: %s", c.rule, c.tool, c.args, got)
	}
	p := newPolicy(t, policy.Rules{Deny: list("mcp__f__get(path=/etc/**)")}, &policy.Options{Default: policy.DefaultAllow})
	assert.Equal(t, policy.Deny, effect(t, p, message.Tool{Name: "mcp__f__get"}, `{"path":["/src/a","/etc/../etc/b"]}`), "one of them is enough")

	_, err := p.BeforeTool(t.Context(), hook.NewToolCall(hook.ToolCallData{Tool: message.Tool{Name: "mcp__f__get"}, Args: `[1]`}))
	assert.ErrorContains(t, err, "the arguments of mcp__f__get cannot be read", "a failure, which the composite takes for a deny")
}

// TestSubjects: tools under other names are judged like those of this module.
func TestSubjects(t *testing.T) {
	t.Parallel()
	o := &policy.Options{Root: t.TempDir(), Subjects: map[string]policy.Subject{
		"os_bash": {Kind: policy.Command, Arg: "cmd"}, "open": {Kind: policy.Path, Arg: "file", As: "read"},
	}}
	p := newPolicy(t, policy.Rules{Deny: list("Read(.env)"), Allow: list("os_bash(git *)", "open(src)")}, o)
	assert.Equal(t, policy.Allow, effect(t, p, message.Tool{Name: "os_bash"}, `{"cmd":"git log"}`))
	assert.Equal(t, policy.Ask, effect(t, p, message.Tool{Name: "os_bash"}, `{"cmd":"git log; ls"}`))
	assert.Equal(t, policy.Allow, effect(t, p, message.Tool{Name: "open"}, `{"file":"src/a"}`))
	assert.Equal(t, policy.Deny, effect(t, p, message.Tool{Name: "open"}, `{"file":"src/.env"}`))
}

func TestSection(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, policy.Rules{Deny: list("Bash(rm *)"), Allow: list("Bash(git *)")}, &policy.Options{
		Tools: func() []message.Tool { return []message.Tool{{Name: "bash"}, {Name: "read"}} },
	})
	bash := message.Tool{Name: "bash"}
	judge := func(cfg *hook.AgentConfig, command string) policy.Effect {
		turn := hooktest.Turn(hooktest.Conversation(cfg, nil), "go")
		call := hook.NewToolCall(hook.ToolCallData{Step: hooktest.Step(turn), Tool: bash, Args: args("command", command)})
		d, err := p.BeforeTool(t.Context(), call)
		require.NoError(t, err)
		e, err := p.Explain(cfg, bash, args("command", command))
		require.NoError(t, err)
		if d.Verdict().Kind != hook.AnswerNone {
			assert.Equal(t, string(e.Effect), string(d.Verdict().Kind))
		}
		return e.Effect
	}
	cfg := hook.AgentConfig{Name: "a"}.WithSection("policy", `{"deny":["Bash(git push *)"],"allow":["Bash(go *)","Bash(rm *)"],"default":"deny"}`)
	for _, registered := range []bool{true, false} {
		if registered {
			_, err := p.OnBuildAgent(t.Context(), cfg)
			require.NoError(t, err)
			require.NoError(t, p.OnRegisterAgent(t.Context(), &cfg))
		}
		assert.Equal(t, policy.Allow, judge(&cfg, "go test"), "it adds")
		assert.Equal(t, policy.Allow, judge(&cfg, "git log"), "it leaves the others")
		assert.Equal(t, policy.Deny, judge(&cfg, "git push"), "it tightens")
		assert.Equal(t, policy.Deny, judge(&cfg, "rm x"), "it does not lift a deny")
		assert.Equal(t, policy.Deny, judge(&cfg, "ls"), "the stricter default counts")
		p.OnUnregisterAgent(t.Context(), &cfg)
	}
	plain := hook.AgentConfig{Name: "b"}
	assert.Equal(t, policy.Ask, judge(&plain, "go test"), "of the other agent")

	for section, want := range map[string]string{
		`{"alow":[]}`:                       `agent "a": section policy: alow: unknown key; known are allow, allow_safe_commands, ask, default, deny`,
		`{"allow":["Bash(git *"]}`:          `agent "a": section policy: allow[0]: rule "Bash(git *": the parenthesis is not closed at the end; write the tool and then its pattern, and nothing behind it: Bash(git *)`,
		`{"deny":["Reed"]}`:                 `agent "a": section policy: deny[0]: rule "Reed": there is no such tool; did you mean read?`,
		`{"default":"x"}`:                   `agent "a": section policy: default: there is no default "x"; write deny, ask, annotations or allow`,
		`{"allow":[{"rule":"Bash","g":1}]}`: `agent "a": section policy: allow[0].g: unknown key; known are grant, rule, senders`,
	} {
		_, err := p.OnBuildAgent(t.Context(), hook.AgentConfig{Name: "a"}.WithSection("policy", message.JSON(section)))
		assert.EqualError(t, err, want)
	}
	broken := hook.AgentConfig{Name: "c"}.WithSection("policy", `{"deny":[""]}`)
	turn := hooktest.Turn(hooktest.Conversation(&broken, nil), "go")
	_, err := p.BeforeTool(t.Context(), hook.NewToolCall(hook.ToolCallData{Step: hooktest.Step(turn), Tool: bash, Args: `{}`}))
	assert.Error(t, err, "an agent that was never built has no way around its rules")
}

func TestGrants(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	rules := policy.Rules{
		Ask:   []policy.Rule{{Rule: "Write", Grant: policy.Grant{Root: "src"}}},
		Allow: []policy.Rule{{Rule: "Bash", Grant: policy.Grant{Timeout: "30s", MaxOutput: 100}}, {Rule: "Bash(go *)", Grant: policy.Grant{Timeout: "2m", NoNetwork: true}}, {Rule: "Write", Grant: policy.Grant{ReadOnly: true}}},
	}
	p := newPolicy(t, rules, &policy.Options{Root: root})
	decide := func(tool string, in message.JSON) hook.ToolDecision {
		d, err := p.BeforeTool(t.Context(), hook.NewToolCall(hook.ToolCallData{Tool: message.Tool{Name: tool}, Args: in}))
		require.NoError(t, err)
		return d
	}
	d := decide("bash", `{"command":"go test"}`)
	assert.Equal(t, hook.AnswerNarrow, d.Verdict().Kind)
	assert.Equal(t, "timeout 30s, 100 bytes, no network true", fmt.Sprintf("timeout %v, %d bytes, no network %v", d.Grant().Timeout, d.Grant().MaxOutput, d.Grant().NoNetwork))
	assert.False(t, decide("bash", `{"command":"ls"}`).Grant().NoNetwork, "only what matches narrows")
	d = decide("write", `{"file_path":"a"}`)
	assert.Equal(t, hook.AnswerAsk, d.Verdict().Kind)
	assert.Equal(t, hook.Grant{Root: root + "/src", ReadOnly: true}, d.Grant(), "what is asked is narrowed too")
	e, err := p.Explain(nil, message.Tool{Name: "write"}, `{"file_path":"a"}`)
	require.NoError(t, err)
	assert.Contains(t, e.String(), "limited to: read only, below "+root+"/src\n")
}

func TestExplain(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, policy.Rules{Source: "rules.json", Deny: list("Bash(rm *)"), Ask: list("Bash(git push *)"), Allow: list("Bash(git *)")}, nil)
	for command, want := range map[string]string{
		`git log && rm -rf "$D" | sort`: "bash: deny, denied by the rule Bash(rm *)\n" +
			"* deny  Bash(rm *) (rules.json: deny[0]), about rm -rf …\n" +
			"  allow Bash(git *) (rules.json: allow[0]), about git log\n" +
			"  no rule for sort\n" +
			"  judged: ask, which flags and files rm gets is known only when it runs (\"…\")\n",
		"git log": "bash: allow, allowed by the rule Bash(git *)\n* allow Bash(git *) (rules.json: allow[0]), about git log\n  judged: ask, git log reads the repository, whose configuration can run programs (\"git log\")\n",
		"git log 'a\n* deny'": "bash: allow, allowed by the rule Bash(git *)\n* allow Bash(git *) (rules.json: allow[0]), about git log a\\n* deny\n" +
			"  judged: ask, git log reads the repository, whose configuration can run programs (\"git log a\\n* deny\")\n",
		"ls": "bash: ask, no rule allows it (default: ask)\n  no rule for ls\n  judged: safe\n",
		"$x": "bash: ask, it may do what the rule Bash(rm *) is about\n" +
			"* deny  Bash(rm *) (rules.json: deny[0]), about …, perhaps\n" +
			"  ask   Bash(git push *) (rules.json: ask[0]), about …, perhaps\n" +
			"  no rule for …\n" +
			"  judged: ask, which program it runs is known only when it runs (\"$x\")\n",
	} {
		e, err := p.Explain(nil, message.Tool{Name: "bash"}, args("command", command))
		require.NoError(t, err)
		assert.Equal(t, want, e.String(), command)
	}
	e, err := p.Explain(nil, message.Tool{Name: "look"}, `{}`)
	require.NoError(t, err)
	assert.Equal(t, policy.Explanation{Tool: "look", Effect: policy.Ask, Reason: "no rule allows it", Default: policy.DefaultAsk}, e)
}

// TestNoRules: a tool that no rule names costs nothing.
func TestNoRules(t *testing.T) {
	p := newPolicy(t, policy.Rules{Deny: list("Bash(rm *)", "mcp__*__delete"), Allow: list("Read(src/**)")}, &policy.Options{Root: t.TempDir(), Default: policy.DefaultAnnotations})
	call := hook.NewToolCall(hook.ToolCallData{Tool: message.Tool{Name: "look"}, Args: `{}`})
	assert.Zero(t, allocs.PerRun(100, func() {
		if d, err := p.BeforeTool(t.Context(), call); err != nil || d.Verdict().Kind != hook.AnswerNone {
			t.Error(d, err)
		}
	}))
}
