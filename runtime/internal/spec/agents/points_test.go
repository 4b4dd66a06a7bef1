package agents_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// Every point that is declared is one that the runtime calls, and every part of
// what a hook is shown there says something sooner or later.

// excused are parts that say nothing by their nature, and why.
var excused = map[string]string{
	"Dispatch ToolCall.Grant":                  "no hook has narrowed it yet",
	"OnInvalidTool ToolCall.Grant":             "no hook has narrowed it yet",
	"RewriteArgs ToolCall.Grant":               "no hook has narrowed it before a person changes the arguments",
	"BeforeCompaction Compaction.Auto":         "the runtime compacts when it is asked to only",
	"BeforeCompaction Compaction.Budget.Limit": "the runtime does not know how much a model takes",
}

func TestSpecEveryPointFiresAndEveryPartOfItsViewsSaysSomething(t *testing.T) {
	t.Parallel()
	w := newWitness()
	playEverything(t, w)
	playEverything(t, w, "RewriteReply") // where nobody rewrites replies their text is shown as it comes
	for _, s := range w.silent(excused) {
		t.Error(s)
	}
}

// director makes things happen in the script; it has its say at the points of a
// turn too, by which the witness is shown more.
type director struct{ rig.Life }

func (d *director) BeforeTool(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
	if c.Name() == "echo" {
		return hook.AskTool("sure?"), nil
	}
	return hook.ToolDecision{}, nil
}

func (d *director) Approve(context.Context, *hook.ToolCall, hook.ToolDecision) (hook.ApprovalDecision, error) {
	return hook.ApproveCall(), nil
}

func (d *director) OnModelError(_ context.Context, _ *hook.Step, f message.ModelFailure) (hook.FailureDecision, error) {
	if f.Attempt == 1 {
		return hook.RetryFailure(time.Millisecond), nil
	}
	return hook.FailureDecision{}, nil
}

func (d *director) TurnPolicy(_ context.Context, t *hook.Turn) ([]hook.Policy, error) {
	plan := hook.RecallPlan{Queries: message.ListOf("boats"), Limit: 3}
	if t.Number() == 1 {
		return []hook.Policy{{Domain: "memory", Key: "recall", Value: "on", Recall: plan}}, nil
	}
	return []hook.Policy{{Domain: "memory", Key: "recall", Value: "on", Fallback: plan}}, nil
}

func (d *director) TurnContext(context.Context, *hook.Turn) ([]hook.ContextBlock, error) {
	remark := hook.Diagnostic{Code: "memory.stale", Text: "the notes are old", Visibility: event.VisibleUser}
	return []hook.ContextBlock{{Domain: "memory", ID: "notes", Text: "boats float", Attached: hook.Attached{Diagnostics: message.ListOf(remark)}}}, nil
}

// newDirector has a first turn that goes on twice, and a failure to tell of.
func newDirector(tools ...rig.Tool) *director {
	d := &director{rig.Life{Toolbox: rig.Box(tools...)}}
	d.AtStop = func(_ context.Context, turn *hook.Turn, s hook.Stopping) (hook.StopDecision, error) {
		if turn.Depth() == 0 && turn.Number() == 1 && s.Continued < 2 {
			return hook.ContinueTurn("more"), nil
		}
		return hook.StopDecision{}, nil
	}
	d.AtAfterStep = func(_ context.Context, s *hook.Step, _ hook.StepOutcome) (hook.StepDecision, error) {
		if s.Turn().Number() == 2 {
			return hook.StopStep(hook.StopFinishReason, "matched").WithContext(`{"finish":"stop"}`), nil
		}
		return hook.StepDecision{}, nil
	}
	d.AtAfterTurn = func(*hook.Turn, hook.TurnOutcome) { panic("boom") }
	return d
}

// inquires puts a question that is answered already.
func inquires(w *rig.World) rig.Tool {
	return rig.Tool{Tool: message.Tool{Name: "ask", Waits: true}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		answer := hook.Response{Given: message.ListOf(hook.Given{Text: "this"})}
		err := w.Runtime.Answer(w.Conv.ID(), env.Key, "ann", answer)
		if err == nil {
			_, err = env.Call.Host().Ask(ctx, hook.Inquiry{ID: env.Key, Questions: message.ListOf(hook.Question{Text: "Which?"})})
		}
		if err != nil {
			return message.FailedResult(message.FailOperation, err.Error())
		}
		return message.TextResult("this")
	}}
}

// hands gives the task to a helper.
func hands() rig.Tool {
	return rig.Tool{Tool: message.Tool{Name: "hand", Waits: true}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		out, err := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: "helper", Input: message.TextInput("task"), Call: env.Call})
		if err != nil {
			return message.FailedResult(message.FailOperation, err.Error())
		}
		return message.TextResult(out.Text())
	}}
}

