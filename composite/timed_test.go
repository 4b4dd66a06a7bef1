package composite_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// slow does what its func says, at two points.
type slow struct {
	hook.Nop
	decide  func(context.Context) (hook.ToolDecision, error)
	rewrite func(context.Context, message.JSON) (message.JSON, error)
}

func (s *slow) BeforeTool(ctx context.Context, _ *hook.ToolCall) (hook.ToolDecision, error) {
	return s.decide(ctx)
}

func (s *slow) RewriteArgs(ctx context.Context, _ *hook.ToolCall, args message.JSON) (message.JSON, error) {
	return s.rewrite(ctx, args)
}

func deny(why string) (hook.ToolDecision, error) { return hook.DenyTool(why), nil }

// Within its time a hook answers as without one: answer, error and panic.
func TestTimedInTime(t *testing.T) {
	var d func(context.Context) (hook.ToolDecision, error)
	s := &struct {
		A *slow `hook:"BeforeTool: timeout=1m"`
	}{&slow{decide: func(ctx context.Context) (hook.ToolDecision, error) { return d(ctx) }}}
	c, err := composite.New(s)
	require.NoError(t, err)
	ask := func() hook.Verdict {
		got, err := c.BeforeTool(t.Context(), newCall(nil, "x"))
		require.NoError(t, err)
		return got.Verdict()
	}
	d = func(ctx context.Context) (hook.ToolDecision, error) {
		at, ok := ctx.Deadline()
		assert.True(t, ok)
		assert.WithinDuration(t, time.Now().Add(time.Minute), at, 10*time.Second)
		return deny("no")
	}
	assert.Equal(t, hook.Verdict{Kind: hook.AnswerDeny, Reason: "no", By: "A"}, ask())
	d = func(context.Context) (hook.ToolDecision, error) { return hook.ToolDecision{}, errors.New("broken") }
	assert.Equal(t, "A: BeforeTool: broken", ask().Failure.Error())
	d = func(context.Context) (hook.ToolDecision, error) { panic("boom") }
	f := ask().Failure
	assert.Equal(t, "A: BeforeTool: panic: boom", f.Error())
	assert.True(t, f.Panic)
	assert.Contains(t, string(f.Stack), "TestTimedInTime", "the stack is the hook's")
	d = func(context.Context) (hook.ToolDecision, error) {
		panic(&hook.Failure{Subsystem: "Deep", Point: point.Schema, Err: errors.New("inner")})
	}
	assert.Equal(t, "A.Deep: Schema: inner", ask().Failure.Error())
	assert.Zero(t, c.LateHooks())
}

// At the deadline the fail policy applies, the late answer is dropped, and the
// stray is counted until it ends.
func TestTimedTooLate(t *testing.T) {
	for _, open := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			stubborn := &slow{decide: func(context.Context) (hook.ToolDecision, error) {
				<-release
				return deny("too late")
			}}
			var s any = &struct {
				A *slow `hook:"BeforeTool: timeout=2m"`
			}{stubborn}
			if open {
				s = &struct {
					A *slow `hook:"BeforeTool: timeout=2m,failopen"`
				}{stubborn}
			}
			c, err := composite.New(s)
			require.NoError(t, err)
			host := new(recorder)
			start := time.Now()
			d, err := c.BeforeTool(t.Context(), newCall(host, "x"))
			require.NoError(t, err)
			assert.Equal(t, 2*time.Minute, time.Since(start))
			if open {
				assert.Zero(t, d)
			} else {
				v := d.Verdict()
				assert.Equal(t, hook.AnswerDeny, v.Kind)
				assert.Equal(t, "A did not answer in time at BeforeTool", v.Reason)
				assert.True(t, v.Failure.Late)
				require.ErrorIs(t, v.Failure, context.DeadlineExceeded)
			}
			assert.Equal(t, []string{"A did not answer in time at BeforeTool"}, host.failures(), "told once, whatever the policy")
			assert.Equal(t, 1, c.LateHooks())
			close(release)
			synctest.Wait()
			assert.Zero(t, c.LateHooks())
		})
	}
}

// Who honours the context is late all the same, and no stray: it makes no
// difference who is woken first.
func TestTimedReturnsAtTheDeadline(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			c, err := composite.New(&struct {
				A *slow `hook:"RewriteArgs: timeout=1s,failopen"`
				B *slow `hook:"order=200"`
			}{
				&slow{rewrite: func(ctx context.Context, args message.JSON) (message.JSON, error) {
					<-ctx.Done()
					return args + "A", nil
				}},
				&slow{rewrite: func(_ context.Context, args message.JSON) (message.JSON, error) { return args + "B", nil }},
			})
			require.NoError(t, err)
			host := new(recorder)
			args, err := c.RewriteArgs(t.Context(), newCall(host, "x"), "0")
			require.NoError(t, err)
			assert.Equal(t, message.JSON("0B"), args)
			assert.Equal(t, []string{"A did not answer in time at RewriteArgs"}, host.failures())
			synctest.Wait()
			assert.Zero(t, c.LateHooks())
		})
	}
}

