package hooktest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

func TestRecorderAnswersFromItsTables(t *testing.T) {
	ctx := t.Context()
	yes := hook.Response{Given: message.ListOf(hook.Given{Text: "yes"})}
	host := hooktest.Recorder{
		Answers:  map[string]hook.Response{"Really?": yes},
		Outcomes: map[string]hook.TurnOutcome{"helper": hooktest.TurnOutcome(nil)},
		Replies:  []message.ModelReply{hooktest.Reply()},
	}
	inquiry := hook.Inquiry{ID: "1", Questions: message.ListOf(hook.Question{Text: "Really?"})}
	got, err := host.Ask(ctx, inquiry)
	require.NoError(t, err)
	assert.Equal(t, yes, got)
	_, err = host.Ask(ctx, hook.Inquiry{ID: "2"})
	require.ErrorIs(t, err, hook.ErrNoTurn)
	assert.Len(t, host.Asked(), 2)

	out, err := host.RunAgent(ctx, hook.AgentRun{Agent: "helper"})
	require.NoError(t, err)
	assert.Equal(t, "Here it is.", out.Text())
	_, err = host.RunAgent(ctx, hook.AgentRun{Agent: "nobody"})
	require.ErrorIs(t, err, hook.ErrNoTurn)
	assert.Equal(t, []hook.AgentRun{{Agent: "helper"}, {Agent: "nobody"}}, host.Ran())

	reply, err := host.CallModel(ctx, hooktest.Request())
	require.NoError(t, err)
	assert.Equal(t, "Here it is.", reply.Text())
	_, err = host.CallModel(ctx, hooktest.Request())
	require.ErrorIs(t, err, hook.ErrBudget)
	assert.Len(t, host.Called(), 2)

	for range 2 {
		require.NoError(t, host.Enqueue(ctx, hook.Job{Kind: "a", Key: "b"}))
	}
	assert.Equal(t, []hook.Job{{Kind: "a", Key: "b"}}, host.Queued())
}

func TestTheZeroRecorderHasNoAnswers(t *testing.T) {
	var host hooktest.Recorder
	_, err := host.Ask(t.Context(), hook.Inquiry{})
	require.ErrorIs(t, err, hook.ErrNoTurn)
	_, err = host.CallModel(t.Context(), message.ModelRequest{})
	require.ErrorIs(t, err, hook.ErrNoTurn)
}

func TestClock(t *testing.T) {
	var clock hooktest.Clock
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: hooktest.Conversation(nil, nil), Started: clock.Now(), Now: clock.Now})
	clock.Advance(time.Minute)
	assert.Equal(t, time.Minute, turn.Elapsed())
	clock.Advance(-time.Second)
	assert.Equal(t, 59*time.Second, turn.Elapsed())
}

func TestSession(t *testing.T) {
	s := hooktest.Session(nil)
	assert.Equal(t, hook.SessionStartup, s.Source())
	assert.Equal(t, "tester", s.Agent().Name)
	assert.Equal(t, s.ID(), hooktest.Turn(nil, "hello").Session().ID())
}

func TestOutcomesSayHowItEnded(t *testing.T) {
	assert.Equal(t, hook.StopFinishReason, hooktest.TurnOutcome(nil).Stop)
	failed := hooktest.TurnOutcome(context.Canceled)
	assert.Equal(t, hook.StopError, failed.Stop)
	require.ErrorIs(t, failed.Err, context.Canceled)
	call := hooktest.Call(nil, "read", `{}`)
	assert.Same(t, call, hooktest.StepOutcome(call).Calls.At(0).Call)
	assert.Same(t, call, hooktest.InvalidCall(call).Call)
}

// TestCompositesKeepTheRules: what composite.Of makes passes the rules that its
// broken kin in the table of known-bad hooks do not.
func TestCompositesKeepTheRules(t *testing.T) {
	hooktest.Run(t, func(*testing.T) hook.Hook {
		return made([]hook.Hook{&pad{}, hook.Nop{}, hook.Nop{}})
	}, &hooktest.Options{Compose: func(members ...hook.Hook) hook.Hook { return made(members).Composite }})
}

func TestGoldenDescriptor(t *testing.T) {
	o := &hooktest.Options{Golden: t.TempDir() + "/testdata/pad", Update: true}
	newPad := func() hook.Hook { return &pad{} }
	require.Empty(t, hooktest.Check(t.Context(), newPad, o))
	o.Update = false
	require.Empty(t, hooktest.Check(t.Context(), newPad, o))
	found := hooktest.Check(t.Context(), func() hook.Hook { return &keenPad{} }, o)
	require.Len(t, found, 1)
	assert.Equal(t, "descriptor-stable", found[0].Rule)
	assert.Contains(t, found[0].Found, "keenPad")
}

type keenPad struct{ pad }

// A person who approves one tool and says no to another is a table.
func ExampleApprover() {
	person := &hooktest.Approver{Answers: map[string]hook.ApprovalDecision{
		"read": hook.ApproveCall(), "write": hook.RefuseCall("not now"),
	}}
	h, err := composite.Of("Desk", composite.Field{Name: "Person", Hook: person})
	if err != nil {
		panic(err)
	}
	for _, tool := range []string{"read", "write"} {
		d, err := h.Approve(context.Background(), hooktest.Call(nil, tool, `{}`), hook.AskTool("it touches files"))
		v := d.Verdict()
		fmt.Println(tool, v.Kind, v.Reason, v.By, err)
	}
	for _, s := range person.Shown() {
		fmt.Println("was shown", s.Call.Name(), "because", s.Asked.Verdict().Reason)
	}
	// Output:
	// read approve  Person <nil>
	// write refuse not now Person <nil>
	// was shown read because it touches files
	// was shown write because it touches files
}

func ExampleClock() {
	var clock hooktest.Clock
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: hooktest.Conversation(nil, nil), Started: clock.Now(), Now: clock.Now})
	clock.Advance(90 * time.Second)
	fmt.Println(turn.Elapsed())
	// Output: 1m30s
}

func ExampleRecorder() {
	host := hooktest.Recorder{Outcomes: map[string]hook.TurnOutcome{"helper": hooktest.TurnOutcome(nil)}}
	out, err := host.RunAgent(context.Background(), hook.AgentRun{Agent: "helper", Input: message.TextInput("help me")})
	fmt.Println(out.Text(), err, len(host.Ran()))
	// Output: Here it is. <nil> 1
}

// Check tells what is wrong with a hook; Run is the same for a test.
func ExampleCheck() {
	quiet := point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
		return hook.DenyTool(""), nil
	})
	for _, v := range hooktest.Check(context.Background(), func() hook.Hook { return quiet }, nil) {
		fmt.Println(v.Rule, "-", v.Found)
	}
	// Output: points-answer - BeforeTool answers with deny and gives no reason
}
