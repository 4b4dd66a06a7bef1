package guard_test

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/guard"
)

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

func TestConformance(t *testing.T) {
	t.Parallel()
	hooktest.Run(t, func(*testing.T) hook.Hook { return guard.New(nil) }, &hooktest.Options{
		Agent:  hook.AgentConfig{}.WithSection("guard", `{"steps":3,"conversation":{"time":"1h"}}`),
		Golden: "testdata/descriptor.txt", Update: *update,
	})
}

// clock is a time that tests move.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// world is a turn of an agent with a section, guarded.
type world struct {
	*guard.Guard
	clock *clock
	conv  *hook.Conversation
	turn  *hook.Turn
	steps int
	calls int
}

func newWorld(t *testing.T, o *guard.Options, section message.JSON) *world {
	t.Helper()
	w := &world{clock: &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}
	if o == nil {
		o = &guard.Options{}
	}
	o.Now = w.clock.Now
	w.Guard = guard.New(o)
	cfg, err := w.OnBuildAgent(t.Context(), hook.AgentConfig{Name: "a"}.WithSection("guard", section))
	require.NoError(t, err)
	require.NoError(t, w.OnRegisterAgent(t.Context(), &cfg))
	w.conv = hooktest.Conversation(&cfg, nil)
	w.next(nil)
	return w
}

// next begins another turn of the conversation, or a child of parent.
func (w *world) next(parent *hook.Turn) *hook.Turn {
	w.steps = 0
	w.turn, _ = hook.NewTurn(hook.TurnData{
		Conversation: w.conv, ID: fmt.Sprint("turn-", w.clock.now.UnixNano(), w.calls), Number: 1, Started: w.clock.now, Now: w.clock.Now, Parent: parent,
	})
	return w.turn
}

// step plays a step that uses tokens, and returns what Guard answered before and
// after it.
func (w *world) step(t *testing.T, o hook.StepOutcome) (before, after hook.StepDecision) {
	t.Helper()
	w.steps++
	s := hook.NewStep(w.turn, w.steps, "m")
	before, err := w.BeforeStep(t.Context(), s)
	require.NoError(t, err)
	if before == (hook.StepDecision{}) {
		after, err = w.AfterStep(t.Context(), s, o)
		require.NoError(t, err)
	}
	return before, after
}

func (w *world) call(t *testing.T, tool string, args message.JSON) hook.ToolDecision {
	t.Helper()
	w.calls++
	d, err := w.BeforeTool(t.Context(), hook.NewToolCall(hook.ToolCallData{
		Step: hook.NewStep(w.turn, 1, "m"), ID: fmt.Sprint("call-", w.calls), Tool: message.Tool{Name: tool}, Args: args,
	}))
	require.NoError(t, err)
	return d
}

func tokens(n int64) hook.StepOutcome { return hook.StepOutcome{Usage: message.Usage{Input: n}} }

// said is what clients see of a stop.
func said(d hook.StepDecision) string {
	v := d.Verdict()
	return fmt.Sprintf("%s: %s %s", v.Stop, v.Reason, d.Context())
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, "")
	for range 20 {
		before, after := w.step(t, tokens(1))
		assert.Empty(t, before)
		assert.Empty(t, after)
	}
	before, _ := w.step(t, tokens(1))
	assert.Equal(t, `steps_limit: Step limit reached: 20/20 {"currentSteps":20,"maxSteps":20}`, said(before))

	w = newWorld(t, nil, "")
	w.step(t, tokens(32_767))
	before, _ = w.step(t, tokens(1))
	assert.Empty(t, before, "one token is left")
	before, _ = w.step(t, tokens(1))
	assert.Equal(t, `token_limit: Token limit reached: 32768/32768 {"currentTokens":32768,"maxTokens":32768}`, said(before))

	w = newWorld(t, nil, "")
	assert.Equal(t, 300*time.Second, w.conv.Agent().Limits.Time, "the turn's own deadline is the limit")
	w.clock.now = w.clock.now.Add(299 * time.Second)
	before, _ = w.step(t, tokens(1))
	assert.Empty(t, before)
	w.clock.now = w.clock.now.Add(1230 * time.Millisecond)
	before, _ = w.step(t, tokens(1))
	assert.Equal(t, `time_limit: Execution time limit reached: 300.23s/300.00s {"currentSeconds":300.23,"maxSeconds":300}`, said(before))

	_, after := newWorld(t, nil, "").step(t, hook.StepOutcome{Finish: message.FinishStop})
	assert.Empty(t, after, "no finish reason ends a turn by default")
}

