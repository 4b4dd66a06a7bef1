package calls_test

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
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// F9, F10: tools that the caller of a turn gives it, and tools that its client runs.

func TestSpecToolsOfTheCallerAreForOneTurn(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Calls(rig.Call("1", "mine", `{"s":"x"}`), rig.Call("2", "read", `{}`)), rig.Says("done"), rig.Calls(rig.Call("3", "mine", `{}`)), rig.Says("done"))
	w := rig.StartWith(t, m, rig.Configured("read"), nil, rig.Box(rig.Named("read")))
	mine := rig.Box(rig.Named("mine"))
	_, err := w.With(runtime.TurnOptions{Tools: mine})
	require.NoError(t, err)
	assert.Equal(t, []string{"read", "mine"}, m.Offered(0))
	assert.ElementsMatch(t, []string{"mine:x", "read:"}, w.Results())
	assert.Zero(t, mine.Dispatched["read"], "the caller binds its own tools only")

	w.Events = nil
	w.Send("again")
	assert.Equal(t, []string{"read"}, m.Offered(2), "they are gone")
	assert.Equal(t, []string{`tool "mine" is not registered`}, w.Results())
	assert.Equal(t, 1, mine.Dispatched["mine"])
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
	m := rig.Plays(rig.Calls(rig.Call("1", "denied", `{}`), rig.Call("2", "asked", `{}`), rig.Call("3", "free", `{"s":1}`)), rig.Says("done"))
	w := rig.Start(t, m, denies, rig.Box())
	_, err := w.With(runtime.TurnOptions{Tools: rig.Box(rig.Does("denied", rig.Never(t)), rig.Does("asked", rig.Never(t)), rig.Does("free", rig.Never(t)))})
	require.NoError(t, err)
	got := strings.Join(w.Results(), "\n")
	for _, want := range []string{"not that", "refused: nobody is there to approve it", "free: invalid arguments"} {
		assert.Contains(t, got, want)
	}
}

func TestSpecToolsOfTheCallerTakeNoToolsPlace(t *testing.T) {
	t.Parallel()
	hidden := rig.Box(rig.Named("shut"))
	hidden.Scope = hook.Scope{Tools: []string{}}
	cfg := hook.AgentConfig{Name: "a", Senders: []message.SenderRule{{Tools: []string{"ops_*"}, Senders: []string{"eve"}}}}
	w := rig.StartWith(t, rig.Plays(rig.Says("fine")), cfg, nil, rig.Box(rig.Named("read")), hidden)
	object := func(name string) message.Tool { return message.Tool{Name: name, Input: `{"type":"object"}`} }
	for _, tt := range []struct {
		says string
		o    runtime.TurnOptions
	}{
		{`the agent has a tool "read"`, runtime.TurnOptions{Tools: rig.Box(rig.Named("read"))}},
		{`the agent has a tool "read"`, runtime.TurnOptions{ClientTools: []message.Tool{object("read")}}},
		{`the tool "shut" is not available`, runtime.TurnOptions{Tools: rig.Box(rig.Named("shut"))}},
		{`the tool "ops_x" is not available`, runtime.TurnOptions{ClientTools: []message.Tool{object("ops_x")}}},
		{`tool "x" is given twice`, runtime.TurnOptions{Tools: rig.Box(rig.Named("x")), ClientTools: []message.Tool{object("x")}}},
		{`the name is reserved`, runtime.TurnOptions{Tools: rig.Box(rig.Named("final_answer"))}},
		{`the name has to match`, runtime.TurnOptions{Tools: rig.Box(rig.Named("a b"))}},
		{`its schema`, runtime.TurnOptions{ClientTools: []message.Tool{{Name: "x", Input: `{"type":7}`}}}},
		{`its schema`, runtime.TurnOptions{ClientTools: []message.Tool{{Name: "x", Input: `[]`}}}},
		{`its time is -1s`, runtime.TurnOptions{ClientTools: []message.Tool{{Name: "x", Timeout: -time.Second}}}},
		{`more than 262144 bytes`, runtime.TurnOptions{ClientTools: []message.Tool{{Name: "x", Description: strings.Repeat("x", 256<<10)}}}},
		{`a guest has no tools`, runtime.TurnOptions{Guest: "guest", Tools: rig.Box(rig.Named("x"))}},
	} {
		if tt.o.Guest != "" {
			_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "guest"})
			require.NoError(t, err)
		}
		_, err := w.With(tt.o)
		require.ErrorIs(t, err, runtime.ErrTurnTools, tt.says)
		assert.ErrorContains(t, err, tt.says)
	}
	many := make([]message.Tool, 129)
	for i := range many {
		many[i] = object(fmt.Sprint("t", i))
	}
	_, err := w.With(runtime.TurnOptions{ClientTools: many})
	require.ErrorContains(t, err, "more than 128 tools")
	assert.Empty(t, w.Events, "no turn has begun")
	w.Send("go")
}

