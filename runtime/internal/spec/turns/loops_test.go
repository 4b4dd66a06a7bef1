package turns_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
)

// An agent has a loop. Each makes its own model calls, and both pass the same points.

// planner is an agent that plans and executes.
func planner() hook.AgentConfig {
	return hook.AgentConfig{Name: "a", Instructions: "Help.", Loop: message.LoopPlanAndExecute}
}

// asked is one line for each request: what it may call, the form of its reply, and the beginning
// of its last message.
func asked(m *rig.Model) []string {
	out := make([]string, len(m.Requests))
	for i, req := range m.Requests {
		last := req.Messages.At(req.Messages.Len() - 1)
		may := "tools"
		if req.Model.Choice.Mode == message.ToolChoiceNone {
			may = "no tools"
		}
		what, _, _ := strings.Cut(last.Text(), "\n")
		what, _, _ = strings.Cut(what, ":")
		what, _, _ = strings.Cut(what, ";")
		if last.Role == message.RoleTool {
			what = "result " + last.CallID
		}
		out[i] = strings.TrimSpace(fmt.Sprintf("%s %s | %s", may, req.Model.Format.Name, what))
	}
	return out
}

func TestSpecToolCallingAsksUntilNoToolIsCalled(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Calls(rig.Call("c1", "echo", `{"s":"x"}`)), rig.Says("done"))
	w := rig.StartWith(t, m, hook.AgentConfig{Name: "a", Loop: message.LoopToolCalling}, nil, rig.Box(rig.Named("echo")))
	assert.Equal(t, "done", w.Send("go").Text())
	assert.Equal(t, []string{"tools  | go", "tools  | result c1"}, asked(m))
	assert.Empty(t, w.EventsOf(event.PlanUpdated))
}

// aPlannedTurn has a plan of two steps, of which the second is revised.
func aPlannedTurn() *rig.Model {
	return rig.Plays(
		rig.Says(`{"steps":["look","guess"]}`),
		rig.Calls(rig.Call("c1", "echo", `{"s":"x"}`)), rig.Says("x is there"),
		rig.Says(`{"decision":"revise","steps":["count"]}`),
		rig.Says("one x"),
		rig.Says(`{"decision":"continue","steps":[]}`),
		rig.Says("There is one x."),
	)
}

func TestSpecPlanAndExecutePlansExecutesDecidesAndAnswers(t *testing.T) {
	t.Parallel()
	m := aPlannedTurn()
	w := rig.StartWith(t, m, planner(), nil, rig.Box(rig.Named("echo")))
	out := w.Send("go")
	assert.Equal(t, "There is one x.", out.Text())
	assert.Equal(t, hook.StopCompleted, out.Stop)
	assert.Equal(t, 7, out.Steps)
	assert.Equal(t, []string{
		"no tools plan | Make a plan for what was asked of you",
		"tools  | You carry out a plan, one step at a time",
		"tools  | You carry out a plan, one step at a time",
		"no tools decision | A step of the plan is done",
		"tools  | You carry out a plan, one step at a time",
		"no tools decision | A step of the plan is done",
		"no tools  | The plan is carried out",
	}, asked(m))
	assert.Equal(t, []string{
		"user go", `assistant [c1 echo {"s":"x"}]`, "tool c1 echo: echo:x", "assistant x is there", "assistant one x", "assistant There is one x.",
	}, w.History(), "plans and decisions are not in the history")
	assert.Equal(t, []string{
		"1. [ ] look\n2. [ ] guess", "1. [x] look\n2. [ ] guess", "1. [x] look\n2. [ ] count", "1. [x] look\n2. [x] count",
	}, textOf(w.EventsOf(event.PlanUpdated)))
	shown := strings.Join(textOf(w.EventsOf(event.TextDelta)), "|")
	assert.Equal(t, "x is there|one x|There is one x.", shown, "nobody sees the JSON of a plan")

	require.Len(t, m.Requests, 7)
	second := m.Requests[1].Messages
	assert.Contains(t, second.At(second.Len()-1).Text(), "1. [ ] look\n2. [ ] guess", "the plan is in view")
	third := m.Requests[4].Messages
	assert.Contains(t, third.At(third.Len()-2).Text(), "x is there", "and so are earlier results")
	assert.Equal(t, m.Requests[0].System, m.Requests[6].System)
	for i, req := range m.Requests {
		assert.Equal(t, m.Requests[0].Tools, req.Tools, "request %d", i)
		assert.Less(t, req.Stable, req.Messages.Len(), "the prompt of the phase is not stable")
	}
}

func textOf(events []hook.Event) []string {
	out := make([]string, len(events))
	for i, ev := range events {
		out[i] = ev.Text
	}
	return out
}

