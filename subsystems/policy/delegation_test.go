package policy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

// under returns a call of the last agent: each agent runs the next one.
func under(tool message.Tool, in message.JSON, agents ...hook.AgentConfig) *hook.ToolCall {
	var turn *hook.Turn
	for i := range agents {
		conv := hook.NewConversation(hook.ConversationData{ID: fmt.Sprint("c", i), Agent: &agents[i]})
		turn, _ = hook.NewTurn(hook.TurnData{Conversation: conv, ID: fmt.Sprint("t", i), Depth: i, Parent: turn})
	}
	return hook.NewToolCall(hook.ToolCallData{Step: hooktest.Step(turn), Tool: tool, Args: in, ID: "c"})
}

// restrictions are sections with every kind of rule, each with a call that it is
// about.
func restrictions() map[string]struct {
	section message.JSON
	tool    message.Tool
	args    message.JSON
} {
	wipes := message.Annotations{Destructive: true}
	type entry = struct {
		section message.JSON
		tool    message.Tool
		args    message.JSON
	}
	return map[string]entry{
		"deny a tool":             {`{"deny":["Bash"]}`, message.Tool{Name: "bash"}, args("command", "ls")},
		"deny a command":          {`{"deny":["Bash(rm *)"]}`, message.Tool{Name: "bash"}, args("command", "ls; rm x")},
		"deny a path":             {`{"deny":["Read(/secret/**)"]}`, message.Tool{Name: "read"}, args("file_path", "secret/key")},
		"deny what writes":        {`{"deny":["Edit(/src/**)"]}`, message.Tool{Name: "write"}, args("file_path", "src/a")},
		"deny an argument":        {`{"deny":["Grep(pattern=TODO)"]}`, message.Tool{Name: "grep"}, args("pattern", "TODO")},
		"deny a server":           {`{"deny":["mcp__files"]}`, message.Tool{Name: "mcp__files__read"}, `{}`},
		"deny a skill":            {`{"deny":["Skill(a*)"]}`, message.Tool{Name: "skill"}, args("name", "abc")},
		"deny an agent":           {`{"deny":["Agent(b)"]}`, message.Tool{Name: "delegate"}, `{"tasks":[{"agent":"c"},{"agent":"b"}]}`},
		"ask about a tool":        {`{"ask":["Bash"]}`, message.Tool{Name: "bash"}, args("command", "ls")},
		"ask about a command":     {`{"ask":["Bash(git push *)"]}`, message.Tool{Name: "bash"}, args("command", "git push -f")},
		"ask about a path":        {`{"ask":["Write(*.go)"]}`, message.Tool{Name: "write"}, args("file_path", "src/a.go")},
		"ask about what is below": {`{"ask":["Read(/secret/**)"]}`, message.Tool{Name: "grep"}, args("pattern", "x")},
		"ask about every tool":    {`{"ask":["*"]}`, message.Tool{Name: "look"}, `{}`},
		"default deny":            {`{"default":"deny"}`, message.Tool{Name: "look"}, `{}`},
		"default deny but":        {`{"default":"deny","allow":["Read(/src/**)"]}`, message.Tool{Name: "read"}, args("file_path", "top")},
		"default ask":             {`{"default":"ask"}`, message.Tool{Name: "look"}, `{}`},
		"default annotations":     {`{"default":"annotations"}`, message.Tool{Name: "wipe", Annotations: wipes}, `{}`},
		"grant read only":         {`{"allow":[{"rule":"Write","grant":{"read_only":true}}]}`, message.Tool{Name: "write"}, args("file_path", "a")},
		"grant no network":        {`{"allow":[{"rule":"Bash(curl x)","grant":{"no_network":true}}]}`, message.Tool{Name: "bash"}, args("command", "curl x")},
		"grant root":              {`{"ask":[{"rule":"Write","grant":{"root":"src"}}]}`, message.Tool{Name: "write"}, args("file_path", "a")},
		"grant timeout":           {`{"allow":[{"rule":"Bash","grant":{"timeout":"2s"}}]}`, message.Tool{Name: "bash"}, args("command", "sleep 5")},
		"grant output":            {`{"allow":[{"rule":"Bash","grant":{"max_output":100}}]}`, message.Tool{Name: "bash"}, args("command", "seq 9")},
	}
}

// strictness orders answers.
func strictness(a hook.Answer) int {
	return map[hook.Answer]int{hook.AnswerDeny: 2, hook.AnswerAsk: 1}[a]
}

