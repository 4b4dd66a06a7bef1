package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/history"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// An agent hands tasks to others. Their turns are children of its own: they pass
// the same hooks, may do no more, spend of the same budget and end with it.

// cast is a model for each agent, by the agent's name.
type cast map[string]*model

func (c cast) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	return c[req.Model.Name].Stream(ctx, req)
}

// stage is a runtime with the agent "chief" and others. Each asks the model of its
// own name.
func stage(t *testing.T, c cast, o *runtime.Options, cfgs []hook.AgentConfig, hooks ...hook.Hook) *world {
	t.Helper()
	if o == nil {
		o = &runtime.Options{}
	}
	if o.Store == nil {
		o.Store = mem.New(&mem.Options{Journal: true})
	}
	w := &world{t: t, store: o.Store}
	w.rt = runtime.New(compose(t, hooks), c, o)
	require.NoError(t, w.rt.Open(t.Context()))
	t.Cleanup(func() { _ = w.rt.Close(context.Background()) })
	for _, cfg := range cfgs {
		cfg.Model.Name = cfg.Name
		_, err := w.rt.Register(t.Context(), cfg)
		require.NoError(t, err)
	}
	var err error
	w.conv, err = dialog.Conversation(t.Context(), w.rt, "chief", "ann")
	require.NoError(t, err)
	return w
}

func agents(names ...string) []hook.AgentConfig {
	out := make([]hook.AgentConfig, len(names))
	for i, name := range names {
		out[i].Name = name
	}
	return out
}

// delegates is a reply that gives each agent a task.
func delegates(names ...string) message.ModelStream {
	tasks := make([]delegate.Task, len(names))
	for i, name := range names {
		tasks[i] = delegate.Task{Agent: name, Message: "task " + fmt.Sprint(i)}
	}
	args, err := json.Marshal(delegate.DelegateInput{Tasks: tasks})
	if err != nil {
		panic(err)
	}
	return calls(want{"d1", "delegate", string(args)})
}

// tasks returns what delegate has brought back.
func (w *world) tasks() []delegate.TaskResult {
	w.t.Helper()
	var out []delegate.TaskResult
	results := w.results()
	require.NoError(w.t, json.Unmarshal([]byte(results[len(results)-1]), &out), results[len(results)-1])
	return out
}

func breaks(err error) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) { yield(message.Chunk{}, err) }
}

func TestSpecOfThreeTasksOneFailsAndOneIsCancelled(t *testing.T) {
	t.Parallel()
	tool := newGate("wait")
	c := cast{
		"chief": plays(delegates("writer", "breaker", "sleeper"), says("one of three")), "writer": plays(says("written")),
		"breaker": plays(breaks(errors.New("no model today"))), "sleeper": plays(calls(want{"c1", "wait", `{}`})),
	}
	w := stage(t, c, nil, agents("chief", "writer", "breaker", "sleeper"), delegate.New(nil), box(tool.tool))
	ended := make(chan hook.TurnOutcome, 1)
	go func() { out, _ := w.try(t.Context(), "do it"); ended <- out }()
	<-tool.reached
	now, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, w.rt.Unregister(now, "sleeper"), "an agent that goes takes its child turns along")

	out := <-ended
	assert.Equal(t, "one of three", out.Text(), "the one that delegates goes on")
	assert.Equal(t, []delegate.TaskResult{
		{Agent: "writer", Result: "written", Stop: hook.StopCompleted},
		{Agent: "breaker", Stop: hook.StopError, Error: "no model today"},
		{Agent: "sleeper", Stop: hook.StopCancelled, Error: "cancelled before it had finished"},
	}, w.tasks())

	children, err := w.store.(store.Child).Children(t.Context(), w.conv.ID())
	require.NoError(t, err)
	require.Len(t, children, 3, "each has a conversation of its own")
	for _, child := range children {
		ms, err := w.store.Messages(t.Context(), child.ID)
		require.NoError(t, err)
		assert.Empty(t, history.Check(ms), child.Key.Agent)
	}
	all, err := w.store.List(t.Context())
	require.NoError(t, err)
	assert.Len(t, all, 1, "which people do not see")
}

