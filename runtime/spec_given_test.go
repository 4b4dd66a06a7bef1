package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// F9, F10: tools that the caller of a turn gives it, and tools that its client runs.

// with runs a turn with the options.
func (w *world) with(o runtime.TurnOptions) (hook.TurnOutcome, error) {
	o.Observe = func(ev hook.Event) { w.events = append(w.events, ev) }
	return dialog.Send(w.t.Context(), w.conv, message.TextInput("go"), &o)
}

func TestSpecToolsOfTheCallerAreForOneTurn(t *testing.T) {
	t.Parallel()
	m := plays(calls(want{"1", "mine", `{"s":"x"}`}, want{"2", "read", `{}`}), says("done"), calls(want{"3", "mine", `{}`}), says("done"))
	w := startWith(t, m, configured("read"), nil, box(named("read")))
	mine := box(named("mine"))
	_, err := w.with(runtime.TurnOptions{Tools: mine})
	require.NoError(t, err)
	assert.Equal(t, []string{"read", "mine"}, m.offered(0))
	assert.ElementsMatch(t, []string{"mine:x", "read:"}, w.results())
	assert.Zero(t, mine.dispatched["read"], "the caller binds its own tools only")

	w.events = nil
	w.send("again")
	assert.Equal(t, []string{"read"}, m.offered(2), "they are gone")
	assert.Equal(t, []string{`tool "mine" is not registered`}, w.results())
	assert.Equal(t, 1, mine.dispatched["mine"])
}

func TestSpecToolsOfTheCallerPassAllGates(t *testing.T) {
	t.Parallel()
	denies := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		switch c.Name() {
		case "denied":
			return hook.DenyTool("not that"), nil
		case "asked":
			return hook.AskTool("sure?"), nil
		}
		return hook.ToolDecision{}, nil
	})
	m := plays(calls(want{"1", "denied", `{}`}, want{"2", "asked", `{}`}, want{"3", "free", `{"s":1}`}), says("done"))
	w := start(t, m, denies, box())
	_, err := w.with(runtime.TurnOptions{Tools: box(does("denied", never(t)), does("asked", never(t)), does("free", never(t)))})
	require.NoError(t, err)
	got := strings.Join(w.results(), "\n")
	for _, want := range []string{"not that", "refused: nobody is there to approve it", "free: invalid arguments"} {
		assert.Contains(t, got, want)
	}
}

func TestSpecToolsOfTheCallerTakeNoToolsPlace(t *testing.T) {
	t.Parallel()
	hidden := box(named("shut"))
	hidden.scope = hook.Scope{Tools: []string{}}
	cfg := hook.AgentConfig{Name: "a", Senders: []message.SenderRule{{Tools: []string{"ops_*"}, Senders: []string{"eve"}}}}
	w := startWith(t, plays(says("fine")), cfg, nil, box(named("read")), hidden)
	object := func(name string) message.Tool { return message.Tool{Name: name, Input: `{"type":"object"}`} }
	for _, tt := range []struct {
		says string
		o    runtime.TurnOptions
	}{
		{`the agent has a tool "read"`, runtime.TurnOptions{Tools: box(named("read"))}},
		{`the agent has a tool "read"`, runtime.TurnOptions{ClientTools: []message.Tool{object("read")}}},
		{`the tool "shut" is not available`, runtime.TurnOptions{Tools: box(named("shut"))}},
		{`the tool "ops_x" is not available`, runtime.TurnOptions{ClientTools: []message.Tool{object("ops_x")}}},
		{`tool "x" is given twice`, runtime.TurnOptions{Tools: box(named("x")), ClientTools: []message.Tool{object("x")}}},
		{`the name is reserved`, runtime.TurnOptions{Tools: box(named("final_answer"))}},
		{`the name has to match`, runtime.TurnOptions{Tools: box(named("a b"))}},
		{`its schema`, runtime.TurnOptions{ClientTools: []message.Tool{{Name: "x", Input: `{"type":7}`}}}},
		{`its schema`, runtime.TurnOptions{ClientTools: []message.Tool{{Name: "x", Input: `[]`}}}},
		{`its time is -1s`, runtime.TurnOptions{ClientTools: []message.Tool{{Name: "x", Timeout: -time.Second}}}},
		{`more than 262144 bytes`, runtime.TurnOptions{ClientTools: []message.Tool{{Name: "x", Description: strings.Repeat("x", 256<<10)}}}},
		{`a guest has no tools`, runtime.TurnOptions{Guest: "guest", Tools: box(named("x"))}},
	} {
		if tt.o.Guest != "" {
			_, err := w.rt.Register(t.Context(), hook.AgentConfig{Name: "guest"})
			require.NoError(t, err)
		}
		_, err := w.with(tt.o)
		require.ErrorIs(t, err, runtime.ErrTurnTools, tt.says)
		assert.ErrorContains(t, err, tt.says)
	}
	many := make([]message.Tool, 129)
	for i := range many {
		many[i] = object(fmt.Sprint("t", i))
	}
	_, err := w.with(runtime.TurnOptions{ClientTools: many})
	require.ErrorContains(t, err, "more than 128 tools")
	assert.Empty(t, w.events, "no turn has begun")
	w.send("go")
}

