package hooktest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
)

func TestPlacesFillInWhatIsMissing(t *testing.T) {
	call := hooktest.Call(nil, "pad_add", `{}`)
	assert.Equal(t, "pad_add", call.Name())
	assert.Equal(t, call.Args(), call.Original())
	turn := call.Step().Turn()
	assert.Equal(t, "tester", turn.Agent().Name)
	assert.Equal(t, "hello", turn.Input().Text())
	assert.Equal(t, 1, turn.Number())
	assert.Equal(t, 1, call.Step().Number())
	assert.Zero(t, turn.Elapsed(), "the clock stands still")
}

func TestPlacesKeepWhatIsGiven(t *testing.T) {
	var host hooktest.Recorder
	agent := hooktest.Agent(hook.AgentConfig{Name: "writer", Limits: hook.Limits{Steps: 3}})
	turn := hooktest.Turn(hooktest.Conversation(agent, &host), "do it")
	assert.Same(t, agent, turn.Agent())
	assert.Equal(t, 3, turn.Limits().Steps)
	assert.Equal(t, "do it", turn.Input().Text())
	hooktest.Call(hooktest.Step(turn), "x", "").Host().Emit(t.Context(), hook.Event{Kind: event.SkillLoaded})
	assert.Equal(t, []hook.EventKind{event.SkillLoaded}, host.Kinds())
}

func TestRecorder(t *testing.T) {
	var host hooktest.Recorder
	assert.Empty(t, host.Events())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { host.Emit(context.Background(), hook.Event{Kind: event.Diagnostic}) })
	}
	wg.Wait()
	events := host.Events()
	for i, ev := range events {
		assert.EqualValues(t, i+1, ev.Seq)
	}
	events[0].Text = "changed"
	assert.Empty(t, host.Events()[0].Text, "Events copies")
}

func TestInvoke(t *testing.T) {
	ctx := t.Context()
	good := message.JSON(`{ "title": "ab-1", "level": 4 }`)
	assert.Equal(t, message.TextResult(`added {"title":"ab-1","level":4}`), hooktest.Invoke(ctx, &pad{}, hooktest.Call(nil, "pad_add", good)))
	assert.Equal(t, message.FailArguments, hooktest.Invoke(ctx, &pad{}, hooktest.Call(nil, "pad_add", `{}`)).Failure)
	assert.Equal(t, message.FailNotRegistered, hooktest.Invoke(ctx, &pad{}, hooktest.Call(nil, "bash", `{}`)).Failure)
}

// slow is a tool with a timeout that tells its deadline.
type slow struct{ hook.Nop }

func (slow) Schema() []message.Tool { return []message.Tool{{Name: "slow", Timeout: time.Hour}} }

func (s slow) Dispatch(context.Context, *hook.ToolCall) (hook.Invocation, bool) {
	return hook.Bound(`{}`, s), true
}

func (slow) Run(ctx context.Context, env *hook.Env) message.ToolResult {
	deadline, ok := ctx.Deadline()
	if !ok || !deadline.Equal(env.Deadline) || env.Attempt != 1 || env.Key == "" {
		return message.FailedResult(message.FailOperation, "no deadline")
	}
	return message.ToolResult{}
}

func TestInvokeBoundsTheRun(t *testing.T) {
	assert.False(t, hooktest.Invoke(t.Context(), slow{}, hooktest.Call(nil, "slow", "")).IsError())
}

func TestForeignToolsAreHeldToLess(t *testing.T) {
	remote := func() hook.Hook {
		b := &bad{}
		b.schema = tools(func(t *message.Tool) {
			t.Description = ""
			t.Input = `{"type":"object","properties":{"title":{"$ref":"#/$defs/t"},"level":{}},"required":["title","level"],"$defs":{"t":{"type":"string"}}}`
		})
		return b
	}
	args := map[string]message.JSON{"pad_add": `{"title":"ab-1","level":4}`}
	assert.Empty(t, hooktest.Check(t.Context(), remote, &hooktest.Options{
		Args: args, Foreign: func(tool message.Tool) bool { return tool.Name == "pad_add" },
	}))
	found := map[string]bool{}
	for _, v := range hooktest.Check(t.Context(), remote, &hooktest.Options{Args: args}) {
		found[v.Rule] = true
	}
	assert.Equal(t, map[string]bool{"schema-subset": true, "schema-described": true}, found)
}

func TestPanicsAreFindings(t *testing.T) {
	found := hooktest.Check(t.Context(), func() hook.Hook {
		return &bad{prompt: func() string { panic("no template") }}
	}, nil)
	if assert.Len(t, found, 1) {
		assert.Equal(t, "prompt-stable", found[0].Rule)
		assert.Contains(t, found[0].Found, "no template")
	}
}