// pointsOfStep records which points a step passes, in their order.
type pointsOfStep struct {
	hook.Nop
	mu    sync.Mutex
	steps map[int][]string
}

func (p *pointsOfStep) saw(step *hook.Step, point string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps[step.Number()] = append(p.steps[step.Number()], point)
}

func (p *pointsOfStep) BeforeStep(_ context.Context, s *hook.Step) (hook.StepDecision, error) {
	p.saw(s, "BeforeStep")
	return hook.StepDecision{}, nil
}

func (p *pointsOfStep) RewriteRequest(_ context.Context, s *hook.Step, r message.ModelRequest) (message.ModelRequest, error) {
	p.saw(s, "RewriteRequest")
	return r, nil
}

func (p *pointsOfStep) BeforeModel(_ context.Context, s *hook.Step, _ message.ModelRequest) (hook.ModelDecision, error) {
	p.saw(s, "BeforeModel")
	return hook.ModelDecision{}, nil
}

func (p *pointsOfStep) WrapModel(ctx context.Context, s *hook.Step, _ message.ModelRequest, next hook.ModelNext) message.ModelStream {
	p.saw(s, "WrapModel")
	return next.Stream(ctx)
}

func (p *pointsOfStep) RewriteReply(_ context.Context, s *hook.Step, r message.ModelReply) (message.ModelReply, error) {
	p.saw(s, "RewriteReply")
	return r, nil
}

func (p *pointsOfStep) AfterModel(_ context.Context, s *hook.Step, _ message.ModelReply) (hook.ReplyDecision, error) {
	p.saw(s, "AfterModel")
	return hook.ReplyDecision{}, nil
}

func (p *pointsOfStep) BeforeTool(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
	p.saw(c.Step(), "BeforeTool")
	return hook.ToolDecision{}, nil
}

func (p *pointsOfStep) AfterTool(_ context.Context, c *hook.ToolCall, _ hook.ToolOutcome) (hook.OutcomeDecision, error) {
	p.saw(c.Step(), "AfterTool")
	return hook.OutcomeDecision{}, nil
}

func (p *pointsOfStep) AfterStep(_ context.Context, s *hook.Step, _ hook.StepOutcome) (hook.StepDecision, error) {
	p.saw(s, "AfterStep")
	return hook.StepDecision{}, nil
}

func TestSpecEveryStepOfEveryLoopPassesTheSamePoints(t *testing.T) {
	t.Parallel()
	base := []string{"BeforeStep", "RewriteRequest", "BeforeModel", "WrapModel", "RewriteReply", "AfterModel"}
	plain := append(append([]string(nil), base...), "AfterStep")
	withCall := append(append([]string(nil), base...), "BeforeTool", "AfterTool", "AfterStep")
	for _, c := range []struct {
		loop  message.Loop
		plays *rig.Model
		call  int // the step that calls a tool
		steps int
	}{
		{message.LoopToolCalling, rig.Plays(rig.Calls(rig.Call("c1", "echo", `{"s":"x"}`)), rig.Says("done")), 1, 2},
		{message.LoopPlanAndExecute, aPlannedTurn(), 2, 7},
	} {
		t.Run(string(c.loop), func(t *testing.T) {
			t.Parallel()
			seen := &pointsOfStep{steps: map[int][]string{}}
			w := rig.StartWith(t, c.plays, hook.AgentConfig{Name: "a", Loop: c.loop}, nil, rig.Box(rig.Named("echo")), seen)
			w.Send("go")
			require.Len(t, seen.steps, c.steps)
			for n := 1; n <= c.steps; n++ {
				want := plain
				if n == c.call {
					want = withCall
				}
				assert.Equal(t, want, seen.steps[n], "step %d", n)
			}
			for _, kind := range []hook.EventKind{event.StepStart, event.StepEnd, event.Usage} {
				assert.Len(t, w.EventsOf(kind), c.steps, "%s", kind)
			}
		})
	}
}

func TestSpecAPlanThatCannotBeReadFailsTheTurn(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Says("First I look."), rig.Calls(rig.Call("c1", "pay", `{}`)), rig.Says(`{"steps":7}`))
	pay := rig.NewGate("pay")
	w := rig.StartWith(t, m, planner(), nil, rig.Box(pay.Tool))
	out, err := w.Try(t.Context(), "go")
	require.ErrorIs(t, err, runtime.ErrPlan)
	assert.Equal(t, hook.StopError, out.Stop)
	assert.Len(t, m.Requests, 3)
	assert.Empty(t, pay.Reached, "a planning call runs no tool, whatever the model says")
	last := m.Requests[2].Messages
	assert.Contains(t, last.At(last.Len()-1).Text(), "Your last reply could not be used: it is empty")
	assert.Equal(t, []string{"user go"}, w.History())
}