// TestOff: each limit can be switched off, by option and by section.
func TestOff(t *testing.T) {
	t.Parallel()
	off := guard.Limits{Steps: guard.Off, Tokens: guard.Off, Time: guard.Off}
	for name, w := range map[string]*world{
		"option":  newWorld(t, &guard.Options{Turn: off}, ""),
		"section": newWorld(t, nil, `{"steps":-1,"tokens":-1,"time":"off"}`),
	} {
		w.clock.now = w.clock.now.Add(time.Hour)
		for range 100 {
			before, after := w.step(t, tokens(10_000))
			assert.Empty(t, before, name)
			assert.Empty(t, after, name)
		}
		assert.Zero(t, w.conv.Agent().Limits.Time, name)
	}
}

func TestShorterLimitOfTheAgentStays(t *testing.T) {
	t.Parallel()
	cfg, err := guard.New(nil).OnBuildAgent(t.Context(), hook.AgentConfig{Limits: hook.Limits{Time: time.Second}})
	require.NoError(t, err)
	assert.Equal(t, time.Second, cfg.Limits.Time)
}

func TestFinishReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, `{"finish":["stop"]}`)
	_, after := w.step(t, hook.StepOutcome{Finish: message.FinishStop})
	assert.Equal(t, `finish_reason: Finish reason "stop" matched stop condition {"finishReason":"stop","stopReasons":["stop"]}`, said(after))
	_, after = w.step(t, hook.StepOutcome{Finish: message.FinishTools})
	assert.Empty(t, after)
}

// TestMostAuthoritative: of several limits the one that ranks first is told.
func TestMostAuthoritative(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, `{"steps":1,"tokens":1}`)
	w.step(t, tokens(5))
	w.clock.now = w.clock.now.Add(time.Hour)
	before, _ := w.step(t, tokens(1))
	assert.Equal(t, hook.StopStepsLimit, before.Verdict().Stop)
}

func TestConversation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, `{"conversation":{"steps":3,"time":"1m"}}`)
	w.step(t, tokens(1))
	w.step(t, tokens(1))
	w.AfterTurn(t.Context(), w.turn, hook.TurnOutcome{Duration: 40 * time.Second})
	w.next(nil)
	before, _ := w.step(t, tokens(1))
	assert.Empty(t, before)
	before, _ = w.step(t, tokens(1))
	assert.Equal(t, `steps_limit: Step limit reached: 3/3 {"currentSteps":3,"maxSteps":3}`, said(before))

	w = newWorld(t, nil, `{"conversation":{"time":"1m"}}`)
	w.AfterTurn(t.Context(), w.turn, hook.TurnOutcome{Duration: 40 * time.Second})
	w.next(nil)
	w.clock.now = w.clock.now.Add(5 * time.Second)
	assert.Equal(t, 15*time.Second, w.call(t, "bash", "{}").Grant().Timeout, "a call ends with what is left")
	w.clock.now = w.clock.now.Add(15 * time.Second)
	before, _ = w.step(t, tokens(1))
	assert.Equal(t, `time_limit: Execution time limit reached: 60.00s/60.00s {"currentSeconds":60,"maxSeconds":60}`, said(before))
}

// TestChildren: what a child uses is charged to the turn that a user started, and
// the limits of both agents hold.
func TestChildren(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, `{"steps":3}`)
	root := w.turn
	w.step(t, tokens(1))
	w.next(root)
	for range 2 {
		before, _ := w.step(t, tokens(1))
		assert.Empty(t, before)
	}
	before, _ := w.step(t, tokens(1))
	assert.Equal(t, "Step limit reached: 3/3", before.Verdict().Reason)

	generous := hooktest.Agent(hook.AgentConfig{Name: "child"}.WithSection("guard", `{"steps":-1}`))
	require.NoError(t, w.OnRegisterAgent(t.Context(), generous))
	w.conv = hooktest.Conversation(generous, nil)
	w.next(root)
	before, _ = w.step(t, tokens(1))
	assert.Equal(t, "Step limit reached: 3/3", before.Verdict().Reason, "a child cannot do what its parent may not")
}

