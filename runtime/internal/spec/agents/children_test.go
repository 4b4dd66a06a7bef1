package agents_test

import (
	"context"
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
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// An agent hands tasks to others. Their turns are children of its own: they pass
// the same hooks, may do no more, spend of the same budget and end with it.

func TestSpecOfThreeTasksOneFailsAndOneIsCancelled(t *testing.T) {
	t.Parallel()
	tool := rig.NewGate("wait")
	c := rig.Cast{
		"chief": rig.Plays(rig.Delegates("writer", "breaker", "sleeper"), rig.Says("one of three")), "writer": rig.Plays(rig.Says("written")),
		"breaker": rig.Plays(rig.Fails(errors.New("no model today"))), "sleeper": rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`))),
	}
	w := rig.Stage(t, c, nil, rig.Agents("chief", "writer", "breaker", "sleeper"), delegate.New(nil), rig.Box(tool.Tool))
	ended := make(chan hook.TurnOutcome, 1)
	go func() { out, _ := w.Try(t.Context(), "do it"); ended <- out }()
	<-tool.Reached
	now, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, w.Runtime.Unregister(now, "sleeper"), "an agent that goes takes its child turns along")

	out := <-ended
	assert.Equal(t, "one of three", out.Text(), "the one that delegates goes on")
	assert.Equal(t, []delegate.TaskResult{
		{Agent: "writer", Result: "written", Stop: hook.StopCompleted},
		{Agent: "breaker", Stop: hook.StopError, Error: "no model today"},
		{Agent: "sleeper", Stop: hook.StopCancelled, Error: "cancelled before it had finished"},
	}, w.Tasks())

	children, err := w.Store.(store.Child).Children(t.Context(), w.Conv.ID())
	require.NoError(t, err)
	require.Len(t, children, 3, "each has a conversation of its own")
	for _, child := range children {
		ms, err := w.Store.Messages(t.Context(), child.ID)
		require.NoError(t, err)
		assert.Empty(t, history.Check(ms), child.Key.Agent)
	}
	all, err := w.Store.List(t.Context())
	require.NoError(t, err)
	assert.Len(t, all, 1, "which people do not see")
}

func TestSpecAChildIsHeardInItsParentsStream(t *testing.T) {
	t.Parallel()
	c := rig.Cast{"chief": rig.Plays(rig.Delegates("writer"), rig.Says("done")), "writer": rig.Plays(rig.Calls(rig.Call("c1", "echo", `{"s":"x"}`)), rig.Says("written"))}
	w := rig.Stage(t, c, nil, rig.Agents("chief", "writer"), delegate.New(nil), rig.Box(rig.Named("echo")))
	out := w.Send("do it")
	assert.Equal(t, int64(60), out.Usage.Total(), "four model calls of 15")

	var child []hook.EventKind
	for i, ev := range w.Events {
		assert.Equal(t, uint64(i+1), ev.Seq, "one stream without gaps")
		assert.Equal(t, w.Conv.ID(), ev.Conversation)
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
	end := w.EventsOf(event.SubagentEnd)[0]
	assert.Equal(t, "written", end.Text)
	assert.Equal(t, "d1", end.Detail().CallID)
	assert.Equal(t, int64(30), end.Detail().Usage.Total())
	assert.Equal(t, hook.StopCompleted, end.Detail().Stop)
}

func TestSpecAChildEndsWithItsParent(t *testing.T) {
	t.Parallel()
	tool := rig.NewGate("wait")
	c := rig.Cast{"chief": rig.Plays(rig.Delegates("sleeper", "sleeper")), "sleeper": rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Calls(rig.Call("c1", "wait", `{}`)))}
	w := rig.Stage(t, c, nil, rig.Agents("chief", "sleeper"), delegate.New(nil), rig.Box(tool.Tool))
	ended := make(chan hook.TurnOutcome, 1)
	go func() { out, _ := w.Try(t.Context(), "do it"); ended <- out }()
	<-tool.Reached
	<-tool.Reached
	require.True(t, dialog.Stop(w.Conv))
	assert.Equal(t, hook.StopUserRequested, (<-ended).Stop)

	open := map[string]int{}
	for _, ev := range w.Events {
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
	for _, end := range w.EventsOf(event.SubagentEnd) {
		assert.Equal(t, hook.StopUserRequested, end.Detail().Stop, "the child knows why")
	}
}

func TestSpecWhoWaitsForAChildHoldsNoSlot(t *testing.T) {
	t.Parallel()
	c := rig.Cast{"chief": rig.Plays(rig.Delegates("writer", "writer"), rig.Says("done")), "writer": rig.Plays(rig.Calls(rig.Call("c1", "echo", `{}`)), rig.Calls(rig.Call("c1", "echo", `{}`)), rig.Says("written"), rig.Says("written"))}
	w := rig.Stage(t, c, &runtime.Options{Calls: runtime.Calls{Slots: 1}}, rig.Agents("chief", "writer"), delegate.New(nil), rig.Box(rig.Named("echo")))
	assert.Equal(t, "done", w.Send("do it").Text())
	assert.Equal(t, []string{"completed", "completed"}, []string{string(w.Tasks()[0].Stop), string(w.Tasks()[1].Stop)})
}

func TestSpecAChildSpendsOfItsParentsTokens(t *testing.T) {
	t.Parallel()
	c := rig.Cast{
		"chief":  rig.Plays(rig.Delegates("writer"), rig.Says("not asked any more")),
		"writer": rig.Plays(rig.Calls(rig.Call("c1", "echo", `{}`)), rig.Calls(rig.Call("c2", "echo", `{}`)), rig.Says("never said")),
	}
	chief := hook.AgentConfig{Name: "chief", Limits: hook.Limits{Tokens: 40}}
	w := rig.Stage(t, c, nil, append(rig.Agents("writer"), chief), delegate.New(nil), rig.Box(rig.Named("echo")))
	out := w.Send("do it")
	assert.Equal(t, hook.StopTokenLimit, out.Stop)
	assert.Equal(t, int64(45), out.Usage.Total())
	assert.Equal(t, hook.StopTokenLimit, w.Tasks()[0].Stop)
	assert.Len(t, c["writer"].Requests, 2)
	assert.Len(t, c["chief"].Requests, 1)
}

func TestSpecAgentsRunAgentsOnlySoDeep(t *testing.T) {
	t.Parallel()
	c := rig.Cast{"chief": rig.Plays(rig.Delegates("chief"), rig.Delegates("chief"), rig.Says("not deeper"), rig.Says("done"))}
	w := rig.Stage(t, c, &runtime.Options{Limits: runtime.Limits{Depth: 1}}, rig.Agents("chief"), delegate.New(nil))
	w.Send("do it")
	assert.Equal(t, []delegate.TaskResult{{Agent: "chief", Result: "not deeper", Stop: hook.StopCompleted}}, w.Tasks())
	assert.Contains(t, w.Results()[0], "agents may not run agents any deeper")
}

// What the agents that an agent runs run themselves counts, too.
func TestSpecATurnRunsOnlySoManyAgents(t *testing.T) {
	t.Parallel()
	c := rig.Cast{
		"chief":  rig.Plays(rig.Delegates("helper"), rig.Delegates("helper"), rig.Says("done"), rig.Delegates("helper"), rig.Says("and again")),
		"helper": rig.Plays(rig.Delegates("writer"), rig.Says("helped"), rig.Says("not alone"), rig.Delegates("writer"), rig.Says("helped again")),
		"writer": rig.Plays(rig.Says("written"), rig.Says("written again")),
	}
	w := rig.Stage(t, c, &runtime.Options{Limits: runtime.Limits{Children: 3}}, rig.Agents("chief", "helper", "writer"), delegate.New(nil))
	w.Send("do it")
	assert.Empty(t, w.Tasks()[0].Error)
	assert.Len(t, c["writer"].Requests, 1)
	w = rig.Stage(t, rig.Cast{"chief": rig.Plays(rig.Delegates("helper"), rig.Delegates("helper"), rig.Says("done")), "helper": rig.Plays(rig.Says("helped"))},
		&runtime.Options{Limits: runtime.Limits{Children: 1}}, rig.Agents("chief", "helper"), delegate.New(nil))
	w.Send("do it")
	assert.Contains(t, w.Results()[1], "no more agents can be run for this request")
}

func TestSpecAChildMayDoNoMoreThanItsParent(t *testing.T) {
	t.Parallel()
	c := rig.Cast{
		"chief":  rig.Plays(rig.Delegates("writer"), rig.Says("done")),
		"writer": rig.Plays(rig.Calls(rig.Call("c1", "secret", `{}`), rig.Call("c2", "own", `{}`), rig.Call("c3", "both", `{}`)), rig.Says("written")),
	}
	chief := hook.AgentConfig{Name: "chief", Tools: []string{"delegate", "own", "both"}}
	writer := hook.AgentConfig{Name: "writer", Tools: []string{"both", "secret"}}
	b := rig.Box(rig.Named("own"), rig.Named("both"), rig.Named("secret"))
	w := rig.Stage(t, c, nil, []hook.AgentConfig{chief, writer}, delegate.New(nil), b)
	w.Send("do it")
	var offered []string
	for _, tool := range c["writer"].Requests[0].Tools.Tools().All() {
		offered = append(offered, tool.Name)
	}
	assert.Equal(t, []string{"both"}, offered)
	assert.Equal(t, map[string]int{"both": 1}, b.Dispatched, "and what is not offered is not asked about")
}

func TestSpecAnAgentThatNobodyHasRegisteredIsFound(t *testing.T) {
	t.Parallel()
	c := rig.Cast{"chief": rig.Plays(rig.Delegates("writer", "nobody"), rig.Says("done")), "writer": rig.Plays(rig.Says("written"))}
	find := func(_ context.Context, name string) (hook.AgentConfig, error) {
		if name != "writer" {
			return hook.AgentConfig{}, fmt.Errorf("%w: %q", runtime.ErrAgentUnknown, name)
		}
		return hook.AgentConfig{Model: message.Model{Name: "writer"}}, nil
	}
	w := rig.Stage(t, c, &runtime.Options{FindAgent: find}, rig.Agents("chief"), delegate.New(nil))
	w.Send("do it")
	tasks := w.Tasks()
	assert.Equal(t, "written", tasks[0].Result)
	assert.Contains(t, tasks[1].Error, `no such agent: "nobody"`)
	assert.Equal(t, []string{"chief", "writer"}, w.Runtime.Agents())
}

func TestSpecAnAgentThatIsBeingUnregisteredEndsItsTurnFirst(t *testing.T) {
	t.Parallel()
	tool := rig.NewGate("wait")
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("done")), rig.Box(tool.Tool))
	ended := make(chan error, 1)
	go func() { _, err := w.Try(t.Context(), "1"); ended <- err }()
	<-tool.Reached
	gone := make(chan error, 1)
	go func() { gone <- w.Runtime.Unregister(t.Context(), "a") }()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, err := w.Runtime.Agent("a")
		assert.ErrorIs(c, err, runtime.ErrAgentClosing)
	}, time.Minute, time.Millisecond)
	_, err := w.Conv.Fork(t.Context(), 0, "bob")
	require.ErrorIs(t, err, runtime.ErrAgentClosing)
	rig.Steers(t, w, "quickly")
	close(tool.Open)
	require.NoError(t, <-ended)
	require.NoError(t, <-gone)
	assert.Equal(t, []string{"user 1", "assistant [c1 wait {}]", "tool c1 wait: through", "user quickly", "assistant done"}, w.History())
	_, err = dialog.Send(t.Context(), w.Conv, message.TextInput("2"), nil)
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
		c := rig.Cast{"chief": rig.Plays(rig.Delegates("writer", "writer"), rig.Says("done")), "writer": rig.Plays(rig.Says("written"), rig.Says("written"))}
		found := 0
		o := &runtime.Options{FindAgent: func(_ context.Context, name string) (hook.AgentConfig, error) {
			found++
			return hook.AgentConfig{Model: message.Model{Name: name}}, nil
		}}
		w := rig.Stage(t, c, o, rig.Agents("chief"), delegate.New(nil), slowHook{})
		w.Send("do it")
		done := delegate.TaskResult{Agent: "writer", Result: "written", Stop: hook.StopCompleted}
		assert.Equal(t, []delegate.TaskResult{done, done}, w.Tasks())
		assert.Equal(t, 1, found, "it is registered once")
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

// A delegated task continues with the agent that has delegated it, or not at all: no
// caller gets its conversation for one of a person, also not after the process
// that ran it has died.
func TestSpecNobodyTalksToAChild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	held := rig.NewGate("held")
	c := rig.Cast{"chief": rig.Plays(rig.Delegates("writer"), rig.Says("done")), "writer": rig.Plays(rig.Calls(rig.Call("c1", "held", `{}`)), rig.Says("written"))}
	dying := &rig.DyingStore{Store: rig.OpenSQLite(t, dir)}
	w := rig.Stage(t, c, &runtime.Options{Store: dying}, rig.Agents("chief", "writer"), delegate.New(nil), rig.Box(held.Tool))
	go func() { _, _ = dialog.Send(t.Context(), w.Conv, message.TextInput("do it"), nil) }()
	<-held.Reached
	children, err := dying.Children(t.Context(), w.Conv.ID())
	require.NoError(t, err)
	require.Len(t, children, 1)
	dying.Dead.Store(true)
	close(held.Open)
	require.NoError(t, w.Runtime.Close(context.WithoutCancel(t.Context())))

	again := rig.Stage(t, rig.Cast{"chief": rig.Plays(rig.Says("later")), "writer": rig.Plays(rig.Says("alone"))}, &runtime.Options{
		Store: rig.OpenSQLite(t, dir), Gone: func(string) bool { return true },
	}, rig.Agents("chief", "writer"), delegate.New(nil), rig.Box(rig.NewGate("held").Tool))
	_, err = dialog.Conversation(t.Context(), again.Runtime, "writer", children[0].Key.Sender)
	require.ErrorIs(t, err, runtime.ErrChild)
	assert.EqualError(t, err, "runtime: the conversation belongs to a task that another agent delegated; send to the agent itself, with another sender: "+children[0].ID)
	again.Send("go on")
}