func TestSpecAChildHasNoToolOfTheCaller(t *testing.T) {
	t.Parallel()
	hands := rig.Tool{Tool: message.Tool{Name: "hand"}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		out, err := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: "a", Input: message.TextInput("do it"), Call: env.Call})
		require.NoError(t, err)
		return message.TextResult(out.Text())
	}}
	m := rig.Plays(rig.Calls(rig.Call("1", "hand", "{}")), rig.Calls(rig.Call("2", "mine", "{}")), rig.Says("child done"), rig.Says("done"))
	w := rig.Start(t, m, rig.Box(hands))
	_, err := w.With(runtime.TurnOptions{Tools: rig.Box(rig.Does("mine", rig.Never(t)))})
	require.NoError(t, err)
	assert.Equal(t, []string{"hand"}, m.Offered(1))
	assert.Contains(t, w.Results()[0], `tool "mine" is not registered`)
}

func TestSpecAHookHidesAToolOfTheCaller(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Calls(rig.Call("1", "mine", "{}")), rig.Says("done"))
	w := rig.Start(t, m, point.TurnToolsFunc(func(context.Context, *hook.Turn) ([]hook.ToolChange, error) {
		return []hook.ToolChange{{Hide: message.ListOf("mine")}}, nil
	}), rig.Box(rig.Named("read")))
	_, err := w.With(runtime.TurnOptions{Tools: rig.Box(rig.Does("mine", rig.Never(t)))})
	require.NoError(t, err)
	assert.Equal(t, []string{"read"}, m.Offered(0))
	assert.Equal(t, []string{`tool "mine" is not available to this agent`}, w.Results())
}

// TestSpecAResumedTurnWithoutTheCallersTools: their calls are answered as not available; with them they run.
func TestSpecAResumedTurnWithoutTheCallersTools(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprint(again), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			slow := rig.NewGate("mine")
			slow.Annotations.ReadOnly = true
			first := rig.Boot(t, dir, rig.Plays(rig.Calls(rig.Call("c1", "mine", `{}`))), runtime.Options{}, rig.Box(rig.Named("read")))
			first.Runs(func(ctx context.Context, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
				o.Tools = rig.Box(slow.Tool)
				return dialog.Send(ctx, first.Conv, message.TextInput("1"), o)
			})
			<-slow.Reached
			first.Dies()
			close(slow.Open)

			m := rig.Plays(rig.Calls(rig.Call("c2", "mine", `{}`)), rig.Says("done"))
			second := rig.Boot(t, dir, m, runtime.Options{}, rig.Box(rig.Named("read")))
			second.Runs(func(ctx context.Context, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
				if again {
					o.Tools = rig.Box(slow.Tool)
				}
				return dialog.Resume(ctx, second.Conv, o)
			})
			out := second.Ends()
			require.NoError(t, out.Returned)
			all := strings.Join(second.History(), "\n")
			if again {
				assert.Equal(t, []string{"read", "mine"}, m.Offered(0))
				assert.Contains(t, all, "tool c1 mine: through\n")
				assert.Contains(t, all, "tool c2 mine: through\n")
				return
			}
			assert.Equal(t, []string{"read"}, m.Offered(0))
			assert.Contains(t, all, `tool c1 mine not_available: tool "mine" is not available to this agent`)
			assert.Contains(t, all, `tool c2 mine not_available: tool "mine" is not available to this agent`)
		})
	}
}

// looks is a tool that the client runs.
func looks() []message.Tool {
	return []message.Tool{{Name: "look", Description: "Looks.", Input: `{"type":"object","properties":{"at":{"type":"string"}},"required":["at"],"additionalProperties":false}`}}
}

