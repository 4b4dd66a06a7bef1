package runtime_test

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
		call    want
		answers []hook.RepairDecision
		history []string
	}{
		{"its arguments", want{"c1", "echo", `{"x":"1"}`}, []hook.RepairDecision{hook.RepairArgs(` {"s": "y"}`)},
			[]string{`assistant [c1 echo {"s":"y"}]`, "tool c1 echo: echo:y"}},
		{"arguments that are no JSON", want{"c1", "echo", `{"s":"y`}, []hook.RepairDecision{hook.RepairArgs(`{"s":"y"}`)},
			[]string{`assistant [c1 echo {"s":"y"}]`, "tool c1 echo: echo:y"}},
		{"its name", want{"c1", "ecko", `{"s":"y"}`}, []hook.RepairDecision{hook.RenameTool("echo")},
			[]string{`assistant [c1 echo {"s":"y"}]`, "tool c1 echo: echo:y"}},
		{"a name that no provider takes back", want{"c1", "no such tool!", `{}`}, []hook.RepairDecision{hook.RenameTool("echo")},
			[]string{`assistant [c1 echo {}]`, "tool c1 echo: echo:"}},
		{"name, then arguments", want{"c1", "ecko", `{"x":"1"}`}, []hook.RepairDecision{hook.RenameTool("echo"), hook.RepairArgs(`{}`)},
			[]string{`assistant [c1 echo {}]`, "tool c1 echo: echo:"}},
		{"arguments, then name", want{"c1", "ecko", `{"x":"1"}`}, []hook.RepairDecision{hook.RepairArgs(`{}`), hook.RenameTool("echo")},
			[]string{`assistant [c1 echo {}]`, "tool c1 echo: echo:"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var original []string
			before := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
				original = append(original, c.OriginalName()+" "+string(c.Original()))
				assert.Equal(t, "echo", c.Tool().Name)
				assert.Equal(t, boxSchema, string(c.Tool().Input), "the descriptor is that of the tool that runs")
				return hook.ToolDecision{}, nil
			})
			w := start(t, plays(calls(tc.call), says("done")), onInvalids(tc.answers...), before, box(named("echo")))
			assert.Equal(t, "done", w.send("1").Text())
			assert.Equal(t, tc.history, w.history()[1:3])
			assert.Equal(t, []string{tc.call.tool + " " + tc.call.args}, original, "the audit has what the model wrote")
			assert.Equal(t, "echo", w.eventsOf(event.CallsBegin)[0].Detail().Tools.At(0))
			require.Len(t, w.eventsOf(event.Diagnostic), 1)
			assert.Contains(t, w.eventsOf(event.Diagnostic)[0].Text, "call c1: H0 has repaired it")
			assert.Equal(t, event.CodeCallRepaired, w.eventsOf(event.Diagnostic)[0].Detail().Code)
			assertBrackets(t, w)
		})
	}
}

