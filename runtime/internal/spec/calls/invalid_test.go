package calls_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
)

// What OnInvalidTool may do about a call that cannot be bound.

// onInvalid answers by the attempt: the first answer to the first one, and the last
// from then on. It keeps what it was shown.
type onInvalid struct {
	hook.Nop
	answers []hook.RepairDecision
	seen    []hook.InvalidCall
}

func (o *onInvalid) OnInvalidTool(_ context.Context, _ *hook.Step, c hook.InvalidCall) (hook.RepairDecision, error) {
	o.seen = append(o.seen, c)
	return o.answers[min(c.Attempt, len(o.answers))-1], nil
}

func onInvalids(answers ...hook.RepairDecision) *onInvalid { return &onInvalid{answers: answers} }

func TestSpecARepairedCallRuns(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		call    rig.ToolCall
		answers []hook.RepairDecision
		history []string
	}{
		{"its arguments", rig.Call("c1", "echo", `{"x":"1"}`), []hook.RepairDecision{hook.RepairArgs(` {"s": "y"}`)},
			[]string{`assistant [c1 echo {"s":"y"}]`, "tool c1 echo: echo:y"}},
		{"arguments that are no JSON", rig.Call("c1", "echo", `{"s":"y`), []hook.RepairDecision{hook.RepairArgs(`{"s":"y"}`)},
			[]string{`assistant [c1 echo {"s":"y"}]`, "tool c1 echo: echo:y"}},
		{"its name", rig.Call("c1", "ecko", `{"s":"y"}`), []hook.RepairDecision{hook.RenameTool("echo")},
			[]string{`assistant [c1 echo {"s":"y"}]`, "tool c1 echo: echo:y"}},
		{"a name that no provider takes back", rig.Call("c1", "no such tool!", `{}`), []hook.RepairDecision{hook.RenameTool("echo")},
			[]string{`assistant [c1 echo {}]`, "tool c1 echo: echo:"}},
		{"name, then arguments", rig.Call("c1", "ecko", `{"x":"1"}`), []hook.RepairDecision{hook.RenameTool("echo"), hook.RepairArgs(`{}`)},
			[]string{`assistant [c1 echo {}]`, "tool c1 echo: echo:"}},
		{"arguments, then name", rig.Call("c1", "ecko", `{"x":"1"}`), []hook.RepairDecision{hook.RepairArgs(`{}`), hook.RenameTool("echo")},
			[]string{`assistant [c1 echo {}]`, "tool c1 echo: echo:"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var original []string
			before := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
				original = append(original, c.OriginalName()+" "+string(c.Original()))
				assert.Equal(t, "echo", c.Tool().Name)
				assert.Equal(t, rig.BoxSchema, string(c.Tool().Input), "the descriptor is that of the tool that runs")
				return hook.ToolDecision{}, nil
			})
			w := rig.Start(t, rig.Plays(rig.Calls(tc.call), rig.Says("done")), onInvalids(tc.answers...), before, rig.Box(rig.Named("echo")))
			assert.Equal(t, "done", w.Send("1").Text())
			assert.Equal(t, tc.history, w.History()[1:3])
			assert.Equal(t, []string{tc.call.Tool + " " + tc.call.Args}, original, "the audit has what the model wrote")
			assert.Equal(t, "echo", w.EventsOf(event.CallsBegin)[0].Detail().Tools.At(0))
			require.Len(t, w.EventsOf(event.Diagnostic), 1)
			assert.Contains(t, w.EventsOf(event.Diagnostic)[0].Text, "call c1: H0 has repaired it")
			assert.Equal(t, event.CodeCallRepaired, w.EventsOf(event.Diagnostic)[0].Detail().Code)
			rig.AssertBrackets(t, w)
		})
	}
}