// A turn that is cancelled ends the context of the hook, which is waited for up
// to its deadline: what it then answers counts.
func TestTimedAndCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := composite.New(&struct {
			A *slow `hook:"BeforeTool: timeout=1m"`
		}{&slow{decide: func(ctx context.Context) (hook.ToolDecision, error) {
			<-ctx.Done()
			return deny("cancelled")
		}}})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		d, err := c.BeforeTool(ctx, newCall(nil, "x"))
		require.NoError(t, err)
		assert.Equal(t, "cancelled", d.Verdict().Reason)
	})
}

// A nested composite tells of what is late within it once, and the outer one
// does not tell it again.
func TestLateWithinANestedComposite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, err := composite.New(&struct {
			A *slow `hook:"RewriteArgs: timeout=1s"`
		}{&slow{rewrite: func(ctx context.Context, args message.JSON) (message.JSON, error) {
			<-ctx.Done()
			return args, nil
		}}})
		require.NoError(t, err)
		c, err := composite.New(&struct{ Core hook.Hook }{inner})
		require.NoError(t, err)
		host := new(recorder)
		_, err = c.RewriteArgs(t.Context(), newCall(host, "x"), "0")
		var f *hook.Failure
		require.ErrorAs(t, err, &f)
		assert.True(t, f.Late)
		assert.Equal(t, "Core.A", f.Subsystem)
		assert.Len(t, host.events, 1)
		synctest.Wait()
	})
}

// observing has a deadline in its context, and is waited for.
type observing struct {
	hook.Nop
	late func(ctx context.Context, at string)
}

func (o *observing) OnEvent(ctx context.Context, _ hook.Event) { o.late(ctx, "OnEvent") }
func (o *observing) AfterTurn(ctx context.Context, _ *hook.Turn, _ hook.TurnOutcome) {
	o.late(ctx, "AfterTurn")
}
func (o *observing) OnRegisterAgent(ctx context.Context, _ *hook.AgentConfig) error {
	o.late(ctx, "OnRegisterAgent")
	return ctx.Err()
}
func (o *observing) OnOpen(ctx context.Context, _ hook.Host) error {
	o.late(ctx, "OnOpen")
	return nil
}
func (o *observing) OnClose(ctx context.Context) error {
	o.late(ctx, "OnClose")
	return nil
}
func (o *observing) OnUnregisterAgent(ctx context.Context, _ *hook.AgentConfig) {
	o.late(ctx, "OnUnregisterAgent")
}
func (o *observing) WrapTool(ctx context.Context, _ *hook.ToolCall, next hook.ToolNext) message.ToolResult {
	o.late(ctx, "WrapTool")
	return next.Run(ctx)
}
func (o *observing) WrapModel(ctx context.Context, _ *hook.Step, _ message.ModelRequest, next hook.ModelNext) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		o.late(ctx, "WrapModel")
		next.Stream(ctx)(yield)
	}
}

func TestDeadlinesOfObserversAndWraps(t *testing.T) {
	type alone struct {
		A *observing `hook:"OnEvent: timeout=1s; AfterTurn: timeout=1s; OnRegisterAgent: timeout=1s; OnUnregisterAgent: timeout=1s; OnOpen: timeout=1s; OnClose: timeout=1s; WrapTool: timeout=1s; WrapModel: timeout=1s"`
	}
	type group struct {
		G []hook.Hook `hook:"OnEvent: timeout=1s; AfterTurn: timeout=1s; OnRegisterAgent: timeout=1s; OnUnregisterAgent: timeout=1s; OnOpen: timeout=1s; OnClose: timeout=1s; WrapTool: timeout=1s; WrapModel: timeout=1s"`
	}
	for _, grouped := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var ended []string
			o := &observing{late: func(ctx context.Context, at string) {
				<-ctx.Done()
				ended = append(ended, at)
			}}
			var s any = &alone{o}
			if grouped {
				s = &group{[]hook.Hook{o}}
			}
			c, err := composite.New(s)
			require.NoError(t, err)
			ctx, call := t.Context(), newCall(nil, "x")
			start := time.Now()
			require.NoError(t, c.OnOpen(ctx, nil))
			require.ErrorIs(t, c.OnRegisterAgent(ctx, new(hook.AgentConfig)), context.DeadlineExceeded)
			c.OnUnregisterAgent(ctx, new(hook.AgentConfig))
			c.OnEvent(ctx, hook.Event{})
			c.AfterTurn(ctx, call.Step().Turn(), hook.TurnOutcome{})
			result := c.WrapTool(ctx, call, ends{})
			assert.Equal(t, "context deadline exceeded", result.Text(), "what a wrap surrounds ends with it")
			for _, err := range c.WrapModel(ctx, call.Step(), message.ModelRequest{}, ends{}) {
				require.ErrorIs(t, err, context.DeadlineExceeded)
			}
			require.NoError(t, c.OnClose(ctx))
			assert.Equal(t, []string{"OnOpen", "OnRegisterAgent", "OnUnregisterAgent", "OnEvent", "AfterTurn", "WrapTool", "WrapModel", "OnClose"}, ended)
			assert.Equal(t, 8*time.Second, time.Since(start))
		})
	}
}

