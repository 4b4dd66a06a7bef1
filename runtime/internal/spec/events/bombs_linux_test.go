package events_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// bomb is something that would take all memory if nothing were bounded.
type bomb struct {
	// cap is what its process may take at most, in MiB.
	cap int64
	// bad: the cap has to find it.
	bad bool
	run func(t *testing.T)
}

var bombEvents = flag.Int("bombs", 150_000, "events that each bomb of events emits")

// emitsMany is a tool that emits n events.
func emitsMany(n int, emit func(ctx context.Context, env *hook.Env, i int)) rig.Tool {
	return rig.Tool{Tool: message.Tool{Name: "x"}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		for i := range n {
			emit(ctx, env, i)
		}
		return message.TextResult("done")
	}}
}

func diagnostic(ctx context.Context, env *hook.Env, i int) {
	env.Call.Host().Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: fmt.Sprintf("%0128d", i)})
}

var bombs = map[string]bomb{
	"output of 100 MB": {cap: 512, run: func(t *testing.T) {
		out := strings.Repeat("€", 100_000_000/3)
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), rig.Box(rig.Does("x", func(context.Context) message.ToolResult { return message.TextResult(out) })))
		assert.Equal(t, "done", w.Send("go").Text())
		r := w.Results()[0]
		assert.Less(t, len(r), 2*100_000)
		assert.True(t, utf8.ValidString(r))
		assert.NotContains(t, r, "\uFFFD")
		assert.Contains(t, r, "left out")
	}},
	"10,000 tools": {cap: 256, run: func(t *testing.T) {
		tools := make([]rig.Tool, 10_000)
		for i := range tools {
			tools[i] = rig.Named(fmt.Sprint("tool_", i))
		}
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "tool_9999", "{}")), rig.Says("done")), rig.Box(tools...))
		assert.Equal(t, "done", w.Send("go").Text())
		assert.Equal(t, []string{"tool_9999:"}, w.Results())
	}},
	"a flood of events of one tool": {cap: 128, run: func(t *testing.T) {
		st := &countingStore{Store: mem.New(&mem.Options{Journal: true})}
		w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), hook.AgentConfig{Name: "a"},
			&runtime.Options{Store: st, Events: runtime.Events{Recent: 4096}}, rig.Box(emitsMany(*bombEvents, diagnostic)))
		told := 0
		out, err := dialog.Send(t.Context(), w.Conv, message.TextInput("go"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
			if ev.Kind != event.TextDelta {
				told++
			}
		}})
		require.NoError(t, err)
		assert.Equal(t, "done", out.Text())
		assert.Greater(t, told, *bombEvents)
		assert.EqualValues(t, told, st.events.Load(), "each is kept")
	}},
	"progress as fast as can be of eight tools": {cap: 128, run: func(t *testing.T) {
		ws := make([]rig.ToolCall, 8)
		for i := range ws {
			ws[i] = rig.Call("", "x", "{}")
		}
		progress := emitsMany(*bombEvents/8, func(_ context.Context, env *hook.Env, i int) { env.Progress(fmt.Sprintf("%0128d", i)) })
		w := rig.StartWith(t, rig.Plays(rig.Calls(ws...), rig.Says("done")), hook.AgentConfig{Name: "a"}, &runtime.Options{Events: runtime.Events{Recent: 4096}}, rig.Box(progress))
		told := 0
		out, err := dialog.Send(t.Context(), w.Conv, message.TextInput("go"), &runtime.TurnOptions{Observe: func(hook.Event) { told++ }})
		require.NoError(t, err)
		assert.Equal(t, "done", out.Text())
		assert.GreaterOrEqual(t, told, *bombEvents/8*8)
	}},
	"progress of 10 MB at a time": {cap: 256, run: func(t *testing.T) {
		huge := strings.Repeat("x", 10<<20)
		w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), hook.AgentConfig{Name: "a"}, &runtime.Options{Events: runtime.Events{Recent: 4096}},
			rig.Box(emitsMany(1000, func(_ context.Context, env *hook.Env, _ int) { env.Progress(huge) })))
		out, err := dialog.Send(t.Context(), w.Conv, message.TextInput("go"), nil)
		require.NoError(t, err)
		assert.Equal(t, "done", out.Text())
	}},
	"abandoned calls that report for ever": {cap: 256, run: func(t *testing.T) {
		var ended sync.WaitGroup
		stop := make(chan struct{})
		deaf := rig.Tool{Tool: message.Tool{Name: "x"}, Run: func(_ context.Context, env *hook.Env, _ string) message.ToolResult {
			defer ended.Done()
			for {
				select {
				case <-stop:
					return message.ToolResult{}
				default:
					env.Progress("still here")
				}
			}
		}}
		ended.Add(4)
		w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("", "x", "{}"), rig.Call("", "x", "{}"), rig.Call("", "x", "{}"), rig.Call("", "x", "{}"))),
			hook.AgentConfig{Name: "a"}, &runtime.Options{Calls: runtime.Calls{Grace: 10 * time.Millisecond}}, rig.Box(deaf))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		out, err := dialog.Send(ctx, w.Conv, message.TextInput("go"), &runtime.TurnOptions{Observe: func(hook.Event) {}})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, hook.StopCancelled, out.Stop)
		close(stop)
		ended.Wait()
	}},
	"arguments of depth 100,000": {cap: 256, run: func(t *testing.T) {
		deep := `{"s":` + strings.Repeat(`[`, 100_000) + strings.Repeat(`]`, 100_000) + `}`
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", deep)), rig.Says("done")), rig.Box(rig.Named("x")))
		assert.Equal(t, "done", w.Send("go").Text())
		assert.Contains(t, w.History()[2], "invalid_arguments")
	}},
	"a subscriber without a bound": {cap: 128, bad: true, run: func(t *testing.T) {
		var held []hook.Event
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")),
			rig.Observer{Do: func(_ context.Context, ev hook.Event) { held = append(held, ev) }}, rig.Box(emitsMany(*bombEvents, diagnostic)))
		w.Send("go")
		assert.Greater(t, len(held), *bombEvents)
	}},
}

// countingStore counts the events that come, and forgets them.
type countingStore struct {
	*mem.Store
	events atomic.Int64
}

func (f *countingStore) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	f.events.Add(int64(len(a.Events)))
	a.Events = nil
	return f.Store.Append(ctx, id, a)
}

func (f *countingStore) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	f.events.Add(int64(len(n.Events)))
	n.Events = nil
	return f.Store.Note(ctx, id, n)
}

const bombVariable = "GRAPNEL_BOMB"

// TestBombs: each bomb goes off in a process of its own. The turn ends as it should,
// and the process never takes more than its cap.
func TestBombs(t *testing.T) {
	needs.Proof(t)
	if name := os.Getenv(bombVariable); name != "" {
		bombs[name].run(t)
		return
	}
	for name, b := range bombs {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBombs$", "-test.count=1", "-bombs="+strconv.Itoa(*bombEvents))
			cmd.Env = append(os.Environ(), bombVariable+"="+name)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
			id := strings.Map(func(r rune) rune {
				if r == ' ' || r == ',' {
					return '-'
				}
				return r
			}, name)
			if b.bad {
				assert.Greater(t, peak, b.cap)
				figure(t, "bad.unbounded", peak, fmt.Sprintf("MiB, found by the cap of %d", b.cap))
				return
			}
			if allocs.Counted {
				assert.Less(t, peak, b.cap)
			}
			figure(t, id, peak, fmt.Sprintf("MiB at most, of %d", b.cap))
		})
	}
}