func TestSpecATurnWithoutWorkHasNoSteps(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Says(`{"steps":[]}`), rig.Says("Hello."))
	w := rig.StartWith(t, m, planner(), nil)
	assert.Equal(t, "Hello.", w.Send("hi").Text())
	assert.Empty(t, w.EventsOf(event.PlanUpdated))
}

func TestSpecAStepOfAPlanHasABoundedNumberOfModelCalls(t *testing.T) {
	t.Parallel()
	replies := []message.ModelStream{rig.Says(`{"steps":["look"]}`)}
	for i := range 8 {
		replies = append(replies, rig.Calls(rig.Call(fmt.Sprintf("c%d", i), "echo", `{"s":"x"}`)))
	}
	m := rig.Plays(append(replies, rig.Says(`{"decision":"done","steps":[]}`), rig.Says("enough"))...)
	w := rig.StartWith(t, m, planner(), nil, rig.Box(rig.Named("echo")))
	assert.Equal(t, "enough", w.Send("go").Text())
	lines := asked(m)
	require.Len(t, lines, 11)
	assert.Equal(t, "tools  | You carry out a plan, one step at a time", lines[7])
	assert.Equal(t, "no tools  | You carry out a plan, one step at a time", lines[8])
	assert.Len(t, w.EventsOf(event.CallResult), 7, "the call that came all the same was dropped")
}

func TestSpecAStepLimitEndsAPlannedTurn(t *testing.T) {
	t.Parallel()
	cfg := planner()
	cfg.Limits.Steps = 3
	m := aPlannedTurn()
	w := rig.StartWith(t, m, cfg, nil, rig.Box(rig.Named("echo")))
	assert.Equal(t, hook.StopStepsLimit, w.Send("go").Stop)
	assert.Len(t, m.Requests, 3)
}

func TestSpecASteerReachesTheNextStepOfAPlan(t *testing.T) {
	t.Parallel()
	m := aPlannedTurn()
	var w *rig.World
	steers := rig.Does("echo", func(ctx context.Context) message.ToolResult {
		if err := w.Conv.Running().Steer(ctx, message.TextInput("also count y")); err != nil {
			return message.FailedResult(message.FailOperation, err.Error())
		}
		return message.TextResult("x")
	})
	w = rig.StartWith(t, m, planner(), nil, rig.Box(steers))
	w.Send("go")
	req := m.Requests[2].Messages
	assert.Equal(t, "also count y", req.At(req.Len()-2).Text())
	assert.Contains(t, w.History(), "user also count y")
}

func TestSpecACancelledPlanKeepsWhatWasDone(t *testing.T) {
	t.Parallel()
	slow := rig.NewGate("echo")
	m := aPlannedTurn()
	w := rig.StartWith(t, m, planner(), nil, rig.Box(slow.Tool))
	turn, err := w.Conv.Start(t.Context(), message.TextInput("go"), nil)
	require.NoError(t, err)
	<-slow.Reached
	turn.Stop(nil)
	out, err := turn.Wait(t.Context())
	require.NoError(t, err)
	assert.Equal(t, hook.StopUserRequested, out.Stop)
	assert.Len(t, m.Requests, 2)
	w.Send("and now")
	assert.Contains(t, asked(m)[2], "Make a plan", "the next turn plans anew")
}

func TestSpecAContinuedAnswerIsToolCalling(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Says(`{"steps":[]}`), rig.Says("Hello."), rig.Calls(rig.Call("c1", "echo", `{"s":"x"}`)), rig.Says("Checked."))
	w := rig.StartWith(t, m, planner(), nil, &rig.Life{Toolbox: rig.Box(rig.Named("echo")), AtStop: func(_ context.Context, _ *hook.Turn, s hook.Stopping) (hook.StopDecision, error) {
		if s.Continued == 0 {
			return hook.ContinueTurn("check it"), nil
		}
		return hook.StopDecision{}, nil
	}})
	assert.Equal(t, "Checked.", w.Send("hi").Text())
	assert.Equal(t, "tools  | check it", asked(m)[2])
}