// as has the turns that follow be those of another agent, in a conversation of its own.
func (w *world) as(t *testing.T, name string, section message.JSON) {
	t.Helper()
	cfg := hooktest.Agent(hook.AgentConfig{Name: name}.WithSection("guard", section))
	require.NoError(t, w.OnRegisterAgent(t.Context(), cfg))
	w.conv = hooktest.Conversation(cfg, nil)
}

// TestParentsRepeats: the parent's limit of repeated calls ends the child, which has
// none, at both points.
func TestParentsRepeats(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, `{"repeats":1}`)
	root := w.turn
	w.as(t, "child", "")
	w.next(root)
	assert.Empty(t, w.call(t, "read", "{}"))
	assert.Equal(t, hook.AnswerDeny, w.call(t, "read", "{}").Verdict().Kind)
	_, after := w.step(t, tokens(1))
	assert.Equal(t, `retry_limit: Repeated call limit reached: read 2/1 {"currentRepeats":2,"maxRepeats":1}`, said(after))
}

// TestChildsConversation: a child's limits of the conversation are about all of it,
// also what was used before the child began, by agents that have no such limit.
func TestChildsConversation(t *testing.T) {
	t.Parallel()
	for section, want := range map[message.JSON]string{
		`{"conversation":{"time":"1m"}}`:  "Execution time limit reached: 70.00s/60.00s",
		`{"conversation":{"tokens":100}}`: "Token limit reached: 101/100",
		`{"conversation":{"steps":2}}`:    "Step limit reached: 3/2",
	} {
		w := newWorld(t, nil, "")
		talk := w.conv
		w.as(t, "child", section)
		child := w.conv
		w.conv = talk
		root := w.next(nil)
		w.step(t, tokens(100))
		w.step(t, tokens(1))
		w.clock.now = w.clock.now.Add(40 * time.Second)
		w.AfterTurn(t.Context(), root, hook.TurnOutcome{Duration: 40 * time.Second})
		root = w.next(nil)
		w.clock.now = w.clock.now.Add(30 * time.Second)
		before, _ := w.step(t, tokens(0))
		assert.Empty(t, before, "the agent itself has no limit")
		w.conv = child
		w.next(root)
		before, _ = w.step(t, tokens(1))
		assert.Equal(t, want, before.Verdict().Reason)
	}

	w := newWorld(t, nil, "")
	talk := w.conv
	w.as(t, "child", `{"conversation":{"calls":{"bash":1}}}`)
	child := w.conv
	w.conv = talk
	root := w.next(nil)
	assert.Empty(t, w.call(t, "bash", "{}"))
	assert.Empty(t, w.call(t, "bash", "{}"), "the agent itself has no limit")
	w.conv = child
	w.next(root)
	assert.Equal(t, "Call limit reached: bash 2/1", w.call(t, "bash", "{}").Verdict().Reason)
}

// spender is another subsystem that tells what turns cost.
type spender struct {
	hook.Nop
	turn hook.TurnState[hook.Cost]
	all  hook.ConversationState[hook.Cost]
}

func TestCost(t *testing.T) {
	t.Parallel()
	s := &spender{}
	s.turn.Shared, s.all.Shared = "cost.turn", "cost.conversation"
	w := newWorld(t, nil, `{"cost":0.01}`)
	s.turn.Update(w.turn, func(hook.Cost) hook.Cost { return hook.Dollar/100 - 1 })
	before, _ := w.step(t, tokens(1))
	assert.Empty(t, before)
	s.turn.Update(w.turn, func(c hook.Cost) hook.Cost { return c + 2_300_001 })
	before, _ = w.step(t, tokens(1))
	assert.Equal(t, `cost_limit: Cost limit reached: $0.0123/$0.0100 {"currentCost":0.0123,"maxCost":0.01}`, said(before))

	w = newWorld(t, nil, `{"conversation":{"cost":1}}`)
	s.all.Update(w.conv, func(hook.Cost) hook.Cost { return hook.Dollar })
	before, _ = w.step(t, tokens(1))
	assert.Equal(t, hook.StopCostLimit, before.Verdict().Stop)
}

func TestCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, `{"calls":{"bash":2,"*":3}}`)
	for range 2 {
		assert.Empty(t, w.call(t, "bash", "{}"))
	}
	assert.Equal(t, "Call limit reached: bash 2/2", w.call(t, "bash", "{}").Verdict().Reason)
	for range 3 {
		assert.Empty(t, w.call(t, "read", "{}"), "every other tool has a limit of its own")
	}
	assert.Equal(t, hook.AnswerDeny, w.call(t, "read", "{}").Verdict().Kind)
	w.next(nil)
	assert.Empty(t, w.call(t, "bash", "{}"), "the next turn counts afresh")
}