func TestSpecAChildIsHeardInItsParentsStream(t *testing.T) {
	t.Parallel()
	c := cast{"chief": plays(delegates("writer"), says("done")), "writer": plays(calls(want{"c1", "echo", `{"s":"x"}`}), says("written"))}
	w := stage(t, c, nil, agents("chief", "writer"), delegate.New(nil), box(named("echo")))
	out := w.send("do it")
	assert.Equal(t, int64(60), out.Usage.Total(), "four model calls of 15")

	var child []hook.EventKind
	for i, ev := range w.events {
		assert.Equal(t, uint64(i+1), ev.Seq, "one stream without gaps")
		assert.Equal(t, w.conv.ID(), ev.Conversation)
		if ev.Depth == 1 {
			assert.Equal(t, "writer", ev.Agent)
			child = append(child, ev.Kind)
		} else {
			assert.Equal(t, "chief", ev.Agent)
		}
	}
	assert.Equal(t, []hook.EventKind{
		event.SubagentStart, event.TurnStart,
		event.StepStart, event.Usage, event.CallsBegin, event.CallStart, event.CallResult, event.CallsComplete, event.StepEnd,
		event.StepStart, event.TextStart, event.TextDelta, event.TextEnd, event.Usage, event.StepEnd,
		event.TurnEnd, event.SubagentEnd,
	}, child)
	end := w.eventsOf(event.SubagentEnd)[0]
	assert.Equal(t, "written", end.Text)
	assert.Equal(t, "d1", end.Detail().CallID)
	assert.Equal(t, int64(30), end.Detail().Usage.Total())
	assert.Equal(t, hook.StopCompleted, end.Detail().Stop)
}

func TestSpecAChildEndsWithItsParent(t *testing.T) {
	t.Parallel()
	tool := newGate("wait")
	c := cast{"chief": plays(delegates("sleeper", "sleeper")), "sleeper": plays(calls(want{"c1", "wait", `{}`}), calls(want{"c1", "wait", `{}`}))}
	w := stage(t, c, nil, agents("chief", "sleeper"), delegate.New(nil), box(tool.tool))
	ended := make(chan hook.TurnOutcome, 1)
	go func() { out, _ := w.try(t.Context(), "do it"); ended <- out }()
	<-tool.reached
	<-tool.reached
	require.True(t, dialog.Stop(w.conv))
	assert.Equal(t, hook.StopUserRequested, (<-ended).Stop)

	open := map[string]int{}
	for _, ev := range w.events {
		switch ev.Kind {
		case event.SubagentStart, event.TurnStart, event.StepStart:
			open[ev.Turn]++
		case event.SubagentEnd, event.TurnEnd, event.StepEnd:
			open[ev.Turn]--
		}
	}
	assert.Len(t, open, 3)
	for turn, n := range open {
		assert.Zero(t, n, "every bracket of %s is closed", turn)
	}
	for _, end := range w.eventsOf(event.SubagentEnd) {
		assert.Equal(t, hook.StopUserRequested, end.Detail().Stop, "the child knows why")
	}
}

func TestSpecWhoWaitsForAChildHoldsNoSlot(t *testing.T) {
	t.Parallel()
	c := cast{"chief": plays(delegates("writer", "writer"), says("done")), "writer": plays(calls(want{"c1", "echo", `{}`}), calls(want{"c1", "echo", `{}`}), says("written"), says("written"))}
	w := stage(t, c, &runtime.Options{Calls: runtime.Calls{Slots: 1}}, agents("chief", "writer"), delegate.New(nil), box(named("echo")))
	assert.Equal(t, "done", w.send("do it").Text())
	assert.Equal(t, []string{"completed", "completed"}, []string{string(w.tasks()[0].Stop), string(w.tasks()[1].Stop)})
}