func TestSpecTheClientRunsACall(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Calls(rig.Call("1", "look", `{"at":"sea"}`)), rig.Says("done"))
	w := rig.Start(t, m, rig.Box(rig.Named("read")))
	result := message.TextResult("waves")
	result.Trust = message.TrustTrusted
	w.RunsClient(looks(), map[hook.EventKind]func(hook.Event){event.ClientCall: func(ev hook.Event) {
		assert.Equal(t, hook.EventDetail{CallID: "1", Tool: "look", Args: `{"at":"sea"}`}, ev.Detail())
		pending := w.Runtime.Pending()
		require.Len(t, pending, 1)
		assert.Equal(t, "1", pending[0].ID)
		assert.Equal(t, message.JSON(`{"at":"sea"}`), pending[0].Call.Args)
		require.ErrorIs(t, w.Runtime.AnswerCall("another", "1", result), runtime.ErrRequestUnknown)
		require.ErrorIs(t, w.Runtime.Answer(w.Conv.ID(), "1", "ann", hook.Response{}), runtime.ErrRequestUnknown, "an answer to questions is none to a call")
		require.NoError(t, w.Runtime.AnswerCall(w.Conv.ID(), "1", result))
		require.ErrorIs(t, w.Runtime.AnswerCall(w.Conv.ID(), "1", message.TextResult("no waves")), runtime.ErrAnswered)
		assert.Empty(t, w.Runtime.Pending())
	}})
	assert.Equal(t, []string{"read", "look"}, m.Offered(0))
	assert.Equal(t, []string{"waves"}, w.Results())
	assert.Equal(t, message.TrustExternal, w.EventsOf(event.CallResult)[0].Detail().Result.Trust, "the client does not say how far it is trusted")
	require.ErrorIs(t, w.Runtime.AnswerCall(w.Conv.ID(), "1", result), runtime.ErrRequestUnknown, "the turn has ended")
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
	look := rig.Calls(rig.Call("1", "look", `{"at":"sea"}`))
	w := rig.Start(t, rig.Plays(look, rig.Says("done"), rig.Calls(rig.Call("2", "look", `{"at":"sea"}`)), rig.Says("done")), gate, rig.Box())
	answers := map[hook.EventKind]func(hook.Event){event.CallStart: func(ev hook.Event) {
		require.NoError(t, w.Runtime.AnswerCall(w.Conv.ID(), ev.Detail().CallID, message.TextResult("waves")))
		require.ErrorIs(t, w.Runtime.AnswerCall(w.Conv.ID(), ev.Detail().CallID, message.TextResult("other")), runtime.ErrAnswered)
	}}
	w.RunsClient(looks(), answers)
	assert.Equal(t, []string{"waves"}, w.Results())
	deny, w.Events = true, nil
	w.RunsClient(looks(), answers)
	assert.Equal(t, []string{"not that"}, w.Results())
	assert.Empty(t, w.EventsOf(event.ClientCall), "the client does not get what a gate denies")
}

func TestSpecTheArgumentsOfAClientsToolFitItsSchema(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "look", `{}`), rig.Call("2", "look", `{"at":"sea","x":1}`), rig.Call("3", "look", `"sea"`)), rig.Says("done")), rig.Box())
	w.RunsClient(looks(), nil)
	assert.Empty(t, w.EventsOf(event.ClientCall))
	require.Len(t, w.Results(), 3)
	for _, r := range w.Results() {
		assert.Contains(t, r, "look: invalid argument")
	}
}

func TestSpecAClientsResultIsCut(t *testing.T) {
	t.Parallel()
	w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "look", `{"at":"sea"}`)), rig.Says("done")), hook.AgentConfig{Name: "a"}, &runtime.Options{Limits: runtime.Limits{Result: 100}}, rig.Box())
	w.RunsClient(looks(), map[hook.EventKind]func(hook.Event){event.ClientCall: func(hook.Event) {
		require.NoError(t, w.Runtime.AnswerCall(w.Conv.ID(), "1", message.FailedResult(message.FailOperation, strings.Repeat("wave ", 10_000))))
	}})
	r := w.EventsOf(event.CallResult)[0].Detail().Result
	assert.Less(t, len(r.Text()), 300)
	assert.True(t, r.IsError())
}

// TestSpecAClientThatIsGone: the call ends after its time, with an error for the model, or with its turn. Late results are refused.
func TestSpecAClientThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "look", `{"at":"sea"}`)), rig.Says("done")), rig.Box())
		began := time.Now()
		w.RunsClient(looks(), nil)
		assert.Equal(t, 5*time.Minute, time.Since(began))
		r := w.EventsOf(event.CallResult)[0].Detail()
		assert.Equal(t, message.FailTimeout, r.Result.Failure, r.Result.Text())
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
	synctest.Test(t, func(t *testing.T) {
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "look", `{"at":"sea"}`)), rig.Says("done")), rig.Box())
		turn, err := w.Conv.Start(t.Context(), message.TextInput("go"), &runtime.TurnOptions{ClientTools: looks()})
		require.NoError(t, err)
		synctest.Wait()
		require.Len(t, w.Runtime.Pending(), 1)
		turn.Stop(nil)
		out, err := turn.Wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, hook.StopUserRequested, out.Stop)
		assert.Empty(t, w.Runtime.Pending())
		require.ErrorIs(t, w.Runtime.AnswerCall(w.Conv.ID(), "1", message.TextResult("late")), runtime.ErrRequestUnknown)
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

