package toolrun_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/toolrun"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const grace = 5 * time.Second

// runFunc runs a call by a function.
type runFunc func(ctx context.Context, env *hook.Env) message.ToolResult

func (f runFunc) Run(ctx context.Context, env *hook.Env) message.ToolResult { return f(ctx, env) }

// tool is a tool and what it does.
type tool struct {
	message.Tool
	run runFunc
}

func does(name string, f func(ctx context.Context) message.ToolResult) tool {
	return tool{message.Tool{Name: name}, func(ctx context.Context, _ *hook.Env) message.ToolResult { return f(ctx) }}
}

func says(name string) tool {
	return does(name, func(context.Context) message.ToolResult { return message.TextResult(name) })
}

// sleeps ends after d or with its context.
func sleeps(name string, d time.Duration) tool {
	return does(name, func(ctx context.Context) message.ToolResult {
		select {
		case <-time.After(d):
			return message.TextResult(name)
		case <-ctx.Done():
			return message.FailedResult(message.FailCancelled, "stopped")
		}
	})
}

// deaf ignores its context until release is closed.
func deaf(name string, release <-chan struct{}) tool {
	return does(name, func(context.Context) message.ToolResult {
		<-release
		return message.TextResult("late")
	})
}

// overlap counts how many calls run at once.
type overlap struct{ running, most, starts atomic.Int32 }

// of returns the tool, counted.
func (o *overlap) of(x tool) tool {
	run := x.run
	x.run = func(ctx context.Context, env *hook.Env) message.ToolResult {
		o.starts.Add(1)
		now := o.running.Add(1)
		defer o.running.Add(-1)
		for most := o.most.Load(); now > most && !o.most.CompareAndSwap(most, now); most = o.most.Load() {
		}
		return run(ctx, env)
	}
	return x
}

// bench runs calls on one runner.
type bench struct {
	t      *testing.T
	runner *toolrun.Runner
	hooks  *composite.Composite
	host   *host
}

// host keeps the texts of the events that it gets.
type host struct {
	hook.NoHost
	mu    sync.Mutex
	texts []string
}

func (h *host) Emit(_ context.Context, ev hook.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.texts = append(h.texts, ev.Text)
}

func (h *host) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.texts)
}

func newBench(t *testing.T, o toolrun.Options, h hook.Hook) *bench {
	t.Helper()
	hooks, err := composite.From(h)
	require.NoError(t, err)
	return &bench{t: t, runner: toolrun.New(o), hooks: hooks, host: &host{}}
}

// runs returns the runs of calls of the tools; their ids are "0", "1" and so on.
func (b *bench) runs(tools ...tool) []toolrun.Run {
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: hook.NewConversation(hook.ConversationData{Host: b.host})})
	runs := make([]toolrun.Run, len(tools))
	for i, x := range tools {
		runs[i].Place = hook.NewToolCall(hook.ToolCallData{Step: hook.NewStep(turn, 1, "m"), ID: string(rune('0' + i)), Tool: x.Tool, Index: i, Args: "{}"})
		runs[i].Tool, runs[i].Key = x.run, "key"
	}
	return runs
}

// runAll returns how the runs ended, by index, and the order in which they did.
func (b *bench) runAll(ctx context.Context, runs []toolrun.Run) (ends []composite.Completion, order []int) {
	ends = make([]composite.Completion, len(runs))
	b.runner.RunAll(ctx, toolrun.Env{Hooks: b.hooks, Events: context.Background(), Grace: grace}, runs, func(i int, end composite.Completion) {
		ends[i] = end
		order = append(order, i)
	})
	return ends, order
}

// all runs calls of the tools.
func (b *bench) all(ctx context.Context, tools ...tool) []composite.Completion {
	ends, _ := b.runAll(ctx, b.runs(tools...))
	return ends
}

// close closes the runner, of which nothing may be left.
func (b *bench) close() {
	b.t.Helper()
	require.Empty(b.t, b.runner.Close(b.t.Context()))
}
