package models_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
)

// What Host.CallModel offers to hooks and tools, and what turns cost.

// titles calls a model at AfterModel, and keeps what came.
type titles struct {
	hook.Nop
	req   message.ModelRequest
	reply message.ModelReply
	err   error
}

func (h *titles) AfterModel(ctx context.Context, s *hook.Step, _ message.ModelReply) (hook.ReplyDecision, error) {
	h.reply, h.err = s.Host().CallModel(ctx, h.req)
	return hook.ReplyDecision{}, nil
}

func TestSpecAHookCallsAModelWithinTheTurn(t *testing.T) {
	t.Parallel()
	asked := message.ModelRequest{
		System: "Give a title.", Messages: message.MessagesOf(message.UserText("hello")), Model: message.Model{Name: "dear", Choice: message.ToolChoice{Mode: message.ToolChoiceRequired}},
		Tools: message.NewToolSet([]message.Tool{{Name: "x"}}),
	}
	h := &titles{req: asked}
	points := 0
	counts := point.BeforeModelFunc(func(context.Context, *hook.Step, message.ModelRequest) (hook.ModelDecision, error) {
		points++
		return hook.ModelDecision{}, nil
	})
	m := rig.Plays(rig.Says("hi"), rig.Says("A ", "title"))
	w := rig.StartWith(t, m, hook.AgentConfig{Name: "a", Model: message.Model{Name: "main", MaxTokens: 70}}, &runtime.Options{Price: rig.PerToken}, h, counts, rig.Box(rig.Named("echo")))
	out := w.Send("1")
	require.NoError(t, h.err)
	assert.Equal(t, "A title", h.reply.Text())
	assert.Equal(t, "dear", h.reply.Model)
	assert.Equal(t, message.FinishStop, h.reply.Finish)
	want := asked
	want.Tools, want.Model.Choice, want.Model.MaxTokens = nil, message.ToolChoice{}, 70
	assert.Equal(t, want, m.Requests[1], "apart from the history and without tools")
	assert.Equal(t, 1, points, "it passes no point")
	assert.Equal(t, message.Usage{Input: 20, Output: 10}, out.Usage, "its tokens are the turn's")
	assert.Equal(t, hook.Cost(15015), out.Cost)
	assert.Len(t, w.EventsOf(event.Usage), 2)
	assert.Equal(t, []string{"user 1", "assistant hi"}, w.History())
	assert.Len(t, w.EventsOf(event.TextDelta), 1, "nobody is shown what it says")
}

func TestSpecCallModelOutsideATurn(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(rig.Says("never")))
	reg, err := w.Runtime.Agent("a")
	require.NoError(t, err)
	_, err = reg.Config().Host().CallModel(t.Context(), message.ModelRequest{})
	require.ErrorIs(t, err, hook.ErrNoTurn)
	assert.Empty(t, w.Model.Requests)
}

func TestSpecCallModelFails(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	long := strings.Repeat("x", 600)
	for _, tc := range []struct {
		name   string
		limits hook.Limits
		stream message.ModelStream
		text   string
		calls  int
	}{
		{"with the model's error", hook.Limits{}, rig.Fails(gone, "half"), `call model "main": gone`, 2},
		{"where it panics", hook.Limits{}, func(func(message.Chunk, error) bool) { panic("boom") }, `call model "main": the provider panicked: boom`, 2},
		{"where it panics before it streams", hook.Limits{}, nil, `call model "main": the provider panicked: boom`, 2},
		{"where it calls a tool", hook.Limits{}, rig.Calls(rig.Call("c1", "echo", `{}`)), `call model "main": the model called a tool, and was offered none`, 2},
		{"where it ends without a finish", hook.Limits{}, rig.Chunks(rig.Text("x")), `call model "main": provider: the stream ended without a finish`, 2},
		{"where it does not end", hook.Limits{}, rig.Says(long, long), `call model "main": the answer is longer than 1000 bytes; set MaxTokens, or raise Options.Limits.Result`, 2},
		{"where no tokens are left", hook.Limits{Tokens: 15}, rig.Says("never"), "hook: the turn has used up its tokens", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := &titles{}
			failed := onErrors(hook.FailureDecision{})
			w := rig.StartWith(t, rig.Plays(rig.Says("hi"), tc.stream), hook.AgentConfig{Name: "a", Model: message.Model{Name: "main"}, Limits: tc.limits}, &runtime.Options{Limits: runtime.Limits{Result: 1000}}, h, failed)
			out, err := w.Try(t.Context(), "1")
			require.NoError(t, err)
			assert.Equal(t, "hi", out.Text(), "the turn goes on")
			require.EqualError(t, h.err, tc.text)
			assert.Zero(t, h.reply)
			assert.Len(t, w.Model.Requests, tc.calls)
			assert.Len(t, failed.seen, tc.calls-1, "OnModelError is asked once, and has no opinion")
		})
	}
}