func TestSpecAChildHasNoToolOfTheCaller(t *testing.T) {
	t.Parallel()
	hands := tool{message.Tool{Name: "hand"}, func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		out, err := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: "a", Input: message.TextInput("do it"), Call: env.Call})
		require.NoError(t, err)
		return message.TextResult(out.Text())
	}}
	m := plays(calls(want{"1", "hand", "{}"}), calls(want{"2", "mine", "{}"}), says("child done"), says("done"))
	w := start(t, m, box(hands))
	_, err := w.with(runtime.TurnOptions{Tools: box(does("mine", never(t)))})
	require.NoError(t, err)
	assert.Equal(t, []string{"hand"}, m.offered(1))
	assert.Contains(t, w.results()[0], `tool "mine" is not registered`)
}

func TestSpecAHookHidesAToolOfTheCaller(t *testing.T) {
	t.Parallel()
	m := plays(calls(want{"1", "mine", "{}"}), says("done"))
	w := start(t, m, point.TurnToolsFunc(func(context.Context, *hook.Turn) ([]hook.ToolChange, error) {
		return []hook.ToolChange{{Hide: message.ListOf("mine")}}, nil
	}), box(named("read")))
	_, err := w.with(runtime.TurnOptions{Tools: box(does("mine", never(t)))})
	require.NoError(t, err)
	assert.Equal(t, []string{"read"}, m.offered(0))
	assert.Equal(t, []string{`tool "mine" is not available to this agent`}, w.results())
}

// TestSpecAResumedTurnWithoutTheCallersTools: their calls are answered as not available; with them they run.
func TestSpecAResumedTurnWithoutTheCallersTools(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprint(again), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			slow := newGate("mine")
			slow.Annotations.ReadOnly = true
			first := boot(t, dir, plays(calls(want{"c1", "mine", `{}`})), runtime.Options{}, box(named("read")))
			first.runs(func(ctx context.Context, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
				o.Tools = box(slow.tool)
				return dialog.Send(ctx, first.conv, message.TextInput("1"), o)
			})
			<-slow.reached
			first.dies()
			close(slow.open)

			m := plays(calls(want{"c2", "mine", `{}`}), says("done"))
			second := boot(t, dir, m, runtime.Options{}, box(named("read")))
			second.runs(func(ctx context.Context, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
				if again {
					o.Tools = box(slow.tool)
				}
				return dialog.Resume(ctx, second.conv, o)
			})
			out := second.ends()
			require.NoError(t, out.err)
			all := strings.Join(second.history(), "\n")
			if again {
				assert.Equal(t, []string{"read", "mine"}, m.offered(0))
				assert.Contains(t, all, "tool c1 mine: through\n")
				assert.Contains(t, all, "tool c2 mine: through\n")
				return
			}
			assert.Equal(t, []string{"read"}, m.offered(0))
			assert.Contains(t, all, `tool c1 mine not_available: tool "mine" is not available to this agent`)
			assert.Contains(t, all, `tool c2 mine not_available: tool "mine" is not available to this agent`)
		})
	}
}

// looks is a tool that the client runs.
func looks() []message.Tool {
	return []message.Tool{{Name: "look", Description: "Looks.", Input: `{"type":"object","properties":{"at":{"type":"string"}},"required":["at"],"additionalProperties":false}`}}
}

// runsClient runs a turn with the client's tools, and acts on the events.
func (w *world) runsClient(tools []message.Tool, on map[hook.EventKind]func(hook.Event)) hook.TurnOutcome {
	w.t.Helper()
	out, err := dialog.Send(w.t.Context(), w.conv, message.TextInput("go"), &runtime.TurnOptions{ClientTools: tools, Observe: func(ev hook.Event) {
		w.events = append(w.events, ev)
		if act := on[ev.Kind]; act != nil {
			act(ev)
		}
	}})
	require.NoError(w.t, err)
	return out
}