// TestDelegatingWidensNothing: what the section of any agent says holds for all
// calls that are made below it, whatever the sections of the agents there allow.
func TestDelegatingWidensNothing(t *testing.T) {
	t.Parallel()
	free := hook.AgentConfig{Name: "free"}
	lax := free.WithSection("policy", `{"default":"allow","allow":["*"]}`)
	for name, c := range restrictions() {
		for _, registered := range []bool{true, false} {
			p := newPolicy(t, policy.Rules{}, &policy.Options{Root: t.TempDir(), Default: policy.DefaultAllow})
			tight := hook.AgentConfig{Name: "tight"}.WithSection("policy", c.section)
			if registered {
				require.NoError(t, p.OnRegisterAgent(t.Context(), &tight))
			}
			alone, err := p.BeforeTool(t.Context(), under(c.tool, c.args, tight))
			require.NoError(t, err)
			require.NotEqual(t, hook.AnswerNone, alone.Verdict().Kind, "%s: the case restricts nothing", name)
			for _, chain := range [][]hook.AgentConfig{
				{tight, free}, {tight, lax}, {tight, tight},
				{tight, free, free}, {free, tight, lax}, {tight, lax, lax}, {lax, tight, free},
				{tight, free, lax, free}, {free, tight, lax, lax}, {lax, free, tight, lax}, {lax, lax, lax, tight},
			} {
				d, err := p.BeforeTool(t.Context(), under(c.tool, c.args, chain...))
				require.NoError(t, err)
				assert.Equal(t, strictness(alone.Verdict().Kind), strictness(d.Verdict().Kind), "%s, %d agents: %s", name, len(chain), d.Verdict().Reason)
				assert.Equal(t, alone.Grant(), d.Grant(), "%s, %d agents", name, len(chain))
			}
		}
	}
}

// TestTheStrictestOfAllWins: of several sections deny beats ask, all grants narrow,
// and an agent allows no more than the one that runs it.
func TestTheStrictestOfAllWins(t *testing.T) {
	t.Parallel()
	at := func(name string, section message.JSON) hook.AgentConfig {
		return hook.AgentConfig{Name: name}.WithSection("policy", section)
	}
	asks := at("asks", `{"ask":[{"rule":"Bash","grant":{"timeout":"2s"}}]}`)
	denies := at("denies", `{"deny":["Bash"]}`)
	brief := at("brief", `{"allow":[{"rule":"Bash","grant":{"max_output":10}}]}`)
	bash := message.Tool{Name: "bash"}
	p := newPolicy(t, policy.Rules{}, nil) // asks about what no rule allows
	for _, c := range []struct {
		chain  []hook.AgentConfig
		answer hook.Answer
		reason string
		grant  hook.Grant
	}{
		{[]hook.AgentConfig{denies, asks}, hook.AnswerDeny, `denied by the rule Bash (policy of agent "denies", which delegated the task)`, hook.Grant{}},
		{[]hook.AgentConfig{asks, denies}, hook.AnswerDeny, "denied by the rule Bash", hook.Grant{}},
		{[]hook.AgentConfig{asks, brief}, hook.AnswerAsk, `the rule Bash asks for it (policy of agent "asks", which delegated the task)`,
			hook.Grant{Timeout: 2 * time.Second, MaxOutput: 10}},
		{[]hook.AgentConfig{{Name: "plain"}, {Name: "other"}}, hook.AnswerAsk, "no rule allows it", hook.Grant{}},
		{[]hook.AgentConfig{{Name: "plain"}, brief}, hook.AnswerAsk, `no rule allows it (policy of agent "plain", which delegated the task)`, hook.Grant{MaxOutput: 10}},
		{[]hook.AgentConfig{brief, brief}, hook.AnswerNarrow, "", hook.Grant{MaxOutput: 10}},
	} {
		d, err := p.BeforeTool(t.Context(), under(bash, args("command", "ls"), c.chain...))
		require.NoError(t, err)
		assert.Equal(t, c.answer, d.Verdict().Kind)
		assert.Equal(t, c.reason, d.Verdict().Reason)
		assert.Equal(t, c.grant, d.Grant())
	}
	broken := at("broken", `{"deny":3}`)
	_, err := p.BeforeTool(t.Context(), under(bash, args("command", "ls"), broken, brief))
	assert.Error(t, err, "a section that cannot be read lets nothing pass")
}

// TestAnAskOfEachAgentIsAskedFor: an answer that was remembered for one agent's rule
// is none to the rule of another one, so their reasons differ.
func TestAnAskOfEachAgentIsAskedFor(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, policy.Rules{}, &policy.Options{Root: t.TempDir(), Default: policy.DefaultAllow})
	one := hook.AgentConfig{Name: "one"}.WithSection("policy", `{"ask":["Bash"]}`)
	two := hook.AgentConfig{Name: "two"}.WithSection("policy", `{"ask":["Bash"]}`)
	reason := func(chain ...hook.AgentConfig) string {
		d, err := p.BeforeTool(t.Context(), under(message.Tool{Name: "bash"}, args("command", "ls"), chain...))
		require.NoError(t, err)
		return d.Verdict().Reason
	}
	assert.Equal(t, "the rule Bash asks for it", reason(two))
	assert.Equal(t, `the rule Bash asks for it; the rule Bash asks for it (policy of agent "one", which delegated the task)`, reason(one, two))
}