func TestSpecAChildSpendsOfItsParentsTokens(t *testing.T) {
	t.Parallel()
	c := cast{
		"chief":  plays(delegates("writer"), says("not asked any more")),
		"writer": plays(calls(want{"c1", "echo", `{}`}), calls(want{"c2", "echo", `{}`}), says("never said")),
	}
	chief := hook.AgentConfig{Name: "chief", Limits: hook.Limits{Tokens: 40}}
	w := stage(t, c, nil, append(agents("writer"), chief), delegate.New(nil), box(named("echo")))
	out := w.send("do it")
	assert.Equal(t, hook.StopTokenLimit, out.Stop)
	assert.Equal(t, int64(45), out.Usage.Total())
	assert.Equal(t, hook.StopTokenLimit, w.tasks()[0].Stop)
	assert.Len(t, c["writer"].requests, 2)
	assert.Len(t, c["chief"].requests, 1)
}

func TestSpecAgentsRunAgentsOnlySoDeep(t *testing.T) {
	t.Parallel()
	c := cast{"chief": plays(delegates("chief"), delegates("chief"), says("not deeper"), says("done"))}
	w := stage(t, c, &runtime.Options{Limits: runtime.Limits{Depth: 1}}, agents("chief"), delegate.New(nil))
	w.send("do it")
	assert.Equal(t, []delegate.TaskResult{{Agent: "chief", Result: "not deeper", Stop: hook.StopCompleted}}, w.tasks())
	assert.Contains(t, w.results()[0], "agents may not run agents any deeper")
}

// What the agents that an agent runs run themselves counts, too.
func TestSpecATurnRunsOnlySoManyAgents(t *testing.T) {
	t.Parallel()
	c := cast{
		"chief":  plays(delegates("helper"), delegates("helper"), says("done"), delegates("helper"), says("and again")),
		"helper": plays(delegates("writer"), says("helped"), says("not alone"), delegates("writer"), says("helped again")),
		"writer": plays(says("written"), says("written again")),
	}
	w := stage(t, c, &runtime.Options{Limits: runtime.Limits{Children: 3}}, agents("chief", "helper", "writer"), delegate.New(nil))
	w.send("do it")
	assert.Empty(t, w.tasks()[0].Error)
	assert.Len(t, c["writer"].requests, 1)
	w = stage(t, cast{"chief": plays(delegates("helper"), delegates("helper"), says("done")), "helper": plays(says("helped"))},
		&runtime.Options{Limits: runtime.Limits{Children: 1}}, agents("chief", "helper"), delegate.New(nil))
	w.send("do it")
	assert.Contains(t, w.results()[1], "no more agents can be run for this request")
}

func TestSpecAChildMayDoNoMoreThanItsParent(t *testing.T) {
	t.Parallel()
	c := cast{
		"chief":  plays(delegates("writer"), says("done")),
		"writer": plays(calls(want{"c1", "secret", `{}`}, want{"c2", "own", `{}`}, want{"c3", "both", `{}`}), says("written")),
	}
	chief := hook.AgentConfig{Name: "chief", Tools: []string{"delegate", "own", "both"}}
	writer := hook.AgentConfig{Name: "writer", Tools: []string{"both", "secret"}}
	b := box(named("own"), named("both"), named("secret"))
	w := stage(t, c, nil, []hook.AgentConfig{chief, writer}, delegate.New(nil), b)
	w.send("do it")
	var offered []string
	for _, tool := range c["writer"].requests[0].Tools.Tools().All() {
		offered = append(offered, tool.Name)
	}
	assert.Equal(t, []string{"both"}, offered)
	assert.Equal(t, map[string]int{"both": 1}, b.dispatched, "and what is not offered is not asked about")
}

func TestSpecAnAgentThatNobodyHasRegisteredIsFound(t *testing.T) {
	t.Parallel()
	c := cast{"chief": plays(delegates("writer", "nobody"), says("done")), "writer": plays(says("written"))}
	find := func(_ context.Context, name string) (hook.AgentConfig, error) {
		if name != "writer" {
			return hook.AgentConfig{}, fmt.Errorf("%w: %q", runtime.ErrAgentUnknown, name)
		}
		return hook.AgentConfig{Model: message.Model{Name: "writer"}}, nil
	}
	w := stage(t, c, &runtime.Options{FindAgent: find}, agents("chief"), delegate.New(nil))
	w.send("do it")
	tasks := w.tasks()
	assert.Equal(t, "written", tasks[0].Result)
	assert.Contains(t, tasks[1].Error, `no such agent: "nobody"`)
	assert.Equal(t, []string{"chief", "writer"}, w.rt.Agents())
}