// TestAskedAgain: a call whose arguments a person changes is decided about again
// and counts once.
func TestAskedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, `{"calls":{"bash":2},"repeats":1}`)
	call := hook.NewToolCall(hook.ToolCallData{Step: hook.NewStep(w.turn, 1, "m"), ID: "one", Tool: message.Tool{Name: "bash"}, Args: `{}`})
	for range 3 {
		d, err := w.BeforeTool(t.Context(), call)
		require.NoError(t, err)
		assert.Empty(t, d)
	}
}

func TestPerMinute(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, `{"per_minute":{"bash":2}}`)
	assert.Empty(t, w.call(t, "bash", "{}"))
	w.clock.now = w.clock.now.Add(30 * time.Second)
	assert.Empty(t, w.call(t, "bash", "{}"))
	w.next(nil)
	assert.Equal(t, "Rate limit reached: bash 2/2", w.call(t, "bash", "{}").Verdict().Reason, "the next turn is in the same minute")
	w.clock.now = w.clock.now.Add(30 * time.Second)
	assert.Empty(t, w.call(t, "bash", "{}"), "the first call is a minute old")
	assert.Equal(t, hook.AnswerDeny, w.call(t, "bash", "{}").Verdict().Kind)
}

func TestRepeats(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, `{"repeats":2}`)
	assert.Empty(t, w.call(t, "read", `{"path":"a"}`))
	assert.Empty(t, w.call(t, "read", `{"path":"b"}`))
	assert.Empty(t, w.call(t, "read", `{"path":"a"}`))
	assert.Equal(t, "Repeated call limit reached: read 3/2 with the same arguments; do something else",
		w.call(t, "read", `{"path":"a"}`).Verdict().Reason)
	_, after := w.step(t, tokens(1))
	assert.Empty(t, after, "the model is told first")
	w.call(t, "read", `{"path":"a"}`)
	_, after = w.step(t, tokens(1))
	assert.Equal(t, `retry_limit: Repeated call limit reached: read 4/2 {"currentRepeats":4,"maxRepeats":2}`, said(after))
}

func TestSectionErrors(t *testing.T) {
	t.Parallel()
	for section, want := range map[message.JSON]string{
		`{"time":"soon"}`:                    `agent "a": section guard: time: "soon" is no duration; write 90s, 5m or off`,
		`{"conversation":{"time":"-1s"}}`:    `agent "a": section guard: conversation: time: "-1s" is no duration; write 90s, 5m or off`,
		`{"calls":{"bash":-1}}`:              `agent "a": section guard: calls of bash: -1 is less than none; leave the tool out for no limit`,
		`{"steps":-5}`:                       `agent "a": section guard: steps: -5 is less than none; write -1 for no limit`,
		`{"conversation":{"cost":-0.5}}`:     `agent "a": section guard: conversation: cost: -0.5 is less than none; write -1 for no limit`,
		`{"finish":["stopp"]}`:               `agent "a": section guard: finish: "stopp" is no finish reason; known are ["stop" "tool_calls" "length"`,
		`{"stepz":1}`:                        `agent "a": section guard: stepz: unknown key; known are`,
		`{"conversation":{"finish":"stop"}}`: `agent "a": section guard: `,
	} {
		_, err := guard.New(nil).OnBuildAgent(t.Context(), hook.AgentConfig{Name: "a"}.WithSection("guard", section))
		assert.ErrorContains(t, err, want)
	}
}

// TestTurnsShareNothing: two turns at once over one guard.
func TestTurnsShareNothing(t *testing.T) {
	t.Parallel()
	g := guard.New(&guard.Options{Turn: guard.Limits{Steps: 1000, Tokens: guard.Off}})
	done := make(chan hook.StepDecision)
	for range 2 {
		turn := hooktest.Turn(nil, "hello")
		go func() {
			ctx := context.Background()
			for i := range 1000 {
				s := hook.NewStep(turn, i+1, "m")
				if d, err := g.BeforeStep(ctx, s); err != nil || d != (hook.StepDecision{}) {
					done <- d
					return
				}
				if _, err := g.AfterStep(ctx, s, tokens(1)); err != nil {
					break
				}
			}
			done <- hook.StepDecision{}
		}()
	}
	for range 2 {
		assert.Empty(t, <-done)
	}
}