// staged composes the hooks, the witness without the points, with one that is never in
// time.
func staged(t *testing.T, without []string, hooks ...hook.Hook) hook.Hook {
	late := point.TurnContextFunc(func(ctx context.Context, _ *hook.Turn) ([]hook.ContextBlock, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	type none struct{}
	c, err := composite.New(&none{})
	require.NoError(t, err)
	for i, h := range hooks {
		o := plan.Options{}
		if _, ok := h.(*witness); ok {
			o.Without = without
		}
		c, err = c.With(fmt.Sprintf("H%d", i), h, o)
		require.NoError(t, err)
	}
	c, err = c.With("Late", late, plan.Options{Points: []plan.PointUse{{Name: "TurnContext", Timeout: plan.Duration(time.Millisecond)}}})
	require.NoError(t, err)
	return c
}

// playEverything plays two turns and a compaction, from the opening of a runtime to
// its end: a first turn with calls of all kinds, a child, an approval, a question,
// stops that are overruled and a model that fails, and a second that ends well.
func playEverything(t *testing.T, w *witness, without ...string) {
	echo := rig.Tool{Tool: message.Tool{Name: "echo", Description: "says it again", Timeout: time.Minute}, Run: func(_ context.Context, env *hook.Env, s string) message.ToolResult {
		w.shown("Runner", *env)
		env.Progress("half")
		return message.ToolResult{Content: message.ListOf(message.TextBlock(s)), Trust: message.TrustExternal, Meta: `{"n":1}`, Failure: message.FailOperation}
	}}
	w.Toolbox = rig.Box(echo)
	world := &rig.World{T: t}
	narrow := point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
		return hook.NarrowTool(hook.Grant{Timeout: time.Minute}), nil
	})
	down := func(yield func(message.Chunk, error) bool) {
		err := &provider.Error{Class: message.FailureRateLimit, RetryAfter: time.Millisecond, Err: errors.New("slow down")}
		_ = yield(rig.Text("half"), nil) && yield(message.Chunk{}, err)
	}
	filtered := rig.Chunks(rig.Text("filtered"), rig.Finish(message.FinishFilter))
	models := rig.Cast{"helper": rig.Plays(rig.Says(strings.Repeat("helped ", 20_000))), "chief": rig.Plays(
		rig.Chunks(message.Chunk{Kind: message.ChunkReasoning, Text: "hm"}, rig.Text("well"), message.Chunk{Kind: message.ChunkCallStart, CallID: "c1", Tool: "echo"},
			message.Chunk{Kind: message.ChunkCallArgs, Text: `{"s":"x"}`}, message.Chunk{Kind: message.ChunkCallEnd}, rig.Finish(message.FinishTools)),
		rig.Calls(rig.Call("c2", "nobody", `{}`), rig.Call("c3", "echo", `{"t":1}`), rig.Call("c4", "ask", `{}`), rig.Call("c5", "hand", `{}`)),
		filtered, filtered, down, down, rig.Says("fine"), rig.Says("The summary."),
	)}
	ticks := new(atomic.Int64)
	world.Runtime = runtime.New(staged(t, without, narrow, w, newDirector(inquires(world), hands())), models, &runtime.Options{
		Store: mem.New(&mem.Options{Journal: true}),
		Now:   func() time.Time { return time.UnixMilli(ticks.Add(1)) },
		Price: func(_ string, u message.Usage) hook.Cost { return hook.Cost(u.Total()) },
	})
	ctx := t.Context()
	require.NoError(t, world.Runtime.Open(ctx))
	for _, name := range []string{"chief", "helper"} {
		_, err := world.Runtime.Register(ctx, hook.AgentConfig{
			Loop: message.LoopToolCalling,
			Name: name, Description: "an agent", Instructions: "Help.", Tools: []string{"echo", "ask", "hand"},
			Senders: []message.SenderRule{{Tools: []string{"echo"}, Senders: []string{"ann"}}},
			Model:   message.Model{Name: name, Format: message.ResponseFormat{JSON: true}, Choice: message.ToolChoice{Mode: message.ToolChoiceAuto}, MaxTokens: 1000},
			Limits:  hook.Limits{Steps: 10, Tokens: 10_000, Time: time.Hour},
		})
		require.NoError(t, err)
	}
	var err error
	world.Conv, err = dialog.Conversation(ctx, world.Runtime, "chief", "ann")
	require.NoError(t, err)
	out, err := world.Try(ctx, "go")
	require.ErrorContains(t, err, "slow down")
	require.Equal(t, 5, out.Steps)
	world.Send("again")
	_, err = world.Conv.Compact(ctx, &runtime.CompactOptions{Keep: -1})
	require.NoError(t, err)
	require.NoError(t, world.Runtime.Close(ctx))
}