// TestSpecAClientsCallWaitsAgainAfterARestart: under the same id, though a client has not said that its tool may run twice.
func TestSpecAClientsCallWaitsAgainAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := rig.Boot(t, dir, rig.Plays(rig.Calls(rig.Call("c1", "look", `{"at":"sea"}`))), runtime.Options{}, rig.Box(rig.Named("read")))
	first.Runs(func(ctx context.Context, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
		o.ClientTools = looks()
		return dialog.Send(ctx, first.Conv, message.TextInput("1"), o)
	})
	asked := first.Until(event.ClientCall, 1)
	first.Dies()

	m := rig.Plays(rig.Calls(rig.Call("c2", "look", `{"at":"sky"}`)), rig.Says("done"))
	second := rig.Boot(t, dir, m, runtime.Options{}, rig.Box(rig.Named("read")))
	second.Resumes()
	again := second.Until(event.ClientCall, 1)
	assert.Equal(t, asked.Detail(), again.Detail())
	assert.Equal(t, asked.Turn, again.Turn)
	require.NoError(t, second.Runtime.AnswerCall(second.Conv.ID(), "c1", message.TextResult("waves")))
	second.Until(event.ClientCall, 1)
	require.NoError(t, second.Runtime.AnswerCall(second.Conv.ID(), "c2", message.TextResult("stars")))
	require.NoError(t, second.Ends().Returned)
	assert.Equal(t, []string{"read", "look"}, m.Offered(0))
	all := strings.Join(second.History(), "\n")
	assert.Contains(t, all, "tool c1 look: waves")
	assert.Contains(t, all, "tool c2 look: stars")
}

// A client names its tool like one that the parent's agent has turned off: the child then has the real one.
func TestSpecAClientsToolLendsAChildNothing(t *testing.T) {
	t.Parallel()
	ran := false
	type hooks struct {
		Delegate *delegate.Delegate
		Shell    *rig.Toolbox
	}
	h, err := composite.New(&hooks{delegate.New(nil), rig.Box(rig.Does("shell", func(context.Context) message.ToolResult { ran = true; return message.TextResult("rm") }))})
	require.NoError(t, err)
	c := rig.Cast{
		"chief":  rig.Plays(rig.Delegates("writer"), rig.Says("done"), rig.Delegates("writer"), rig.Says("done")),
		"writer": rig.Plays(rig.Calls(rig.Call("1", "shell", "{}")), rig.Says("written"), rig.Calls(rig.Call("2", "shell", "{}")), rig.Says("written")),
	}
	cfg := hook.AgentConfig{Name: "chief"}.WithSection(runtime.LayerSection, `{"Shell":"off"}`)
	w := rig.Stage(t, c, nil, []hook.AgentConfig{cfg, {Name: "writer"}}, h)
	w.Send("go")
	require.False(t, ran)
	_, err = w.With(runtime.TurnOptions{ClientTools: []message.Tool{{Name: "shell"}}})
	require.NoError(t, err)
	assert.False(t, ran, "a child has only the tools that both have")
}