func TestSpecTheClientRunsACall(t *testing.T) {
	t.Parallel()
	m := plays(calls(want{"1", "look", `{"at":"sea"}`}), says("done"))
	w := start(t, m, box(named("read")))
	result := message.TextResult("waves")
	result.Trust = message.TrustTrusted
	w.runsClient(looks(), map[hook.EventKind]func(hook.Event){event.ClientCall: func(ev hook.Event) {
		assert.Equal(t, hook.EventDetail{CallID: "1", Tool: "look", Args: `{"at":"sea"}`}, ev.Detail())
		pending := w.rt.Pending()
		require.Len(t, pending, 1)
		assert.Equal(t, "1", pending[0].ID)
		assert.Equal(t, message.JSON(`{"at":"sea"}`), pending[0].Call.Args)
		require.ErrorIs(t, w.rt.AnswerCall("another", "1", result), runtime.ErrRequestUnknown)
		require.ErrorIs(t, w.rt.Answer(w.conv.ID(), "1", "ann", hook.Response{}), runtime.ErrRequestUnknown, "an answer to questions is none to a call")
		require.NoError(t, w.rt.AnswerCall(w.conv.ID(), "1", result))
		require.ErrorIs(t, w.rt.AnswerCall(w.conv.ID(), "1", message.TextResult("no waves")), runtime.ErrAnswered)
		assert.Empty(t, w.rt.Pending())
	}})
	assert.Equal(t, []string{"read", "look"}, m.offered(0))
	assert.Equal(t, []string{"waves"}, w.results())
	assert.Equal(t, message.TrustExternal, w.eventsOf(event.CallResult)[0].Detail().Result.Trust, "the client does not say how far it is trusted")
	require.ErrorIs(t, w.rt.AnswerCall(w.conv.ID(), "1", result), runtime.ErrRequestUnknown, "the turn has ended")
}

// TestSpecAnEarlyResultCounts: who has seen call_start need not wait until the call does. A second result is refused, and one of
// a call that a gate denies is dropped.
func TestSpecAnEarlyResultCounts(t *testing.T) {
	t.Parallel()
	deny := false
	gate := point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
		if deny {
			return hook.DenyTool("not that"), nil
		}
		return hook.ToolDecision{}, nil
	})
	look := calls(want{"1", "look", `{"at":"sea"}`})
	w := start(t, plays(look, says("done"), calls(want{"2", "look", `{"at":"sea"}`}), says("done")), gate, box())
	answers := map[hook.EventKind]func(hook.Event){event.CallStart: func(ev hook.Event) {
		require.NoError(t, w.rt.AnswerCall(w.conv.ID(), ev.Detail().CallID, message.TextResult("waves")))
		require.ErrorIs(t, w.rt.AnswerCall(w.conv.ID(), ev.Detail().CallID, message.TextResult("other")), runtime.ErrAnswered)
	}}
	w.runsClient(looks(), answers)
	assert.Equal(t, []string{"waves"}, w.results())
	deny, w.events = true, nil
	w.runsClient(looks(), answers)
	assert.Equal(t, []string{"not that"}, w.results())
	assert.Empty(t, w.eventsOf(event.ClientCall), "the client does not get what a gate denies")
}

func TestSpecTheArgumentsOfAClientsToolFitItsSchema(t *testing.T) {
	t.Parallel()
	w := start(t, plays(calls(want{"1", "look", `{}`}, want{"2", "look", `{"at":"sea","x":1}`}, want{"3", "look", `"sea"`}), says("done")), box())
	w.runsClient(looks(), nil)
	assert.Empty(t, w.eventsOf(event.ClientCall))
	require.Len(t, w.results(), 3)
	for _, r := range w.results() {
		assert.Contains(t, r, "look: invalid argument")
	}
}

func TestSpecAClientsResultIsCut(t *testing.T) {
	t.Parallel()
	w := startWith(t, plays(calls(want{"1", "look", `{"at":"sea"}`}), says("done")), hook.AgentConfig{Name: "a"}, &runtime.Options{Limits: runtime.Limits{Result: 100}}, box())
	w.runsClient(looks(), map[hook.EventKind]func(hook.Event){event.ClientCall: func(hook.Event) {
		require.NoError(t, w.rt.AnswerCall(w.conv.ID(), "1", message.FailedResult(message.FailOperation, strings.Repeat("wave ", 10_000))))
	}})
	r := w.eventsOf(event.CallResult)[0].Detail().Result
	assert.Less(t, len(r.Text()), 300)
	assert.True(t, r.IsError())
}

