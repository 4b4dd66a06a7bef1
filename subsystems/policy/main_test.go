package policy_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// list makes rules of their texts.
func list(rules ...string) []policy.Rule {
	out := make([]policy.Rule, len(rules))
	for i, r := range rules {
		out[i].Rule = r
	}
	return out
}

// newPolicy makes a policy of one list of rules, at a directory of its own unless o
// says where.
func newPolicy(tb testing.TB, r policy.Rules, o *policy.Options) *policy.Policy {
	tb.Helper()
	if o == nil {
		o = &policy.Options{Root: tb.TempDir()}
	}
	p, err := policy.New([]policy.Rules{r}, o)
	require.NoError(tb, err)
	return p
}

// args are arguments with one text.
func args(name, value string) message.JSON {
	data, err := json.Marshal(map[string]string{name: value})
	if err != nil {
		panic(err)
	}
	return message.JSON(data)
}

// effect is what the policy answers: deny, ask, or nothing. It asks BeforeTool and
// Explain, which have to agree.
func effect(tb testing.TB, p *policy.Policy, tool message.Tool, in message.JSON) policy.Effect {
	tb.Helper()
	e, err := p.Explain(nil, tool, in)
	require.NoError(tb, err)
	d, err := p.BeforeTool(tb.Context(), hook.NewToolCall(hook.ToolCallData{Step: hooktest.Step(nil), Tool: tool, Args: in}))
	require.NoError(tb, err)
	want := map[hook.Answer][]policy.Effect{
		hook.AnswerDeny: {policy.Deny}, hook.AnswerAsk: {policy.Ask},
		hook.AnswerNone: {policy.Allow, ""}, hook.AnswerNarrow: {policy.Allow, ""},
	}
	require.Contains(tb, want[d.Verdict().Kind], e.Effect, "%s", e)
	return e.Effect
}
