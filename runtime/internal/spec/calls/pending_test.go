package calls_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// Calls that need approval wait in the same list as questions. The events of the call
// tell of them.

// asksFor asks about every call of the tool.
func asksFor(tool string) hook.Hook {
	return point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		if c.Name() != tool {
			return hook.ToolDecision{}, nil
		}
		return hook.AskTool("sure?"), nil
	})
}

// byPeople approves what a person approves. It asks with the context that ctx makes.
func byPeople(ctx func(context.Context) context.Context) hook.Hook {
	return point.ApproveFunc(func(of context.Context, c *hook.ToolCall, _ hook.ToolDecision) (hook.ApprovalDecision, error) {
		r, err := c.Host().Ask(ctx(of), hook.Inquiry{ID: "approve " + c.ID(), Approval: &hook.ApprovalRequest{CallID: c.ID(), Tool: c.Name(), Args: c.Args()}})
		if err != nil {
			return hook.ApprovalDecision{}, err
		}
		return hook.ApprovalDecision{Ruling: hook.ApproveCall().Under(r.Approval.By)}, nil
	})
}

func unchanged(ctx context.Context) context.Context { return ctx }

var approves = hook.Response{Approval: &hook.ApprovalReply{Answer: hook.AnswerApprove}}

// pendingAt calls found with what waits when a call of the conversation has asked for
// approval, in the background. It returns an observer, and waits for found.
func pendingAt(t *testing.T, rt *runtime.Runtime, conversation string, found func(all []runtime.Request)) (observe func(hook.Event), wait func()) {
	t.Helper()
	var finding sync.WaitGroup
	return func(ev hook.Event) {
		if ev.Kind == event.ApprovalAsked {
			finding.Go(func() {
				assert.NoError(t, rt.AwaitPending(t.Context(), conversation))
				found(rt.Pending())
			})
		}
	}, finding.Wait
}

func TestSpecTheApprovalOfAChildsCallWaitsInTheConversationThatPeopleSee(t *testing.T) {
	t.Parallel()
	cast := rig.Cast{
		"chief":  rig.Plays(rig.Delegates("helper"), rig.Says("done")),
		"helper": rig.Plays(rig.Calls(rig.Call("h1", "danger", `{}`)), rig.Says("did it")),
	}
	w := rig.Stage(t, cast, nil, rig.Agents("chief", "helper"), delegate.New(nil), asksFor("danger"), byPeople(unchanged), rig.Box(rig.Named("danger")))
	var asked runtime.Request
	observe, wait := pendingAt(t, w.Runtime, w.Conv.ID(), func(all []runtime.Request) {
		if assert.Len(t, all, 1) {
			asked = all[0]
			assert.NoError(t, w.Runtime.Answer("", asked.ID, "ann", approves))
			<-asked.Done()
		}
	})
	var events []hook.Event
	_, err := dialog.Send(t.Context(), w.Conv, message.TextInput("go"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		events = append(events, ev)
		observe(ev)
	}})
	require.NoError(t, err)
	wait()
	assert.Equal(t, []any{w.Conv.ID(), "helper", 1, message.JSON(`{}`)}, []any{asked.Conversation, asked.Agent, asked.Depth, asked.Approval.Args})
	var kinds []hook.EventKind
	for _, ev := range events {
		switch ev.Kind {
		case event.ApprovalAsked, event.ApprovalGiven:
			assert.Equal(t, asked.Turn, ev.Turn)
			kinds = append(kinds, ev.Kind)
		case event.QuestionAsked, event.QuestionGiven:
			assert.Fail(t, "the events of the call tell of it")
		}
	}
	assert.Equal(t, []hook.EventKind{event.ApprovalAsked, event.ApprovalGiven}, kinds)
	assert.Empty(t, w.Runtime.Pending())
}

func TestSpecACallThatIsApprovedWithoutAPersonKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), asksFor("x"), &rig.Person{Answers: []hook.ApprovalDecision{hook.ApproveCall()}}, rig.Box(rig.Named("x")))
	observe, wait := pendingAt(t, w.Runtime, w.Conv.ID(), func(all []runtime.Request) { assert.Empty(t, all) })
	_, err := dialog.Send(t.Context(), w.Conv, message.TextInput("go"), &runtime.TurnOptions{Observe: observe})
	require.NoError(t, err)
	wait()
}

// A hook that asks with a context of its own is released when its turn is abandoned.
func TestSpecACancelledTurnLeavesNothingWaiting(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(context.Context) context.Context{"the turn's context": unchanged, "its own": context.WithoutCancel} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), hook.AgentConfig{Name: "a"}, &runtime.Options{Calls: runtime.Calls{Grace: 10 * time.Millisecond}},
				asksFor("x"), byPeople(of), rig.Box(rig.Does("x", rig.Never(t))))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var asked []runtime.Request
			observe, wait := pendingAt(t, w.Runtime, w.Conv.ID(), func(all []runtime.Request) {
				asked = all
				cancel()
			})
			out, _ := dialog.Send(ctx, w.Conv, message.TextInput("go"), &runtime.TurnOptions{Observe: observe})
			wait()
			assert.Equal(t, hook.StopCancelled, out.Stop)
			require.Len(t, asked, 1)
			<-asked[0].Done()
			assert.Empty(t, w.Runtime.Pending())
			require.ErrorIs(t, w.Runtime.Answer("", asked[0].ID, "ann", approves), runtime.ErrAnswered)
		})
	}
}