// A child has no calls of a client, and nobody forgets what would be kept for them.
func TestSpecNoEarlyResultForAChild(t *testing.T) {
	t.Parallel()
	var child string
	g := rig.NewGate("wait")
	c := rig.Cast{"chief": rig.Plays(rig.Delegates("writer"), rig.Says("done")), "writer": rig.Plays(rig.Calls(rig.Call("1", "wait", "{}")), rig.Says("written"))}
	w := rig.Stage(t, c, nil, rig.Agents("chief", "writer"), delegate.New(nil), rig.Box(g.Tool),
		point.TurnContextFunc(func(_ context.Context, t *hook.Turn) ([]hook.ContextBlock, error) {
			if t.Parent() != nil {
				child = t.Conversation().ID()
			}
			return nil, nil
		}))
	done := make(chan struct{})
	go func() { defer close(done); w.Send("go") }()
	<-g.Reached
	assert.ErrorIs(t, w.Runtime.AnswerCall(child, "x", message.TextResult("1 MiB")), runtime.ErrRequestUnknown)
	close(g.Open)
	<-done
	err := w.Runtime.AnswerCall(child, "x", message.TextResult("again"))
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
	var many []rig.ToolCall
	for i := range 16 {
		many = append(many, rig.Call(fmt.Sprint("d", i), "look", `{"s":"x"}`))
	}
	m := rig.Plays(rig.Calls(many...), rig.Calls(rig.Call("ok", "look", `{}`)), rig.Says("done"))
	w := rig.Start(t, m, denies)
	var errs []error
	_, err := dialog.Send(t.Context(), w.Conv, message.TextInput("go"), &runtime.TurnOptions{
		ClientTools: []message.Tool{{Name: "look", Timeout: 300 * time.Millisecond}},
		Observe: func(ev hook.Event) {
			if ev.Kind == event.CallStart {
				if err := w.Runtime.AnswerCall(w.Conv.ID(), ev.Detail().CallID, message.TextResult("seen")); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", ev.Detail().CallID, err))
				}
			}
			if ev.Kind == event.CallResult {
				w.Events = append(w.Events, ev)
			}
		},
	})
	require.NoError(t, err)
	assert.Empty(t, errs)
	assert.Equal(t, "seen", w.Results()[16])
}

// An early answer of another kind takes the place of the result of a client's call.
func TestSpecAnEarlyAnswerOfAnotherKindTakesNoPlace(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Calls(rig.Call("c1", "look", `{}`)), rig.Says("done"))
	w := rig.Start(t, m)
	var second error
	_, err := dialog.Send(t.Context(), w.Conv, message.TextInput("go"), &runtime.TurnOptions{
		ClientTools: []message.Tool{{Name: "look", Timeout: 300 * time.Millisecond}},
		Observe: func(ev hook.Event) {
			if ev.Kind == event.CallStart {
				require.NoError(t, w.Runtime.Answer(w.Conv.ID(), "c1", "x", hook.Response{}))
				second = w.Runtime.AnswerCall(w.Conv.ID(), "c1", message.TextResult("seen"))
			}
			w.Events = append(w.Events, ev)
		},
	})
	require.NoError(t, err)
	require.NoError(t, second)
	assert.Equal(t, []string{"seen"}, w.Results())
}

// The id alone names no call: those of several conversations may be equal.
func TestSpecACallIsAnsweredInItsConversation(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Calls(rig.Call("c1", "look", `{}`)), rig.Says("done"))
	w := rig.Start(t, m)
	_, err := dialog.Send(t.Context(), w.Conv, message.TextInput("go"), &runtime.TurnOptions{
		ClientTools: []message.Tool{{Name: "look"}},
		Observe: func(ev hook.Event) {
			if ev.Kind == event.ClientCall {
				assert.Error(t, w.Runtime.AnswerCall("", "c1", message.TextResult("of somebody else")))
				_ = w.Runtime.AnswerCall(w.Conv.ID(), "c1", message.TextResult("mine"))
			}
			w.Events = append(w.Events, ev)
		},
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"mine"}, w.Results())
}

// After a restart the agent has a tool of its own with the name of a client's: it does not run in the client's place, and the
// client's other tools are there.
func TestSpecAClientsCallNeverRunsTheAgentsTool(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := rig.Boot(t, dir, rig.Plays(rig.Calls(rig.Call("c1", "look", `{}`), rig.Call("c2", "other", `{}`))), runtime.Options{}, rig.Box(rig.Named("read")))
	first.Runs(func(ctx context.Context, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
		o.ClientTools = []message.Tool{{Name: "look"}, {Name: "other"}}
		return dialog.Send(ctx, first.Conv, message.TextInput("1"), o)
	})
	first.Until(event.ClientCall, 2)
	first.Dies()
	ran := false
	second := rig.Boot(t, dir, rig.Plays(rig.Says("done")), runtime.Options{}, rig.Box(rig.Named("read"), rig.Does("look", func(context.Context) message.ToolResult { ran = true; return message.TextResult("deleted everything") })))
	second.Resumes()
	assert.Equal(t, "other", second.Until(event.ClientCall, 1).Detail().Tool)
	require.NoError(t, second.Runtime.AnswerCall(second.Conv.ID(), "c2", message.TextResult("seen")))
	second.Ends()
	assert.False(t, ran)
}