func TestSpecCallModelEndsWithTheTurnOrItsContext(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]hook.Limits{"the turn's time": {Time: time.Second}, "its own context": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var failed error
				var took time.Duration
				tool := rig.Tool{Tool: message.Tool{Name: "ask"}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
					began := time.Now()
					own, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
					defer cancel()
					_, failed = env.Call.Host().CallModel(own, message.ModelRequest{})
					took = time.Since(began)
					return message.TextResult("x")
				}}
				n := 0
				p := func(ctx context.Context, _ message.ModelRequest) message.ModelStream {
					switch n++; n {
					case 1:
						return rig.Calls(rig.Call("c1", "ask", `{}`))
					case 2:
						return func(yield func(message.Chunk, error) bool) { <-ctx.Done(); yield(message.Chunk{}, ctx.Err()) }
					}
					return rig.Says("done")
				}
				w := startProvider(t, p, limits, rig.Box(tool))
				out, err := w.Try(t.Context(), "1")
				require.NoError(t, err)
				require.Error(t, failed)
				if limits.Time > 0 {
					assert.Equal(t, hook.StopTimeLimit, out.Stop)
					assert.Equal(t, time.Second, took)
				} else {
					assert.Equal(t, 2*time.Second, took)
					require.ErrorIs(t, failed, context.DeadlineExceeded)
				}
				require.NoError(t, w.Runtime.Close(t.Context()))
			})
		})
	}
}

func TestSpecToolsCallModelsAtTheSameTime(t *testing.T) {
	t.Parallel()
	asks := rig.Tool{Tool: message.Tool{Name: "ask"}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		reply, err := env.Call.Host().CallModel(ctx, message.ModelRequest{Messages: message.MessagesOf(message.UserText("x"))})
		if err != nil {
			return message.FailedResult(message.FailOperation, err.Error())
		}
		return message.TextResult(reply.Text())
	}}
	var ws []rig.ToolCall
	for _, id := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
		ws = append(ws, rig.Call(id, "ask", `{}`))
	}
	w := rig.StartWith(t, rig.Plays(rig.Calls(ws...)), hook.AgentConfig{Name: "a"}, &runtime.Options{Price: rig.PerToken}, rig.Box(asks))
	out := w.Send("1")
	assert.Equal(t, int64(150), out.Usage.Total(), "two steps, and eight calls of the tools")
	assert.Equal(t, hook.Cost(150), out.Cost)
	assert.Len(t, w.EventsOf(event.Usage), 10)
}

func TestSpecWhatATurnCostsIsWithItsChildrenAndSeenInItsPlace(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]hook.Cost{}
	looks := point.AfterTurnFunc(func(_ context.Context, turn *hook.Turn, out hook.TurnOutcome) {
		mu.Lock()
		defer mu.Unlock()
		seen[turn.Agent().Name] = out.Cost
		assert.Equal(t, out.Cost, turn.Standing().Cost)
	})
	delegates := rig.Tool{Tool: message.Tool{Name: "delegate", Waits: true}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		out, err := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: "b", Input: message.TextInput("x"), Call: env.Call})
		if err != nil {
			return message.FailedResult(message.FailOperation, err.Error())
		}
		return message.TextResult(out.Text())
	}}
	w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("c1", "delegate", `{}`)), rig.Says("child"), rig.Says("done")), hook.AgentConfig{Name: "a"}, &runtime.Options{Price: rig.PerToken}, looks, rig.Box(delegates))
	_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b", Model: message.Model{Name: "dear"}})
	require.NoError(t, err)
	out := w.Send("1")
	assert.Equal(t, hook.Cost(15000), seen["b"])
	assert.Equal(t, hook.Cost(15030), out.Cost)
	assert.Equal(t, out.Cost, seen["a"])
	assert.Equal(t, hook.Cost(15000), w.EventsOf(event.SubagentEnd)[0].Detail().Cost)
}