// TestSpecAClientThatIsGone: the call ends after its time, with an error for the model, or with its turn. Late results are refused.
func TestSpecAClientThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t, plays(calls(want{"1", "look", `{"at":"sea"}`}), says("done")), box())
		began := time.Now()
		w.runsClient(looks(), nil)
		assert.Equal(t, 5*time.Minute, time.Since(began))
		r := w.eventsOf(event.CallResult)[0].Detail()
		assert.Equal(t, message.FailTimeout, r.Result.Failure, r.Result.Text())
		require.NoError(t, w.rt.Close(t.Context()))
	})
	synctest.Test(t, func(t *testing.T) {
		w := start(t, plays(calls(want{"1", "look", `{"at":"sea"}`}), says("done")), box())
		turn, err := w.conv.Start(t.Context(), message.TextInput("go"), &runtime.TurnOptions{ClientTools: looks()})
		require.NoError(t, err)
		synctest.Wait()
		require.Len(t, w.rt.Pending(), 1)
		turn.Stop(nil)
		out, err := turn.Wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, hook.StopUserRequested, out.Stop)
		assert.Empty(t, w.rt.Pending())
		require.ErrorIs(t, w.rt.AnswerCall(w.conv.ID(), "1", message.TextResult("late")), runtime.ErrRequestUnknown)
		require.NoError(t, w.rt.Close(t.Context()))
	})
}

// TestSpecAClientsCallWaitsAgainAfterARestart: under the same id, though a client has not said that its tool may run twice.
func TestSpecAClientsCallWaitsAgainAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := boot(t, dir, plays(calls(want{"c1", "look", `{"at":"sea"}`})), runtime.Options{}, box(named("read")))
	first.runs(func(ctx context.Context, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
		o.ClientTools = looks()
		return dialog.Send(ctx, first.conv, message.TextInput("1"), o)
	})
	asked := first.until(event.ClientCall, 1)
	first.dies()

	m := plays(calls(want{"c2", "look", `{"at":"sky"}`}), says("done"))
	second := boot(t, dir, m, runtime.Options{}, box(named("read")))
	second.resumes()
	again := second.until(event.ClientCall, 1)
	assert.Equal(t, asked.Detail(), again.Detail())
	assert.Equal(t, asked.Turn, again.Turn)
	require.NoError(t, second.rt.AnswerCall(second.conv.ID(), "c1", message.TextResult("waves")))
	second.until(event.ClientCall, 1)
	require.NoError(t, second.rt.AnswerCall(second.conv.ID(), "c2", message.TextResult("stars")))
	require.NoError(t, second.ends().err)
	assert.Equal(t, []string{"read", "look"}, m.offered(0))
	all := strings.Join(second.history(), "\n")
	assert.Contains(t, all, "tool c1 look: waves")
	assert.Contains(t, all, "tool c2 look: stars")
}

// A client names its tool like one that the parent's agent has turned off: the child then has the real one.
func TestSpecAClientsToolLendsAChildNothing(t *testing.T) {
	t.Parallel()
	ran := false
	type hooks struct {
		Delegate *delegate.Delegate
		Shell    *toolbox
	}
	h, err := composite.New(&hooks{delegate.New(nil), box(does("shell", func(context.Context) message.ToolResult { ran = true; return message.TextResult("rm") }))})
	require.NoError(t, err)
	c := cast{
		"chief":  plays(delegates("writer"), says("done"), delegates("writer"), says("done")),
		"writer": plays(calls(want{"1", "shell", "{}"}), says("written"), calls(want{"2", "shell", "{}"}), says("written")),
	}
	cfg := hook.AgentConfig{Name: "chief"}.WithSection(runtime.LayerSection, `{"Shell":"off"}`)
	w := stage(t, c, nil, []hook.AgentConfig{cfg, {Name: "writer"}}, h)
	w.send("go")
	require.False(t, ran)
	_, err = w.with(runtime.TurnOptions{ClientTools: []message.Tool{{Name: "shell"}}})
	require.NoError(t, err)
	assert.False(t, ran, "a child has only the tools that both have")
}

// A child has no calls of a client, and nobody forgets what would be kept for them.
func TestSpecNoEarlyResultForAChild(t *testing.T) {
	t.Parallel()
	var child string
	g := newGate("wait")
	c := cast{"chief": plays(delegates("writer"), says("done")), "writer": plays(calls(want{"1", "wait", "{}"}), says("written"))}
	w := stage(t, c, nil, agents("chief", "writer"), delegate.New(nil), box(g.tool),
		point.TurnContextFunc(func(_ context.Context, t *hook.Turn) ([]hook.ContextBlock, error) {
			if t.Parent() != nil {
				child = t.Conversation().ID()
			}
			return nil, nil
		}))
	done := make(chan struct{})
	go func() { defer close(done); w.send("go") }()
	<-g.reached
	assert.ErrorIs(t, w.rt.AnswerCall(child, "x", message.TextResult("1 MiB")), runtime.ErrRequestUnknown)
	close(g.open)
	<-done
	err := w.rt.AnswerCall(child, "x", message.TextResult("again"))
	assert.ErrorIs(t, err, runtime.ErrRequestUnknown, "after the end of the turn nothing is kept")
}