func TestSpecAnAgentThatIsBeingUnregisteredEndsItsTurnFirst(t *testing.T) {
	t.Parallel()
	tool := newGate("wait")
	w := start(t, plays(calls(want{"c1", "wait", `{}`}), says("done")), box(tool.tool))
	ended := make(chan error, 1)
	go func() { _, err := w.try(t.Context(), "1"); ended <- err }()
	<-tool.reached
	gone := make(chan error, 1)
	go func() { gone <- w.rt.Unregister(t.Context(), "a") }()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, err := w.rt.Agent("a")
		assert.ErrorIs(c, err, runtime.ErrAgentClosing)
	}, time.Minute, time.Millisecond)
	_, err := w.conv.Fork(t.Context(), 0, "bob")
	require.ErrorIs(t, err, runtime.ErrAgentClosing)
	steers(t, w, "quickly")
	close(tool.open)
	require.NoError(t, <-ended)
	require.NoError(t, <-gone)
	assert.Equal(t, []string{"user 1", "assistant [c1 wait {}]", "tool c1 wait: through", "user quickly", "assistant done"}, w.history())
	_, err = dialog.Send(t.Context(), w.conv, message.TextInput("2"), nil)
	require.ErrorIs(t, err, runtime.ErrAgentUnknown)
}

// slowHook takes its time to build an agent, as one does that starts servers.
type slowHook struct{ hook.Nop }

func (slowHook) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	time.Sleep(time.Second)
	return cfg, nil
}

func TestSpecTwoTasksForAnAgentThatHasToBeRegisteredFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cast{"chief": plays(delegates("writer", "writer"), says("done")), "writer": plays(says("written"), says("written"))}
		found := 0
		o := &runtime.Options{FindAgent: func(_ context.Context, name string) (hook.AgentConfig, error) {
			found++
			return hook.AgentConfig{Model: message.Model{Name: name}}, nil
		}}
		w := stage(t, c, o, agents("chief"), delegate.New(nil), slowHook{})
		w.send("do it")
		done := delegate.TaskResult{Agent: "writer", Result: "written", Stop: hook.StopCompleted}
		assert.Equal(t, []delegate.TaskResult{done, done}, w.tasks())
		assert.Equal(t, 1, found, "it is registered once")
		require.NoError(t, w.rt.Close(t.Context()))
	})
}

// A delegated task continues with the agent that has delegated it, or not at all: no
// caller gets its conversation for one of a person, also not after the process
// that ran it has died.
func TestSpecNobodyTalksToAChild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	held := newGate("held")
	c := cast{"chief": plays(delegates("writer"), says("done")), "writer": plays(calls(want{"c1", "held", `{}`}), says("written"))}
	dying := &dyingStore{Store: openSQLite(t, dir)}
	w := stage(t, c, &runtime.Options{Store: dying}, agents("chief", "writer"), delegate.New(nil), box(held.tool))
	go func() { _, _ = dialog.Send(t.Context(), w.conv, message.TextInput("do it"), nil) }()
	<-held.reached
	children, err := dying.Children(t.Context(), w.conv.ID())
	require.NoError(t, err)
	require.Len(t, children, 1)
	dying.dead.Store(true)
	close(held.open)
	require.NoError(t, w.rt.Close(context.WithoutCancel(t.Context())))

	again := stage(t, cast{"chief": plays(says("later")), "writer": plays(says("alone"))}, &runtime.Options{
		Store: openSQLite(t, dir), Gone: func(string) bool { return true },
	}, agents("chief", "writer"), delegate.New(nil), box(newGate("held").tool))
	_, err = dialog.Conversation(t.Context(), again.rt, "writer", children[0].Key.Sender)
	require.ErrorIs(t, err, runtime.ErrChild)
	assert.EqualError(t, err, "runtime: the conversation belongs to a task that another agent delegated; send to the agent itself, with another sender: "+children[0].ID)
	again.send("go on")
}