func TestSpecTheViewOfAnInvalidCall(t *testing.T) {
	t.Parallel()
	h := onInvalids(hook.RepairArgs(`{"y":"2"}`))
	b := box(named("echo"), named("hidden"))
	b.scope.Tools = []string{"echo"}
	m := plays(calls(want{"c1", "ecko", `{}`}, want{"c2", "hidden", `{}`}, want{"c3", "echo", `{"x":"1"}`}, want{"c4", "echo", `{}`}), says("done"))
	w := start(t, m, h, b)
	w.send("1")
	require.Len(t, h.seen, 6, "each call twice, and none that can be bound")
	for i, tc := range []struct {
		id, tool, schema string
		kind             message.FailureKind
		reason           string
	}{
		{"c1", "ecko", "", message.FailNotRegistered, `did you mean "echo"?`},
		{"c2", "hidden", boxSchema, message.FailNotAvailable, `tool "hidden" is not available`},
		{"c3", "echo", boxSchema, message.FailArguments, "x: is unknown"},
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
	lines := w.history()
	assert.Equal(t, `assistant [c1 ecko {}] [c2 hidden {}] [c3 echo {"x":"1"}] [c4 echo {}]`, lines[1], "where no repair helped, all is as the model made it")
	assert.Contains(t, lines[4], "x: is unknown", "with the error of that")
	assert.Equal(t, "tool c4 echo: echo:", lines[5])
}

func TestSpecARepairWidensNoScope(t *testing.T) {
	t.Parallel()
	b := box(named("echo"), does("secret", never(t)))
	b.scope.Tools = []string{"echo"}
	w := start(t, plays(calls(want{"c1", "ecko", `{}`}), says("done")), onInvalids(hook.RenameTool("secret"), hook.RenameTool("nobody")), b)
	w.send("1")
	assert.Contains(t, w.history()[2], "tool c1 ecko not_registered")
	assert.Zero(t, b.dispatched["secret"], "no owner was asked")
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
	w := start(t, plays(calls(want{"c1", "ecko", `{}`}), says("done")), onInvalids(hook.RenameTool("echo")), rewrite, deny, box(does("echo", never(t))))
	w.send("1")
	assert.Equal(t, []string{"rewrite {}", "before echo"}, log)
	assert.Equal(t, "tool c1 echo denied: no", w.history()[2])
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
	b := box(named("echo"))
	w := start(t, plays(calls(want{"c1", "echo", `{}`}, want{"c2", "x", `{}`}, want{"c3", "y", `{}`}), says("done")), repair, before, b)
	w.send("1")
	assert.Equal(t, []string{"repair c2", "repair c3", "before c1", "before c2", "before c3"}, log)
	assert.Equal(t, 3, b.dispatched["echo"], "each is bound once")
}

func TestSpecARetryOfAnInvalidCallDropsTheWholeReply(t *testing.T) {
	t.Parallel()
	after := 0
	judge := point.AfterToolFunc(func(context.Context, *hook.ToolCall, hook.ToolOutcome) (hook.OutcomeDecision, error) {
		after++
		return hook.OutcomeDecision{}, nil
	})
	bad := chunks(text("let me see"), message.Chunk{Kind: message.ChunkCallStart, CallID: "c1", Tool: "echo"}, message.Chunk{Kind: message.ChunkCallArgs, Text: "{}"}, message.Chunk{Kind: message.ChunkCallEnd},
		message.Chunk{Kind: message.ChunkCallStart, Index: 1, CallID: "c2", Tool: "ecko"}, message.Chunk{Kind: message.ChunkCallEnd, Index: 1}, finish(message.FinishTools))
	m := plays(bad, calls(want{"c1", "echo", `{}`}), says("done"))
	w := start(t, m, onInvalids(hook.RetryInvalid("there is no ecko")), judge, box(named("echo")))
	out := w.send("1")
	assert.Equal(t, []string{"user 1", "assistant [c1 echo {}]", "tool c1 echo: echo:", "assistant done"}, w.history(), "the id is free again")
	assert.Equal(t, 1, after)
	assert.Equal(t, 1, out.Calls)
	assert.Equal(t, 2, out.Steps)
	assert.Equal(t, message.Usage{Input: 30, Output: 15}, out.Usage, "what was dropped has its price")
	require.Len(t, w.eventsOf(event.TurnRetried), 1)
	require.Len(t, w.eventsOf(event.CallsBegin), 1)
	last := m.requests[1].Messages.At(m.requests[1].Messages.Len() - 1)
	assert.Equal(t, "there is no ecko", last.Text())
	assert.Equal(t, "feedback", last.Label)
	assertBrackets(t, w)
}

func TestSpecRetriesOfInvalidCallsAreCapped(t *testing.T) {
	t.Parallel()
	bad := func() message.ModelStream { return calls(want{"c1", "ecko", `{}`}) }
	w := start(t, plays(bad(), bad(), bad(), bad(), says("never")), onInvalids(hook.RetryInvalid("no")), box(named("echo")))
	out, err := w.try(t.Context(), "1")
	require.ErrorIs(t, err, runtime.ErrRetries)
	assert.Equal(t, []hook.StopReason{hook.StopRetryLimit, hook.StopError}, reasons(out))
	assert.Len(t, w.model.requests, 4)
	assert.Equal(t, []string{"user 1"}, w.history())
}

func TestSpecACallThatWasCutIsNotRepaired(t *testing.T) {
	t.Parallel()
	h := onInvalids(hook.RepairArgs(`{"s":"made up"}`))
	w := start(t, plays(finishes(message.FinishLength, want{"c1", "x", `{}`}, want{"c2", "echo", `{"s":"lon`}), says("done")), h, box(does("echo", never(t))))
	w.send("1")
	for _, c := range h.seen {
		assert.Equal(t, "c1", c.Call.ID())
	}
	assert.Contains(t, w.history()[3], "cut off at its token limit")
}

func TestSpecTheModelSeesUnparsableArgumentsUnlessAHookRepairsThem(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]hook.RepairDecision{
		"no opinion": {}, "no better": hook.RepairArgs(`{"y":1}`), "no JSON either": hook.RepairArgs(`{`), "another tool": hook.RenameTool("other"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, plays(calls(want{"c1", "other", `{}`}, want{"c2", "echo", `{"s":`}), says("done")), onInvalids(answer), box(does("echo", never(t)), named("other")))
			assert.Equal(t, "done", w.send("1").Text())
			assert.Contains(t, w.history()[3], "tool c2 echo invalid_arguments")
			assertBrackets(t, w)
		})
	}
}

func TestSpecARepairThatIsNoJSONChangesNothing(t *testing.T) {
	t.Parallel()
	w := start(t, plays(calls(want{"c1", "echo", `{"x":"1"}`}), says("done")), onInvalids(hook.RepairArgs("nonsense")), box(does("echo", never(t))))
	assert.Equal(t, "done", w.send("1").Text(), "what the model wrote was JSON, so it gets another chance")
	assert.Equal(t, `assistant [c1 echo {"x":"1"}]`, w.history()[1])
	assert.Contains(t, w.history()[2], "x: is unknown")
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
			w := start(t, plays(calls(want{"c1", "ecko", `{}`}), says("done")), h, box(named("echo")))
			w.send("1")
			assert.Contains(t, w.history()[2], "tool c1 ecko not_registered")
			assert.Len(t, w.eventsOf(event.HookFailed), 1)
		})
	}
}

func TestSpecWhatAHookRewritesIsNotRepaired(t *testing.T) {
	t.Parallel()
	h := onInvalids(hook.RepairArgs(`{}`))
	rewrite := point.RewriteArgsFunc(func(context.Context, *hook.ToolCall, message.JSON) (message.JSON, error) {
		return `{"nonsense":1}`, nil
	})
	w := start(t, plays(calls(want{"c1", "echo", `{}`}), says("done")), h, rewrite, box(does("echo", never(t))))
	w.send("1")
	assert.Empty(t, h.seen)
	assert.Contains(t, w.history()[2], "tool c1 echo invalid_arguments")
}
