package storage_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/redact"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// Secrets are masked in events and in the store; tools, models and deciders get them.

const (
	secretToken = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5"
	tokenMark   = "[secret: github-token]"
)

func masks() runtime.Options { return runtime.Options{Events: runtime.Events{Mask: redact.New(nil)}} }

// shown is what the events say, as JSON.
func shown(t *testing.T, events []hook.Event) string {
	t.Helper()
	text, err := json.Marshal(events)
	require.NoError(t, err)
	return string(text)
}

func TestSpecACallWithMaskedArgumentsIsNeverRunFromTheStore(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]runtime.Options{"masked": masks(), "as it is": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			safe, other := rig.NewGate("look"), rig.NewGate("read")
			safe.Annotations.ReadOnly, other.Annotations.ReadOnly = true, true
			step := rig.Calls(rig.Call("c1", "look", `{"s":"`+secretToken+`"}`), rig.Call("c2", "read", `{"s":"plain"}`))
			first := rig.Boot(t, dir, rig.Plays(step), o, rig.Box(safe.Tool, other.Tool))
			first.Sends("1")
			<-safe.Reached
			<-other.Reached
			first.Dies()

			close(safe.Open)
			close(other.Open)
			second := rig.Boot(t, dir, rig.Plays(rig.Says("done")), o, rig.Box(safe.Tool, other.Tool))
			second.Resumes()
			require.NoError(t, second.Ends().Returned)
			told := 0
			for _, ev := range second.Drain() {
				if ev.Kind == event.Diagnostic && ev.Detail().Code == event.CodeCallMasked {
					told++
					assert.Equal(t, event.VisibleUser, ev.Detail().Visibility)
					assert.Contains(t, ev.Text, "look")
				}
			}
			assert.Len(t, other.Reached, 1, "a call that only reads runs again")
			history := strings.Join(second.History(), "\n")
			if name == "masked" {
				assert.Empty(t, safe.Reached)
				assert.Equal(t, 1, told)
				assert.Contains(t, history, `[c1 look {"s":"`+tokenMark+`"}]`)
				assert.Contains(t, history, "tool c1 look cancelled: interrupted, and not run again: the store has this call only with a secret in its arguments masked")
				return
			}
			assert.Len(t, safe.Reached, 1)
			assert.Zero(t, told)
			assert.Contains(t, history, secretToken)
		})
	}
}

func TestSpecAMaskedCallThatWaitedForApprovalCannotBeApprovedAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pay, look := rig.NewGate("pay"), rig.NewGate("look")
	pay.Annotations.ReadOnly, look.Annotations.ReadOnly = true, true
	rule := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		return hook.AskTool("sure?"), nil
	})
	hooks := func() []hook.Hook { return []hook.Hook{rule, approval.New(nil), rig.Box(pay.Tool, look.Tool)} }
	first := rig.Boot(t, dir, rig.Plays(rig.Calls(rig.Call("c1", "pay", `{"s":"`+secretToken+`"}`))), masks(), hooks()...)
	first.Sends("1")
	first.Until(event.ApprovalAsked, 1)
	approveCall(t, first, "c1")
	<-pay.Reached // approved, journaled, running
	first.Dies()

	close(pay.Open)
	second := rig.Boot(t, dir, rig.Plays(rig.Says("done")), masks(), hooks()...)
	second.Resumes()
	require.NoError(t, second.Ends().Returned)
	for _, ev := range second.Drain() {
		assert.NotEqual(t, event.ApprovalAsked, ev.Kind, "nobody is asked")
	}
	assert.Empty(t, pay.Reached)
}

// approveCall approves the call that waits.
func approveCall(t *testing.T, p *rig.Process, call string) {
	t.Helper()
	require.NoError(t, p.Runtime.AwaitPending(t.Context(), p.Conv.ID()))
	for _, q := range p.Runtime.Pending() {
		if q.Approval != nil && q.Approval.CallID == call {
			require.NoError(t, p.Runtime.Answer("", q.ID, "ann", hook.Response{Approval: &hook.ApprovalReply{Answer: hook.AnswerApprove}}))
			return
		}
	}
	require.FailNow(t, "the call does not wait", call)
}