// runs has a hook run an agent, as a hook that is no tool may.
type runs struct {
	hook.Nop
	who, agent string
}

var _ hook.AfterStep = runs{}

func (r runs) AfterStep(ctx context.Context, s *hook.Step, _ hook.StepOutcome) (hook.StepDecision, error) {
	if s.Turn().Agent().Name == r.who {
		_, err := s.Host().RunAgent(ctx, hook.AgentRun{Agent: r.agent, Input: message.TextInput("go")})
		return hook.StepDecision{}, err
	}
	return hook.StepDecision{}, nil
}

// TestDelegationInTheRuntime: the section of the agent at the root holds in a
// runtime: by delegate through three levels, by a hook that runs an agent, for
// agents that are registered before and found when they are run.
func TestDelegationInTheRuntime(t *testing.T) {
	t.Parallel()
	const section = `{"deny":["Write(/secret/**)"],"ask":["Read(/top)"],"allow":[{"rule":"Write","grant":{"root":"src"}}]}`
	for _, levels := range []int{1, 2, 3} {
		for _, byHook := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d levels, by a hook: %t", levels, byHook), func(t *testing.T) {
				t.Parallel()
				root := t.TempDir()
				require.NoError(t, os.Mkdir(filepath.Join(root, "src"), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(root, "top"), []byte("x"), 0o600))
				p, err := policy.New(nil, &policy.Options{Root: root, Default: policy.DefaultAllow})
				require.NoError(t, err)
				tools, err := ostools.New(root, nil)
				require.NoError(t, err)
				who := &person{}
				last := fmt.Sprint("a", levels)
				type hooks struct {
					Policy   *policy.Policy
					Person   *person
					Delegate *delegate.Delegate
					OS       *ostools.OS
					Runs     runs `hook:"optional"`
				}
				hs := &hooks{Policy: p, Person: who, Delegate: delegate.New(nil), OS: tools}
				if byHook {
					hs.Runs = runs{who: fmt.Sprint("a", levels-1), agent: last}
				}
				h, err := composite.New(hs)
				require.NoError(t, err)
				rt := runtime.New(h, staff(levels, byHook), &runtime.Options{FindAgent: func(_ context.Context, name string) (hook.AgentConfig, error) {
					return hook.AgentConfig{Name: name, Model: message.Model{Name: name}}, nil
				}})
				require.NoError(t, rt.Open(t.Context()))
				defer func() { assert.NoError(t, rt.Close(context.WithoutCancel(t.Context()))) }()
				_, err = rt.Register(t.Context(), hook.AgentConfig{Name: "a0", Model: message.Model{Name: "a0"}}.WithSection("policy", section))
				require.NoError(t, err)
				if levels > 1 { // the others are found
					_, err = rt.Register(t.Context(), hook.AgentConfig{Name: "a1", Model: message.Model{Name: "a1"}}.WithSection("policy", `{"allow":["*"]}`))
					require.NoError(t, err)
				}
				conv, err := dialog.Conversation(t.Context(), rt, "a0", "ann")
				require.NoError(t, err)
				out, err := dialog.Send(t.Context(), conv, message.TextInput("go"), nil)
				require.NoError(t, err)
				require.Equal(t, hook.StopCompleted, out.Stop)
				outcomes := strings.Join(who.outcomes, "\n")
				assert.Contains(t, outcomes, "write denied denied denied by the rule Write(/secret/**)")
				assert.Contains(t, outcomes, "write failed denied other is outside of")
				assert.Contains(t, outcomes, "write executed  Made src/a")
				assert.Contains(t, outcomes, "read executed")
				require.Len(t, who.asked, 1)
				assert.Contains(t, who.asked[0], `the rule Read(/top) asks for it (policy of agent "a0", which delegated the task)`)
				assert.NoFileExists(t, filepath.Join(root, "other"))
			})
		}
	}
}

// staff are the models of a chain of agents: each delegates to the next one, the
// last writes and reads. By a hook, the agent above the last one only answers.
func staff(levels int, byHook bool) *script.Script {
	when := func(level, step int) *script.When {
		return &script.When{Model: script.Text{Equals: fmt.Sprint("a", level)}, Step: step}
	}
	var rules []script.Rule
	for i := range levels {
		if byHook && i == levels-1 {
			break
		}
		task := fmt.Sprintf(`{"tasks":[{"agent":"a%d","message":"go"}]}`, i+1)
		rules = append(rules, script.Rule{When: when(i, 1), Calls: []script.Call{call("delegate", message.JSON(task))}})
	}
	rules = append(rules, script.Rule{When: when(levels, 1), Calls: []script.Call{
		call("write", `{"file_path":"secret/key","content":"x"}`), call("write", `{"file_path":"other","content":"x"}`),
		call("write", `{"file_path":"src/a","content":"x"}`), call("read", `{"file_path":"top"}`),
	}})
	return script.New(append(rules, script.Rule{When: &script.When{}, Say: "Done."})...)
}
