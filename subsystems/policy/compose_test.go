package policy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

// person approves what is asked and remembers what that was; it also keeps what
// became of the calls.
type person struct {
	hook.Nop
	asked    []string
	outcomes []string
}

var (
	_ hook.Approve   = (*person)(nil)
	_ hook.AfterTool = (*person)(nil)
)

func (p *person) Approve(_ context.Context, call *hook.ToolCall, d hook.ToolDecision) (hook.ApprovalDecision, error) {
	p.asked = append(p.asked, string(call.Args())+": "+d.Verdict().By+": "+d.Verdict().Reason)
	return hook.ApproveCall(), nil
}

func (p *person) AfterTool(_ context.Context, call *hook.ToolCall, out hook.ToolOutcome) (hook.OutcomeDecision, error) {
	p.outcomes = append(p.outcomes, fmt.Sprintf("%s %s %s %s", call.Name(), out.Outcome, out.Result.Failure, out.Result.Text()))
	return hook.OutcomeDecision{}, nil
}

// strict denies what the policy may have allowed.
type strict struct{ hook.Nop }

var _ hook.BeforeTool = strict{}

func (strict) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	switch text := string(call.Args()); {
	case strings.Contains(text, "taboo"):
		return hook.DenyTool("taboo"), nil
	case strings.Contains(text, "careful"):
		return hook.AskTool("careful"), nil
	}
	return hook.ToolDecision{}, nil
}

// play runs one turn in which a model makes the calls, one after the other, over
// the policy, a later decider and the real tools.
func play(t *testing.T, root string, rules policy.Rules, calls ...script.Call) *person {
	t.Helper()
	p, err := policy.New([]policy.Rules{rules}, &policy.Options{Root: root, Default: policy.DefaultAnnotations})
	require.NoError(t, err)
	tools, err := ostools.New(root, nil)
	require.NoError(t, err)
	who := &person{}
	type hooks struct {
		Policy *policy.Policy
		Strict strict
		Person *person
		OS     *ostools.OS
	}
	h, err := composite.New(&hooks{p, strict{}, who, tools})
	require.NoError(t, err)
	var play []script.Rule
	for _, c := range calls {
		play = append(play, script.Rule{Calls: []script.Call{c}})
	}
	rt := runtime.New(h, script.New(append(play, script.Rule{Say: "Done."})...), nil)
	require.NoError(t, rt.Open(t.Context()))
	defer func() { assert.NoError(t, rt.Close(context.WithoutCancel(t.Context()))) }()
	_, err = rt.Register(t.Context(), hook.AgentConfig{Name: "a"})
	require.NoError(t, err)
	conv, err := dialog.Conversation(t.Context(), rt, "a", "ann")
	require.NoError(t, err)
	out, err := dialog.Send(t.Context(), conv, message.TextInput("go"), nil)
	require.NoError(t, err)
	require.Equal(t, hook.StopCompleted, out.Stop)
	require.Len(t, who.outcomes, len(calls))
	return who
}

func call(tool string, args message.JSON) script.Call { return script.Call{Tool: tool, Args: args} }

// TestGrantsAreEnforced: what a rule grants is what the real tools do, root and
// limits, in the runtime.
func TestGrantsAreEnforced(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "src"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "top"), []byte("x"), 0o600))
	require.NoError(t, os.Symlink("../top", filepath.Join(root, "src", "out")))
	require.NoError(t, os.WriteFile(filepath.Join(root, "lines"), []byte("1\n2\n3\n"+strings.Repeat("4\n", 1000)), 0o600))
	grant := func(rule string, g policy.Grant) policy.Rule { return policy.Rule{Rule: rule, Grant: g} }
	who := play(t, root, policy.Rules{Allow: []policy.Rule{
		grant("Write", policy.Grant{Root: "src"}), grant("Edit", policy.Grant{ReadOnly: true}), grant("Read", policy.Grant{Root: "src"}),
		grant("Bash(sleep *)", policy.Grant{Timeout: "50ms"}), grant("Bash(cat *)", policy.Grant{MaxOutput: 200}),
		grant("Bash(true)", policy.Grant{Root: "src"}), grant("Bash(curl x)", policy.Grant{NoNetwork: true}),
	}},
		call("write", `{"file_path":"src/a","content":"x"}`), call("write", `{"file_path":"b","content":"x"}`),
		call("edit", `{"file_path":"top","old_string":"x","new_string":"y"}`),
		call("read", `{"file_path":"src/a"}`), call("read", `{"file_path":"top"}`), call("read", `{"file_path":"src/out"}`),
		call("bash", `{"command":"sleep 30"}`), call("bash", `{"command":"cat lines"}`), call("bash", `{"command":"true"}`), call("bash", `{"command":"curl x"}`),
	)
	assert.Empty(t, who.asked, "what is allowed is not asked")
	for i, want := range []string{
		"write executed  Made src/a: 1 bytes.", "write failed denied b is outside of", "edit failed denied this call may not change files",
		"read executed  ", "read failed denied top is outside of", "read failed denied src/out",
		"bash timed_out timeout The time for this call ran out", `bash executed  {"stdout":"1\n2\n3`,
		"bash failed denied this call is limited (below ", "bash failed denied this call is limited (no network)",
	} {
		assert.True(t, strings.HasPrefix(who.outcomes[i], want), "%d: %q does not begin with %q", i, who.outcomes[i], want)
	}
	assert.LessOrEqual(t, len(who.outcomes[7]), 250, "the output is cut")
	_, err := os.Stat(filepath.Join(root, "b"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	top, err := os.ReadFile(filepath.Join(root, "top"))
	require.NoError(t, err)
	assert.Equal(t, "x", string(top))
}

// TestAllowIsNoOpinion: what the policy allows, a later decider still asks about and
// denies; what it denies or asks, nobody lifts.
func TestAllowIsNoOpinion(t *testing.T) {
	t.Parallel()
	who := play(t, t.TempDir(), policy.Rules{Deny: list("Bash(rm *)"), Allow: list("Bash(echo *)")},
		call("bash", `{"command":"echo hi"}`), call("bash", `{"command":"echo careful"}`), call("bash", `{"command":"echo taboo"}`),
		call("bash", `{"command":"echo hi | rm x"}`), call("bash", `{"command":"echo hi | tac"}`), call("glob", `{"pattern":"*"}`),
	)
	assert.Equal(t, []string{
		`{"command":"echo careful"}: Strict: careful`,
		`{"command":"echo hi | tac"}: Policy: it may change or delete things`,
	}, who.asked)
	var kinds []string
	for _, o := range who.outcomes {
		kinds = append(kinds, strings.Join(strings.Fields(o)[:2], " "))
	}
	assert.Equal(t, []string{"bash executed", "bash executed", "bash denied", "bash denied", "bash executed", "glob executed"}, kinds)
	assert.Contains(t, who.outcomes[3], "denied by the rule Bash(rm *)")
}