func TestSpecAPersonApprovesWhatIsMaskedAndTheToolGetsItWhole(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	pay := rig.Tool{Tool: message.Tool{Name: "pay"}, Run: func(_ context.Context, _ *hook.Env, s string) message.ToolResult {
		got <- s
		return message.TextResult("paid with " + s)
	}}
	rule := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		return hook.AskTool("with " + secretToken + "?"), nil
	})
	p := rig.Boot(t, t.TempDir(), rig.Plays(rig.Calls(rig.Call("c1", "pay", `{"s":"`+secretToken+`"}`)), rig.Says("done")), masks(), rule, approval.New(nil), rig.Box(pay))
	p.Sends("1")
	asked := p.Until(event.ApprovalAsked, 1)
	assert.NotContains(t, shown(t, []hook.Event{asked}), secretToken)
	require.NoError(t, p.Runtime.AwaitPending(t.Context(), p.Conv.ID()))
	q := p.Runtime.Pending()[0]
	assert.JSONEq(t, `{"s":"`+tokenMark+`"}`, string(q.Approval.Args))
	assert.Equal(t, "with "+tokenMark+"?", q.Approval.Reason)
	assert.Zero(t, q.Approval.Offers.Len(), "what nobody has seen is not remembered")
	for _, reply := range []hook.ApprovalReply{
		{Answer: hook.AnswerModify, Args: q.Approval.Args},
		{Answer: hook.AnswerApprove, Remember: "call-conversation"},
	} {
		require.ErrorContains(t, p.Runtime.Answer("", q.ID, "ann", hook.Response{Approval: &reply}), "masked")
	}
	approveCall(t, p, "c1")
	require.NoError(t, p.Ends().Returned)
	assert.Equal(t, secretToken, <-got)
	assert.NotContains(t, shown(t, p.Drain()), secretToken)
	assert.Contains(t, p.Model.Requests[1].Messages.At(2).Result.Text(), secretToken, "the model has it in this process")
	assert.NotContains(t, strings.Join(p.History(), "\n"), secretToken)
}

func TestSpecASecretThatIsCutIntoPiecesIsNotShown(t *testing.T) {
	t.Parallel()
	for at := 1; at < len(secretToken); at += 7 {
		words := []string{"The key is ", secretToken[:at], secretToken[at:], ".\nKe", "ep it. äö"}
		p := rig.Boot(t, t.TempDir(), rig.Plays(rig.Says(words...)), masks())
		p.Sends("1")
		out := p.Ends()
		require.NoError(t, out.Returned)
		events := p.Drain()
		assert.NotContains(t, shown(t, events), secretToken)
		text, last := "", hook.EventKind("")
		for _, ev := range events {
			if ev.Kind == event.TextDelta {
				text += ev.Text
				assert.NotEqual(t, event.TextEnd, last, "the rest comes before the end")
			}
			if ev.Kind == event.TextEnd || ev.Kind == event.TextStart {
				last = ev.Kind
			}
		}
		assert.Equal(t, "The key is "+tokenMark+".\nKeep it. äö", text)
		assert.Equal(t, "The key is "+secretToken+".\nKeep it. äö", out.Text(), "the program itself has the answer")
	}
}

func TestSpecALongTextIsMaskedBeforeItIsCut(t *testing.T) {
	t.Parallel()
	o := masks()
	o.Limits.Result = 100
	text := strings.Repeat("x ", 15) + secretToken + strings.Repeat(" y", 90)
	p := rig.Boot(t, t.TempDir(), rig.Plays(rig.Says("ok")), o)
	p.Sends(text)
	require.NoError(t, p.Ends().Returned)
	assert.NotContains(t, shown(t, p.Drain()), secretToken[:12])
}

func TestSpecAJobWithASecretRunsAtOnceAndIsNotStored(t *testing.T) {
	t.Parallel()
	under := rig.OpenSQLite(t, t.TempDir())
	r := redact.New(nil)
	seen := make(chan string, 1)
	a := &trail{do: func(_ context.Context, turn *hook.Turn) { seen <- turn.Input().Text() }}
	w := archived(t, a, &runtime.Options{Events: runtime.Events{Mask: r}, Store: r.Store(under)}, rig.Says("fine"))
	w.Send("it is " + secretToken)
	require.NoError(t, w.Runtime.Close(t.Context()))
	assert.Equal(t, "it is "+secretToken, <-seen)
	jobs, err := store.Jobs(under).Jobs(t.Context(), store.JobFilter{})
	require.NoError(t, err)
	assert.Empty(t, jobs)
}
