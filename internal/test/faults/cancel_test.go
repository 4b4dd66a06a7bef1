package faults_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/history"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// timed has tools that take a while; some listen when the turn is cancelled, and
// some end what they do in the grace period, or behind it.
type timed struct {
	hook.Nop
	tally
	seed uint64
}

var timedTools = []string{"listens", "finishes", "ignores"}

// Schema implements hook.Hook.
func (*timed) Schema() []message.Tool {
	out := make([]message.Tool, len(timedTools))
	for i, name := range timedTools {
		out[i] = message.Tool{Name: name, Input: toolInput}
	}
	return out
}

// Dispatch implements hook.Hook.
func (x *timed) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	return hook.Bound(call.Args(), x), true
}

// Run implements hook.Runner.
func (x *timed) Run(ctx context.Context, env *hook.Env) message.ToolResult {
	r := x.start(env)
	d := dice(x.seed, "takes", env.Key)
	takes := time.Duration(d.IntN(1500))*time.Millisecond + time.Duration(1+2*d.IntN(200_000))
	switch env.Call.Name() {
	case "listens":
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return x.end(r, message.FailedResult(message.FailCancelled, "stopped "+env.Key))
		}
	case "ignores":
		time.Sleep(3 * takes)
	default:
		time.Sleep(takes)
	}
	return x.end(r, message.TextResult("done "+env.Key))
}

// asksForMany calls a few tools in each of three steps.
func asksForMany(seed uint64) provider.Func {
	return func(_ context.Context, req message.ModelRequest) message.ModelStream {
		d := dice(seed, "asks", fmt.Sprint(req.Messages.Len()))
		var cs []message.Chunk
		for i := range 1 + d.IntN(8) {
			cs = append(cs, message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: fmt.Sprintf("c%d_%d", req.Messages.Len(), i), Tool: timedTools[d.IntN(3)]},
				message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: `{}`}, message.Chunk{Kind: message.ChunkCallEnd, Index: i})
		}
		return chunks(append(cs, finish(message.FinishTools))...)
	}
}

// cancelled plays one turn that is cancelled at a random moment, and returns how many
// results of tools that had ended are there and are missing, and how many calls are
// marked as cancelled or interrupted. A bad store is put around the good one.
func cancelled(t *testing.T, seed uint64, bad func(store.Store, *atomic.Bool) store.Store) (kept, lost, marked int) {
	var over atomic.Bool
	disk := mem.New(&mem.Options{Journal: seed%2 == 0 || bad != nil})
	var s store.Store = disk
	if bad != nil {
		s = bad(s, &over)
	}
	tools := &timed{seed: seed}
	rt := runtime.New(tools, asksForMany(seed), &runtime.Options{Store: s, Calls: runtime.Calls{Grace: time.Second}})
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, rt.Open(ctx))
	_, err := rt.Register(ctx, hook.AgentConfig{Name: "a", Limits: hook.Limits{Steps: 3}})
	require.NoError(t, err)
	conv, err := dialog.Conversation(ctx, rt, "a", "s")
	require.NoError(t, err)
	d := dice(seed, "cancel")
	time.AfterFunc(time.Duration(d.IntN(4000))*time.Millisecond+777_777, func() {
		over.Store(true)
		if one(d, 2) {
			cancel()
		} else {
			dialog.Stop(conv)
		}
	})
	_, _ = dialog.Send(ctx, conv, message.TextInput("go"), nil)
	end := time.Now()
	cancel()
	ms, err := disk.Messages(context.Background(), conv.ID())
	require.NoError(t, err)
	if bad == nil {
		assert.Empty(t, history.Check(ms), "seed %d", seed)
	}
	results := map[string]message.ToolResult{}
	for _, m := range ms {
		if m.Role == message.RoleTool {
			results[m.CallID] = m.Result
			if m.Result.Failure == message.FailCancelled {
				marked++
			}
		}
	}
	tools.mu.Lock()
	for key, r := range tools.runs {
		result, there := results[r.call]
		switch {
		case r.ended && !r.endedAt.After(end) && there && result.Text() == r.text:
			kept++
		case r.ended && !r.endedAt.After(end):
			lost++
		case bad == nil && result.Failure != message.FailCancelled:
			t.Errorf("seed %d: %s has not ended, and its result is %q", seed, key, result.Text())
		}
	}
	tools.mu.Unlock()
	time.Sleep(time.Hour) // the strays end
	require.NoError(t, rt.Close(context.Background()))
	return kept, lost, marked
}

// TestCancels cancels turns at random moments: the result of every tool that has
// ended by then, or ends in the grace period, is in the history with its own bytes,
// and all others are marked.
func TestCancels(t *testing.T) {
	kept, marked := 0, 0
	for seed := range uint64(*cancelsFlag) {
		synctest.Test(t, func(t *testing.T) {
			k, lost, m := cancelled(t, seed, nil)
			if kept, marked = kept+k, marked+m; lost > 0 {
				t.Errorf("seed %d: %d results are lost", seed, lost)
			}
		})
	}
	figure(t, "seed", 0, "of the first turn, then 1, 2, …")
	figure(t, "cancels", *cancelsFlag, "")
	figure(t, "kept", kept, "results of tools that had ended, 0 lost")
	figure(t, "marked", marked, "calls as cancelled or interrupted")
	assert.Positive(t, kept)
	assert.Positive(t, marked)
}

// allOrNothing is a store of a loop that commits a step when all of its calls have
// ended as they should, and drops it when the turn is cancelled.
type allOrNothing struct {
	store.Store
	cancelled *atomic.Bool
}

func (s allOrNothing) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	n.Entries = nil
	return s.Store.Note(ctx, id, n)
}

func (s allOrNothing) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	if s.cancelled.Load() {
		a.Messages = message.Messages{}
	}
	return s.Store.Append(ctx, id, a)
}

func TestCancelsFindWhoCommitsAllOrNothing(t *testing.T) {
	lost := 0
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			_, l, _ := cancelled(t, seed, func(s store.Store, over *atomic.Bool) store.Store { return allOrNothing{s, over} })
			lost += l
		})
	}
	assert.Positive(t, lost)
	figure(t, "bad.all-or-nothing", lost, "results lost")
}