func TestSpecTheViewOfAnInvalidCall(t *testing.T) {
	t.Parallel()
	h := onInvalids(hook.RepairArgs(`{"y":"2"}`))
	b := rig.Box(rig.Named("echo"), rig.Named("hidden"))
	b.Scope.Tools = []string{"echo"}
	m := rig.Plays(rig.Calls(rig.Call("c1", "ecko", `{}`), rig.Call("c2", "hidden", `{}`), rig.Call("c3", "echo", `{"x":"1"}`), rig.Call("c4", "echo", `{}`)), rig.Says("done"))
	w := rig.Start(t, m, h, b)
	w.Send("1")
	require.Len(t, h.seen, 6, "each call twice, and none that can be bound")
	for i, tc := range []struct {
		id, tool, schema string
		kind             message.FailureKind
		reason           string
	}{
		{"c1", "ecko", "", message.FailNotRegistered, `did you mean "echo"?`},
		{"c2", "hidden", rig.BoxSchema, message.FailNotAvailable, `tool "hidden" is not available`},
		{"c3", "echo", rig.BoxSchema, message.FailArguments, "x: is unknown"},
	} {
		for n, seen := range h.seen[2*i : 2*i+2] {
			assert.Equal(t, tc.id, seen.Call.ID())
			assert.Equal(t, i, seen.Call.Index())
			assert.Equal(t, tc.tool, seen.Call.Name())
			assert.Equal(t, tc.schema, string(seen.Call.Tool().Input))
			assert.Equal(t, seen.Call.Original(), seen.Call.Args(), "the call as the model made it")
			assert.Equal(t, tc.kind, seen.Failure)
			assert.Equal(t, n+1, seen.Attempt)
			assert.Equal(t, []string{"echo"}, seen.Tools.Slice())
		}
		assert.Contains(t, h.seen[2*i].Reason, tc.reason)
	}
	assert.Contains(t, h.seen[5].Reason, "y: is unknown", "the second time, what is wrong now")
	lines := w.History()
	assert.Equal(t, `assistant [c1 ecko {}] [c2 hidden {}] [c3 echo {"x":"1"}] [c4 echo {}]`, lines[1], "where no repair helped, all is as the model made it")
	assert.Contains(t, lines[4], "x: is unknown", "with the error of that")
	assert.Equal(t, "tool c4 echo: echo:", lines[5])
}

func TestSpecARepairWidensNoScope(t *testing.T) {
	t.Parallel()
	b := rig.Box(rig.Named("echo"), rig.Does("secret", rig.Never(t)))
	b.Scope.Tools = []string{"echo"}
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "ecko", `{}`)), rig.Says("done")), onInvalids(hook.RenameTool("secret"), hook.RenameTool("nobody")), b)
	w.Send("1")
	assert.Contains(t, w.History()[2], "tool c1 ecko not_registered")
	assert.Zero(t, b.Dispatched["secret"], "no owner was asked")
}

func TestSpecARepairedCallPassesItsGates(t *testing.T) {
	t.Parallel()
	var log []string
	rewrite := point.RewriteArgsFunc(func(_ context.Context, c *hook.ToolCall, args message.JSON) (message.JSON, error) {
		log = append(log, "rewrite "+string(args))
		return args, nil
	})
	deny := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		log = append(log, "before "+c.Name())
		return hook.DenyTool("no"), nil
	})
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "ecko", `{}`)), rig.Says("done")), onInvalids(hook.RenameTool("echo")), rewrite, deny, rig.Box(rig.Does("echo", rig.Never(t))))
	w.Send("1")
	assert.Equal(t, []string{"rewrite {}", "before echo"}, log)
	assert.Equal(t, "tool c1 echo denied: no", w.History()[2])
}

func TestSpecCallsAreRepairedInOrderBeforeAnythingIsDecided(t *testing.T) {
	t.Parallel()
	var log []string
	repair := point.OnInvalidToolFunc(func(_ context.Context, _ *hook.Step, c hook.InvalidCall) (hook.RepairDecision, error) {
		log = append(log, "repair "+c.Call.ID())
		return hook.RenameTool("echo"), nil
	})
	before := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		log = append(log, "before "+c.ID())
		return hook.ToolDecision{}, nil
	})
	b := rig.Box(rig.Named("echo"))
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "echo", `{}`), rig.Call("c2", "x", `{}`), rig.Call("c3", "y", `{}`)), rig.Says("done")), repair, before, b)
	w.Send("1")
	assert.Equal(t, []string{"repair c2", "repair c3", "before c1", "before c2", "before c3"}, log)
	assert.Equal(t, 3, b.Dispatched["echo"], "each is bound once")
}

func TestSpecARetryOfAnInvalidCallDropsTheWholeReply(t *testing.T) {
	t.Parallel()
	after := 0
	judge := point.AfterToolFunc(func(context.Context, *hook.ToolCall, hook.ToolOutcome) (hook.OutcomeDecision, error) {
		after++
		return hook.OutcomeDecision{}, nil
	})
	bad := rig.Chunks(rig.Text("let me see"), message.Chunk{Kind: message.ChunkCallStart, CallID: "c1", Tool: "echo"}, message.Chunk{Kind: message.ChunkCallArgs, Text: "{}"}, message.Chunk{Kind: message.ChunkCallEnd},
		message.Chunk{Kind: message.ChunkCallStart, Index: 1, CallID: "c2", Tool: "ecko"}, message.Chunk{Kind: message.ChunkCallEnd, Index: 1}, rig.Finish(message.FinishTools))
	m := rig.Plays(bad, rig.Calls(rig.Call("c1", "echo", `{}`)), rig.Says("done"))
	w := rig.Start(t, m, onInvalids(hook.RetryInvalid("there is no ecko")), judge, rig.Box(rig.Named("echo")))
	out := w.Send("1")
	assert.Equal(t, []string{"user 1", "assistant [c1 echo {}]", "tool c1 echo: echo:", "assistant done"}, w.History(), "the id is free again")
	assert.Equal(t, 1, after)
	assert.Equal(t, 1, out.Calls)
	assert.Equal(t, 2, out.Steps)
	assert.Equal(t, message.Usage{Input: 30, Output: 15}, out.Usage, "what was dropped has its price")
	require.Len(t, w.EventsOf(event.TurnRetried), 1)
	require.Len(t, w.EventsOf(event.CallsBegin), 1)
	last := m.Requests[1].Messages.At(m.Requests[1].Messages.Len() - 1)
	assert.Equal(t, "there is no ecko", last.Text())
	assert.Equal(t, "feedback", last.Label)
	rig.AssertBrackets(t, w)
}

