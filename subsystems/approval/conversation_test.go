package approval_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// typed returns what the subsystem answers to a line; "" is nothing.
func typed(t *testing.T, a *approval.Approval, c *hook.Conversation, line string) string {
	t.Helper()
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: c, ID: "typed"})
	d, err := a.BeforeTurn(t.Context(), turn, message.Input{Messages: message.ListOf(message.UserText(line))})
	require.NoError(t, err)
	return d.Text()
}

// TestAnswersOfAConversationAreListedAndRevoked: once it is forgotten, an answer counts no more.
func TestAnswersOfAConversationAreListedAndRevoked(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	a := approval.New(&approval.Options{Now: func() time.Time { now = now.Add(time.Second); return now }})
	always := says(remembering(yes, "call-conversation"))
	p := newPlace(always, "helper", "conv")
	ls, rm := p.call(bash, `{"command":"ls"}`), p.call(bash, message.JSON(`{"command":"rm `+strings.Repeat("x", 300)+`"}`))
	verdict(t, a, ls)
	verdict(t, a, rm)
	always.answer = says(remembering(no, "tool-conversation")).answer
	verdict(t, a, p.call(lookup, `{"q":"x"}`))
	always.answer = says(remembering(yes, "call-conversation")).answer
	odd := p.call(bash, "{\"command\":\"\u202e\"}")
	verdict(t, a, odd)
	always.answer = says(yes).answer
	verdict(t, a, ls)
	require.Equal(t, 4, always.count(), "ls is remembered")

	all := a.InConversation(p.conv)
	require.Len(t, all, 4)
	const in = ", in this conversation and the tasks that it hands out"
	assert.Equal(t, approval.Remembered{
		ID: all[0].ID, Answer: hook.AnswerApprove, Text: "exactly this call of bash" + in, Tool: "bash", Args: `{"command":"ls"}`, By: "ann",
		Since: time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC),
	}, all[0])
	assert.Len(t, []rune(all[1].Args), 200)
	assert.NotContains(t, typed(t, a, p.conv, "/approvals"), "\u202e")
	list := typed(t, a, p.conv, "/approvals")
	assert.Contains(t, list, "- "+all[0].ID[:12]+": allowed by ann: exactly this call of bash"+in+`: {"command":"ls"}`+"\n")
	assert.Contains(t, list, "- "+all[2].ID[:12]+": refused by ann: any call of lookup, whatever its arguments"+in+"\n")

	assert.Contains(t, typed(t, a, p.conv, "/approvals forget "+all[0].ID[:12]), "Forgotten: allowed by ann: exactly this call of bash")
	verdict(t, a, ls)
	assert.Equal(t, 5, always.count(), "ls is asked about again")
	verdict(t, a, rm)
	assert.Equal(t, 5, always.count(), "rm is not")
	assert.Contains(t, typed(t, a, p.conv, "/approvals forget nothing"), "Nothing is forgotten: 0 answers")
	typed(t, a, p.conv, "/approvals forget all")
	assert.Empty(t, a.InConversation(p.conv))
	verdict(t, a, rm)
	assert.Equal(t, 6, always.count())

	assert.Contains(t, typed(t, a, newPlace(always, "helper", "other").conv, "/approvals"), "Nothing is allowed or refused")
	assert.Contains(t, typed(t, a, newPlace(always, "helper", "other").conv, "/approvals forget all"), "nothing to forget")
	assert.Contains(t, typed(t, a, p.conv, "/approvals what"), "Write /approvals")
	assert.Empty(t, typed(t, a, p.conv, "/approvalsx"))
	assert.Empty(t, typed(t, a, p.conv, "what are /approvals"))
}