func TestSpecAKilledPlanGoesOnAtItsStep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pay, slow := rig.NewGate("pay"), rig.NewGate("look")
	slow.Annotations.ReadOnly = true
	close(pay.Open)
	plan := []message.ModelStream{
		rig.Says(`{"steps":["pay","look","tell"]}`),
		rig.Calls(rig.Call("c1", "pay", `{}`)), rig.Says("paid"), rig.Says(`{"decision":"continue","steps":[]}`),
	}
	first := bootPlanner(t, dir, rig.Plays(append(plan, rig.Calls(rig.Call("c2", "look", `{}`)))...), rig.Box(pay.Tool, slow.Tool))
	first.Sends("go")
	turn := first.Until(event.TurnStart, 1).Turn
	<-slow.Reached
	first.Dies()
	require.Len(t, pay.Reached, 1)

	close(slow.Open)
	m := rig.Plays(rig.Says("looked"), rig.Says(`{"decision":"continue","steps":[]}`), rig.Says("told"), rig.Says(`{"decision":"continue","steps":[]}`), rig.Says("All done."))
	second := bootPlanner(t, dir, m, rig.Box(pay.Tool, slow.Tool))
	second.Resumes()
	assert.Equal(t, turn, second.Until(event.TurnStart, 1).Turn)
	out := second.Ends()
	require.NoError(t, out.Returned)
	assert.Equal(t, "All done.", out.Text())
	assert.Len(t, pay.Reached, 1, "a step that is done is not carried out again")
	assert.Equal(t, []string{
		"tools  | You carry out a plan, one step at a time", "no tools decision | A step of the plan is done",
		"tools  | You carry out a plan, one step at a time", "no tools decision | A step of the plan is done",
		"no tools  | The plan is carried out",
	}, asked(m), "nothing is planned again")
	assert.Contains(t, lastMessage(m, 0), "1. [x] pay\n2. [ ] look\n3. [ ] tell")
	assert.Equal(t, []string{
		"user go", "assistant [c1 pay {}]", "tool c1 pay: through", "assistant paid",
		"assistant [c2 look {}]", "tool c2 look: through", "assistant looked", "assistant told", "assistant All done.",
	}, second.History())
}

// A process dies between two steps of the plan: the last stored message is an answer of the model,
// and yet the turn is not over.
func TestSpecAPlanKilledBetweenItsStepsGoesOn(t *testing.T) {
	t.Parallel()
	for _, dieAt := range []int{1, 3, 4} { // while the plan, the decision and the second step are asked for
		t.Run(fmt.Sprint("request ", dieAt), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			pay := rig.NewGate("pay")
			close(pay.Open)
			replies := []message.ModelStream{
				rig.Says(`{"steps":["pay","tell"]}`), rig.Calls(rig.Call("c1", "pay", `{}`)), rig.Says("paid"),
				rig.Says(`{"decision":"continue","steps":[]}`), rig.Says("told"), rig.Says(`{"decision":"done","steps":[]}`), rig.Says("All done."),
			}
			reached := make(chan struct{})
			first := bootPlanner(t, dir, hangsInReply(replies, dieAt, reached), rig.Box(pay.Tool))
			first.Sends("go")
			<-reached
			first.Dies()

			m := rig.Plays(replies[dieAt:]...)
			second := bootPlanner(t, dir, m, rig.Box(pay.Tool))
			second.Resumes()
			out := second.Ends()
			require.NoError(t, out.Returned)
			assert.Equal(t, "All done.", out.Text())
			assert.Len(t, pay.Reached, 1)
			assert.Len(t, m.Requests, len(replies)-dieAt, "every reply that was stored is used")
			assert.Equal(t, []string{
				"user go", "assistant [c1 pay {}]", "tool c1 pay: through", "assistant paid", "assistant told", "assistant All done.",
			}, second.History())
		})
	}
}

// hangsInReply plays the replies and hangs, until the turn is cancelled, in the one with the index.
func hangsInReply(replies []message.ModelStream, at int, reached chan struct{}) *rig.Model {
	m := rig.Plays(slices.Clone(replies)...)
	m.Replies[at] = func(yield func(message.Chunk, error) bool) {
		close(reached)
		<-m.Ctx.Done()
		yield(message.Chunk{}, m.Ctx.Err())
	}
	return m
}

func lastMessage(m *rig.Model, request int) string {
	all := m.Requests[request].Messages
	return all.At(all.Len() - 1).Text()
}

func bootPlanner(t *testing.T, dir string, m *rig.Model, hooks ...hook.Hook) *rig.Process {
	t.Helper()
	return rig.BootAs(t, dir, m, planner(), runtime.Options{}, hooks...)
}

func TestSpecAnUnknownLoopIsRefused(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays())
	_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b", Loop: "reflexion"})
	require.EqualError(t, err, `register agent "b": there is no loop "reflexion"; write tool-calling or plan-and-execute`)
}

func TestSpecAGuestAnswersWithoutAPlan(t *testing.T) {
	t.Parallel()
	m := rig.Plays(rig.Says("hello"))
	w := rig.Start(t, m)
	cfg := planner()
	cfg.Name = "g"
	_, err := w.Runtime.Register(t.Context(), cfg)
	require.NoError(t, err)
	out, err := dialog.Send(t.Context(), w.Conv, message.TextInput("hi"), &runtime.TurnOptions{Guest: "g"})
	require.NoError(t, err)
	assert.Equal(t, "hello", out.Text())
}