// docs: an early result is dropped if a gate denies the call. 16 of them fill the table instead.
func TestSpecAnEarlyResultOfADeniedCallIsDropped(t *testing.T) {
	t.Parallel()
	denies := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		if c.Args() != `{}` {
			return hook.DenyTool("not that"), nil
		}
		return hook.ToolDecision{}, nil
	})
	var many []want
	for i := range 16 {
		many = append(many, want{fmt.Sprint("d", i), "look", `{"s":"x"}`})
	}
	m := plays(calls(many...), calls(want{"ok", "look", `{}`}), says("done"))
	w := start(t, m, denies)
	var errs []error
	_, err := dialog.Send(t.Context(), w.conv, message.TextInput("go"), &runtime.TurnOptions{
		ClientTools: []message.Tool{{Name: "look", Timeout: 300 * time.Millisecond}},
		Observe: func(ev hook.Event) {
			if ev.Kind == event.CallStart {
				if err := w.rt.AnswerCall(w.conv.ID(), ev.Detail().CallID, message.TextResult("seen")); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", ev.Detail().CallID, err))
				}
			}
			if ev.Kind == event.CallResult {
				w.events = append(w.events, ev)
			}
		},
	})
	require.NoError(t, err)
	assert.Empty(t, errs)
	assert.Equal(t, "seen", w.results()[16])
}

// An early answer of another kind takes the place of the result of a client's call.
func TestSpecAnEarlyAnswerOfAnotherKindTakesNoPlace(t *testing.T) {
	t.Parallel()
	m := plays(calls(want{"c1", "look", `{}`}), says("done"))
	w := start(t, m)
	var second error
	_, err := dialog.Send(t.Context(), w.conv, message.TextInput("go"), &runtime.TurnOptions{
		ClientTools: []message.Tool{{Name: "look", Timeout: 300 * time.Millisecond}},
		Observe: func(ev hook.Event) {
			if ev.Kind == event.CallStart {
				require.NoError(t, w.rt.Answer(w.conv.ID(), "c1", "x", hook.Response{}))
				second = w.rt.AnswerCall(w.conv.ID(), "c1", message.TextResult("seen"))
			}
			w.events = append(w.events, ev)
		},
	})
	require.NoError(t, err)
	require.NoError(t, second)
	assert.Equal(t, []string{"seen"}, w.results())
}

// The id alone names no call: those of several conversations may be equal.
func TestSpecACallIsAnsweredInItsConversation(t *testing.T) {
	t.Parallel()
	m := plays(calls(want{"c1", "look", `{}`}), says("done"))
	w := start(t, m)
	_, err := dialog.Send(t.Context(), w.conv, message.TextInput("go"), &runtime.TurnOptions{
		ClientTools: []message.Tool{{Name: "look"}},
		Observe: func(ev hook.Event) {
			if ev.Kind == event.ClientCall {
				assert.Error(t, w.rt.AnswerCall("", "c1", message.TextResult("of somebody else")))
				_ = w.rt.AnswerCall(w.conv.ID(), "c1", message.TextResult("mine"))
			}
			w.events = append(w.events, ev)
		},
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"mine"}, w.results())
}

// After a restart the agent has a tool of its own with the name of a client's: it does not run in the client's place, and the
// client's other tools are there.
func TestSpecAClientsCallNeverRunsTheAgentsTool(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := boot(t, dir, plays(calls(want{"c1", "look", `{}`}, want{"c2", "other", `{}`})), runtime.Options{}, box(named("read")))
	first.runs(func(ctx context.Context, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
		o.ClientTools = []message.Tool{{Name: "look"}, {Name: "other"}}
		return dialog.Send(ctx, first.conv, message.TextInput("1"), o)
	})
	first.until(event.ClientCall, 2)
	first.dies()
	ran := false
	second := boot(t, dir, plays(says("done")), runtime.Options{}, box(named("read"), does("look", func(context.Context) message.ToolResult { ran = true; return message.TextResult("deleted everything") })))
	second.resumes()
	assert.Equal(t, "other", second.until(event.ClientCall, 1).Detail().Tool)
	require.NoError(t, second.rt.AnswerCall(second.conv.ID(), "c2", message.TextResult("seen")))
	second.ends()
	assert.False(t, ran)
}