// ends is the end of a chain that only tells what has become of the context.
type ends struct{}

func (ends) Run(ctx context.Context) message.ToolResult {
	return message.TextResult(fmt.Sprint(ctx.Err()))
}

func (ends) Stream(ctx context.Context) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) { yield(message.Chunk{}, ctx.Err()) }
}

func TestMatch(t *testing.T) {
	conv := hook.NewConversation(hook.ConversationData{ID: "conv-7", Sender: "bob@example.com", Agent: &hook.AgentConfig{Name: "coder"}})
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: conv})
	step := hook.NewStep(turn, 1, "m")
	call := func(tool, args string) *hook.ToolCall {
		return hook.NewToolCall(hook.ToolCallData{Step: step, Tool: message.Tool{Name: tool}, Args: message.JSON(args)})
	}
	tests := []struct {
		name string
		m    *composite.Match
		got  func(*composite.Match) bool
		want bool
	}{
		{"a tool", composite.NewMatch("tool:mcp__*", "tool:bash"), func(m *composite.Match) bool { return m.ToolCall(call("bash", "{}")) }, true},
		{"another tool", composite.NewMatch("tool:mcp__*"), func(m *composite.Match) bool { return m.ToolCall(call("bash", "{}")) }, false},
		{"both kinds", composite.NewMatch("tool:write", "path:/etc/**"), func(m *composite.Match) bool { return m.ToolCall(call("write", `{"file_path":"/etc/a/b"}`)) }, true},
		{"one of them", composite.NewMatch("tool:write", "path:/etc/**"), func(m *composite.Match) bool { return m.ToolCall(call("write", `{"file_path":"/tmp/a"}`)) }, false},
		{"a path that climbs", composite.NewMatch("path:/etc/**"), func(m *composite.Match) bool { return m.ToolCall(call("write", `{"path":"/tmp/../etc/a"}`)) }, true},
		{"no path", composite.NewMatch("path:**"), func(m *composite.Match) bool { return m.ToolCall(call("bash", `{"command":"ls"}`)) }, false},
		{"arguments that are no JSON", composite.NewMatch("path:**"), func(m *composite.Match) bool { return m.ToolCall(call("x", `{`)) }, false},
		{"a command", composite.NewMatch("command:git *"), func(m *composite.Match) bool { return m.ToolCall(call("bash", `{"command":"git push"}`)) }, true},
		{"a skill", composite.NewMatch("skill:pdf*"), func(m *composite.Match) bool { return m.ToolCall(call("my_skill", `{"name":"pdf-forms"}`)) }, true},
		{"a name that is no skill", composite.NewMatch("skill:pdf*"), func(m *composite.Match) bool { return m.ToolCall(call("add", `{"name":"pdf-forms"}`)) }, false},
		{"an agent at a step", composite.NewMatch("agent:cod*", "tool:never"), func(m *composite.Match) bool { return m.Step(step) }, true},
		{"another sender", composite.NewMatch("sender:*@other.com"), func(m *composite.Match) bool { return m.Turn(turn) }, false},
		{"a conversation", composite.NewMatch("session:conv-?"), func(m *composite.Match) bool { return m.Conversation(conv) }, true},
		{"a call outside a step", composite.NewMatch("agent:*"), func(m *composite.Match) bool { return m.ToolCall(hook.NewToolCall(hook.ToolCallData{})) }, false},
		{"no agent", composite.NewMatch("agent:*"), func(m *composite.Match) bool { return m.AgentConfig(nil) }, false},
		{"an event with a tool", composite.NewMatch("tool:bash"), func(m *composite.Match) bool { return m.Event(hook.Event{}.WithCall(call("bash", "{}"))) }, true},
		{"an event without", composite.NewMatch("tool:bash"), func(m *composite.Match) bool { return m.Event(hook.Event{}) }, false},
		{"an event of an agent", composite.NewMatch("agent:coder", "session:c"), func(m *composite.Match) bool { return m.Event(hook.Event{Agent: "coder", Conversation: "c"}) }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, tt.got(tt.m)) })
	}
	assert.Panics(t, func() { composite.NewMatch("tool:\xff") }, "the planner refuses it")
}

// The member is called only where it matches, at the points that are about it.
func TestMatchInAComposite(t *testing.T) {
	l := new(log)
	c, err := composite.New(&struct {
		A *probe `hook:"match=tool:bash"`
		B *probe
	}{&probe{log: l, name: "A"}, &probe{log: l, name: "B"}})
	require.NoError(t, err)
	for _, tool := range []string{"read", "bash"} {
		_, err := c.BeforeTool(t.Context(), newCall(nil, tool))
		require.NoError(t, err)
		c.WrapTool(t.Context(), newCall(nil, tool), ends{}).Text()
	}
	assert.Equal(t, []string{"B.BeforeTool", "B.in", "B.out", "A.BeforeTool", "B.BeforeTool", "A.in", "B.in", "B.out", "A.out"}, l.lines)
}
