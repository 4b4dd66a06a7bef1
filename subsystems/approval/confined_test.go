package approval_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/approval"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

// TestAnAnswerCoversNoRequest: an answer about a command, exactly or by its class, covers no call that requests more than the sandbox
// gives, and one about a request covers that request alone.
func TestAnAnswerCoversNoRequest(t *testing.T) {
	t.Parallel()
	var sandbox policy.Confinement
	rules, err := policy.New(nil, &policy.Options{Root: t.TempDir(), Confined: func(call *hook.ToolCall) policy.Confinement { return sandbox }})
	require.NoError(t, err)
	a := approval.New(&approval.Options{
		Store: approval.Dir(t.TempDir()), Project: t.TempDir(),
		Examine: func(call *hook.ToolCall) approval.Examined { return approval.Examined(rules.Examine(call)) },
	})
	people := says(yes)
	p := newPlace(people, "helper", "conv")
	approve := func(remember, line string, requests ...string) (by, offers string) {
		sandbox = policy.Confinement{On: len(requests) > 0, Requests: requests}
		call := p.call(bash, message.JSON(`{"command":"`+line+`"}`))
		asks, err := rules.BeforeTool(t.Context(), call)
		require.NoError(t, err)
		require.Equal(t, hook.AnswerAsk, asks.Verdict().Kind, line)
		people.answer, people.asked = says(remembering(yes, remember)).answer, nil
		if remember == "" {
			people.answer = says(no).answer
		}
		d, err := a.Approve(t.Context(), call, asks)
		require.NoError(t, err)
		for _, r := range people.asked {
			for _, o := range r.Offers.All() {
				offers += o.ID + " "
			}
			assert.True(t, len(requests) == 0 || strings.HasPrefix(r.Reason, requests[0]), r.Reason)
		}
		return d.Verdict().By, offers
	}
	by, _ := approve("rule-project", "go test ./a")
	assert.Equal(t, "ann", by)
	by, _ = approve("call-project", "go test ./a")
	assert.Equal(t, hook.ByRule, by, "the class covers it")
	by, _ = approve("call-project", "make")
	assert.Equal(t, "ann", by)

	by, offers := approve("", "go test ./a", "write to ~/go/pkg/mod")
	assert.Equal(t, "ann", by, "the answer about the class covers no request")
	assert.Equal(t, "call-conversation call-agent call-project ", offers, "nor is the class offered")
	by, _ = approve("", "make", "write to ~/go/pkg/mod")
	assert.Equal(t, "ann", by, "the answer about this very call covers no request")

	by, _ = approve("call-project", "make install", "write to ~/bin")
	assert.Equal(t, "ann", by)
	by, _ = approve("", "make install", "write to ~/bin")
	assert.Equal(t, hook.ByRule, by, "the same call with the same request")
	by, _ = approve("", "make install", "write to ~/bin", "connect to a.example")
	assert.Equal(t, "ann", by, "another request")
	by, _ = approve("", "make install", "no sandbox at all")
	assert.Equal(t, "ann", by)
	by, _ = approve("", "make install")
	assert.Equal(t, "ann", by, "without a request the reason is another one")
}