func TestSpecRetriesOfInvalidCallsAreCapped(t *testing.T) {
	t.Parallel()
	bad := func() message.ModelStream { return rig.Calls(rig.Call("c1", "ecko", `{}`)) }
	w := rig.Start(t, rig.Plays(bad(), bad(), bad(), bad(), rig.Says("never")), onInvalids(hook.RetryInvalid("no")), rig.Box(rig.Named("echo")))
	out, err := w.Try(t.Context(), "1")
	require.ErrorIs(t, err, runtime.ErrRetries)
	assert.Equal(t, []hook.StopReason{hook.StopRetryLimit, hook.StopError}, rig.Reasons(out))
	assert.Len(t, w.Model.Requests, 4)
	assert.Equal(t, []string{"user 1"}, w.History())
}

func TestSpecACallThatWasCutIsNotRepaired(t *testing.T) {
	t.Parallel()
	h := onInvalids(hook.RepairArgs(`{"s":"made up"}`))
	w := rig.Start(t, rig.Plays(rig.Finishes(message.FinishLength, rig.Call("c1", "x", `{}`), rig.Call("c2", "echo", `{"s":"lon`)), rig.Says("done")), h, rig.Box(rig.Does("echo", rig.Never(t))))
	w.Send("1")
	for _, c := range h.seen {
		assert.Equal(t, "c1", c.Call.ID())
	}
	assert.Contains(t, w.History()[3], "cut off at its token limit")
}

func TestSpecTheModelSeesUnparsableArgumentsUnlessAHookRepairsThem(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]hook.RepairDecision{
		"no opinion": {}, "no better": hook.RepairArgs(`{"y":1}`), "no JSON either": hook.RepairArgs(`{`), "another tool": hook.RenameTool("other"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "other", `{}`), rig.Call("c2", "echo", `{"s":`)), rig.Says("done")), onInvalids(answer), rig.Box(rig.Does("echo", rig.Never(t)), rig.Named("other")))
			assert.Equal(t, "done", w.Send("1").Text())
			assert.Contains(t, w.History()[3], "tool c2 echo invalid_arguments")
			rig.AssertBrackets(t, w)
		})
	}
}

func TestSpecARepairThatIsNoJSONChangesNothing(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "echo", `{"x":"1"}`)), rig.Says("done")), onInvalids(hook.RepairArgs("nonsense")), rig.Box(rig.Does("echo", rig.Never(t))))
	assert.Equal(t, "done", w.Send("1").Text(), "what the model wrote was JSON, so it gets another chance")
	assert.Equal(t, `assistant [c1 echo {"x":"1"}]`, w.History()[1])
	assert.Contains(t, w.History()[2], "x: is unknown")
}

func TestSpecAHookThatFailsAtAnInvalidCallHasNoOpinion(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]hook.Hook{
		"error": point.OnInvalidToolFunc(func(context.Context, *hook.Step, hook.InvalidCall) (hook.RepairDecision, error) {
			return hook.RepairArgs(`{}`), errors.New("broken")
		}),
		"panic": point.OnInvalidToolFunc(func(context.Context, *hook.Step, hook.InvalidCall) (hook.RepairDecision, error) { panic("boom") }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "ecko", `{}`)), rig.Says("done")), h, rig.Box(rig.Named("echo")))
			w.Send("1")
			assert.Contains(t, w.History()[2], "tool c1 ecko not_registered")
			assert.Len(t, w.EventsOf(event.HookFailed), 1)
		})
	}
}

func TestSpecWhatAHookRewritesIsNotRepaired(t *testing.T) {
	t.Parallel()
	h := onInvalids(hook.RepairArgs(`{}`))
	rewrite := point.RewriteArgsFunc(func(context.Context, *hook.ToolCall, message.JSON) (message.JSON, error) {
		return `{"nonsense":1}`, nil
	})
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "echo", `{}`)), rig.Says("done")), h, rewrite, rig.Box(rig.Does("echo", rig.Never(t))))
	w.Send("1")
	assert.Empty(t, h.seen)
	assert.Contains(t, w.History()[2], "tool c1 echo invalid_arguments")
}
