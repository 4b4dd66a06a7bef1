// Package rig has what the tests of the runtime share: a model that plays a script, tools made of functions, and a runtime
// with an agent and a conversation.
package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// Model is a provider that plays one script per request and remembers what it
// was asked.
type Model struct {
	Mu       sync.Mutex
	Replies  []message.ModelStream
	Requests []message.ModelRequest
	// ctx is that of the last request.
	Ctx context.Context
}

// Plays is a provider with these answers; it panics where one is nil.
func Plays(replies ...message.ModelStream) *Model { return &Model{Replies: replies} }

func (m *Model) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.Ctx = ctx
	n := len(m.Requests)
	m.Requests = append(m.Requests, req)
	if n >= len(m.Replies) {
		return Says("nothing left to say")
	}
	if m.Replies[n] == nil {
		panic("boom")
	}
	return m.Replies[n]
}

var _ provider.Provider = (*Model)(nil)

// Chunks streams the chunks and finishes unless they do.
func Chunks(cs ...message.Chunk) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		for _, c := range cs {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func Text(s string) message.Chunk { return message.Chunk{Kind: message.ChunkText, Text: s} }

func Finish(r message.FinishReason) message.Chunk {
	return message.Chunk{Kind: message.ChunkFinish, Finish: r, Usage: message.Usage{Input: 10, Output: 5}}
}

func Says(words ...string) message.ModelStream {
	var cs []message.Chunk
	for _, w := range words {
		cs = append(cs, Text(w))
	}
	return Chunks(append(cs, Finish(message.FinishStop))...)
}

// ToolCall is a call that the model makes.
type ToolCall struct{ ID, Tool, Args string }

// Call is a call of the tool with these arguments, as JSON.
func Call(id, tool, args string) ToolCall { return ToolCall{id, tool, args} }

func Calls(ws ...ToolCall) message.ModelStream { return Finishes(message.FinishTools, ws...) }

func Finishes(r message.FinishReason, ws ...ToolCall) message.ModelStream {
	var cs []message.Chunk
	for i, w := range ws {
		cs = append(cs,
			message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: w.ID, Tool: w.Tool},
			message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: w.Args},
			message.Chunk{Kind: message.ChunkCallEnd, Index: i})
	}
	return Chunks(append(cs, Finish(r))...)
}

// Toolbox is a subsystem with tools made of functions. Their arguments are one
// optional string, decoded strictly enough for these tests.
type Toolbox struct {
	hook.Nop
	Tools []Tool
	Scope hook.Scope
	// dispatched counts the names that Dispatch was asked for.
	mu         sync.Mutex
	Dispatched map[string]int
}

type Tool struct {
	message.Tool
	Run func(ctx context.Context, env *hook.Env, s string) message.ToolResult
}

// Named is a tool that returns its argument after its own name.
func Named(name string) Tool {
	return Tool{message.Tool{Name: name}, func(_ context.Context, _ *hook.Env, s string) message.ToolResult {
		return message.TextResult(name + ":" + s)
	}}
}

func Does(name string, run func(ctx context.Context) message.ToolResult) Tool {
	return Tool{message.Tool{Name: name}, func(ctx context.Context, _ *hook.Env, _ string) message.ToolResult { return run(ctx) }}
}

func Box(tools ...Tool) *Toolbox { return &Toolbox{Tools: tools, Dispatched: map[string]int{}} }

const BoxSchema = `{"type":"object","properties":{"s":{"type":"string"}}}`

func (b *Toolbox) Schema() []message.Tool {
	out := make([]message.Tool, len(b.Tools))
	for i, t := range b.Tools {
		out[i] = t.Tool
		out[i].Input = BoxSchema
	}
	return out
}

func (b *Toolbox) ScopedTools(*hook.AgentConfig) hook.Scope { return b.Scope }

func (b *Toolbox) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	b.mu.Lock()
	b.Dispatched[call.Name()]++
	b.mu.Unlock()
	i := slices.IndexFunc(b.Tools, func(t Tool) bool { return t.Name == call.Name() })
	if i < 0 {
		return hook.Invocation{}, false
	}
	var in map[string]string
	if err := json.Unmarshal([]byte(call.Args()), &in); err != nil {
		return hook.BadArgs(call.Args(), &hook.ArgError{Tool: call.Name(), Reason: "is not an object of strings", Schema: BoxSchema}), true
	}
	for k := range in {
		if k != "s" {
			return hook.BadArgs(call.Args(), &hook.ArgError{Tool: call.Name(), Path: k, Reason: "is unknown", Schema: BoxSchema}), true
		}
	}
	args := message.JSON(`{}`)
	if s, ok := in["s"]; ok {
		args = message.JSON(fmt.Sprintf(`{"s":%q}`, s))
	}
	return hook.Bound(args, BoxRun{b.Tools[i], in["s"]}), true
}

type BoxRun struct {
	Tool Tool
	s    string
}

func (r BoxRun) Run(ctx context.Context, env *hook.Env) message.ToolResult {
	return r.Tool.Run(ctx, env, r.s)
}

func Sleeps(name string, d time.Duration) Tool {
	return Does(name, func(ctx context.Context) message.ToolResult {
		select {
		case <-time.After(d):
			return message.TextResult(name)
		case <-ctx.Done():
			return message.FailedResult(message.FailCancelled, ctx.Err().Error())
		}
	})
}
