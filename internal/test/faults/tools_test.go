package faults_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	goruntime "runtime"
	"strings"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/composite/args"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// counts says how often each fault has occurred, over all conversations.
type counts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counts) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[name]++
}

// tally is what the tools themselves know of what has happened, by the key that
// each call has.
type tally struct {
	mu   sync.Mutex
	runs map[string]*run
}

// run is what is known of one call.
type run struct {
	tool, conversation, turn, call string
	// again: it may run more than once.
	again   bool
	starts  int
	ended   bool
	endedAt time.Time
	text    string
	failed  bool
}

func (y *tally) start(env *hook.Env) *run {
	y.mu.Lock()
	defer y.mu.Unlock()
	r := y.runs[env.Key]
	if r == nil {
		tool := env.Call.Tool()
		turn := env.Call.Step().Turn()
		r = &run{
			tool: tool.Name, conversation: turn.Conversation().ID(), turn: turn.ID(), call: env.Call.ID(),
			again: tool.Annotations.ReadOnly || tool.Annotations.Idempotent,
		}
		if y.runs == nil {
			y.runs = map[string]*run{}
		}
		y.runs[env.Key] = r
	}
	r.starts++
	r.ended = false
	return r
}

// end notes the result that the tool returns now.
func (y *tally) end(r *run, result message.ToolResult) message.ToolResult {
	y.mu.Lock()
	defer y.mu.Unlock()
	r.ended, r.endedAt, r.text, r.failed = true, time.Now(), result.Text(), result.IsError()
	return result
}

// dice are random numbers that depend on the seed and on what they are for, and not
// on which goroutine comes first.
func dice(seed uint64, parts ...string) *rand.Rand {
	h := fnv.New64a()
	for _, p := range parts {
		_, _ = h.Write([]byte(p))
		_, _ = h.Write([]byte{0})
	}
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

func one(r *rand.Rand, n int) bool { return r.IntN(n) == 0 }

// toolInput is the schema of every tool of these tests.
const toolInput = `{"type":"object","properties":{"s":{"type":"string"}},"additionalProperties":false}`

// tool is one tool; what it does is in the worlds.
type tool struct {
	message.Tool
	run func(ctx context.Context, w *world, env *hook.Env) message.ToolResult
}

var tenMegabytes = strings.Repeat("ä", 5<<20)

func toolbox() []tool {
	named := func(name string, run func(ctx context.Context, w *world, env *hook.Env) message.ToolResult) tool {
		return tool{message.Tool{Name: name, Input: toolInput}, run}
	}
	limited := func(t tool) tool { t.Timeout = 2 * time.Second; return t }
	deaf := func(_ context.Context, w *world, env *hook.Env) message.ToolResult {
		<-w.release
		return message.TextResult("late " + env.Key)
	}
	hang := func(ctx context.Context, _ *world, env *hook.Env) message.ToolResult {
		<-ctx.Done()
		return message.FailedResult(message.FailCancelled, "gave up "+env.Key)
	}
	quit := func(context.Context, *world, *hook.Env) message.ToolResult {
		goruntime.Goexit()
		return message.ToolResult{}
	}
	okay := func(_ context.Context, _ *world, env *hook.Env) message.ToolResult {
		return message.TextResult("ok " + env.Key)
	}
	alone := named("alone", okay)
	alone.Exclusive = "key"
	reader := named("reader", okay)
	reader.Annotations.ReadOnly = true
	child := named("child", runChild)
	child.Waits = true
	return []tool{
		named("ok", okay), alone, reader, child,
		named("fail", func(_ context.Context, _ *world, env *hook.Env) message.ToolResult {
			return message.FailedResult(message.FailOperation, "failed "+env.Key)
		}),
		named("panic", func(context.Context, *world, *hook.Env) message.ToolResult { panic("boom") }),
		named("goexit", quit), limited(named("goexit_limited", quit)),
		named("hang", hang), limited(named("hang_limited", hang)),
		named("deaf", deaf), limited(named("deaf_limited", deaf)),
		named("big", func(context.Context, *world, *hook.Env) message.ToolResult { return message.TextResult(tenMegabytes) }),
		named("garbled", func(_ context.Context, _ *world, env *hook.Env) message.ToolResult {
			return message.TextResult("\xff" + env.Key + "\xc3")
		}),
		named("hidden", okay),
	}
}

// slow are the tools that end by themselves or not at all; the others take a moment.
var slow = map[string]bool{"hang": true, "hang_limited": true, "deaf": true, "deaf_limited": true, "child": true}

func runChild(ctx context.Context, w *world, env *hook.Env) message.ToolResult {
	out, err := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: "child", Input: message.TextInput("look " + env.Key), Call: env.Call})
	switch {
	case errors.Is(err, context.Canceled):
		return message.FailedResult(message.FailCancelled, "child cancelled "+env.Key)
	case err != nil:
		return message.FailedResult(message.FailOperation, fmt.Sprintf("child failed %s", env.Key))
	}
	return message.TextResult("child " + env.Key + " " + out.Text())
}

// owner is the subsystem that has the tools.
type owner struct {
	hook.Nop
	rig   *rig
	tools []tool
}

// Schema implements hook.Hook.
func (o *owner) Schema() []message.Tool {
	out := make([]message.Tool, len(o.tools))
	for i, t := range o.tools {
		out[i] = t.Tool
	}
	return out
}

// Dispatch implements hook.Hook.
func (o *owner) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	for i := range o.tools {
		if o.tools[i].Name != call.Name() {
			continue
		}
		if o.rig.w.faulty("Dispatch", call.ID(), 60) {
			o.rig.w.counts.add("Dispatch panic")
			panic("boom")
		}
		d := args.New(call, toolInput)
		obj := d.Object()
		for obj.Next() {
			if obj.Key() != "s" {
				obj.Unknown("s")
				continue
			}
			obj.Once(0)
			_ = d.String()
		}
		return d.Bind(&invocation{o.rig.w, &o.tools[i]}), true
	}
	return hook.Invocation{}, false
}

type invocation struct {
	w    *world
	tool *tool
}

// Run implements hook.Runner.
func (v *invocation) Run(ctx context.Context, env *hook.Env) message.ToolResult {
	w := v.w
	r := w.start(env)
	w.counts.add("tool " + v.tool.Name)
	if !slow[v.tool.Name] {
		d := dice(w.seed, "takes", env.Key)
		select { // never at the same moment as anything else
		case <-time.After(time.Duration(d.IntN(700))*time.Millisecond + time.Duration(1+2*d.IntN(200_000))):
		case <-ctx.Done():
			return w.end(r, message.FailedResult(message.FailCancelled, "stopped "+env.Key))
		}
	}
	if one(dice(w.seed, "progress", env.Key), 4) {
		env.Progress("half way")
	}
	return w.end(r, v.tool.run(ctx, w, env))
}
