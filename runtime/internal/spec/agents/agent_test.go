package agents_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
)

// lifecycle is a hook that logs registration, and fails on request.
type lifecycle struct {
	hook.Nop
	name string
	log  *[]string
	fail string
	cfg  *hook.AgentConfig
}

func (l *lifecycle) act(what string) error {
	*l.log = append(*l.log, what+" "+l.name)
	switch l.fail {
	case what:
		return errors.New(l.name + " is broken")
	case what + "!":
		panic(l.name + " is broken")
	}
	return nil
}

func (l *lifecycle) OnOpen(context.Context, hook.Host) error { return l.act("open") }
func (l *lifecycle) OnClose(context.Context) error           { return l.act("close") }
func (l *lifecycle) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	l.cfg = cfg
	return l.act("register")
}

func (l *lifecycle) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	if cfg != l.cfg {
		panic("another pointer")
	}
	_ = l.act("unregister")
}

func five(log *[]string, failing int, fail string) []hook.Hook {
	var out []hook.Hook
	for i := range 5 {
		l := &lifecycle{name: fmt.Sprint(i), log: log}
		if i == failing {
			l.fail = fail
		}
		out = append(out, l)
	}
	return out
}

func opened(t *testing.T, hooks ...hook.Hook) *runtime.Runtime {
	t.Helper()
	rt := runtime.New(rig.Compose(t, hooks), rig.Plays(), nil)
	require.NoError(t, rt.Open(t.Context()))
	t.Cleanup(func() { _ = rt.Close(context.Background()) })
	return rt
}

func TestLawAFailedRegistrationIsUndoneInReverse(t *testing.T) {
	t.Parallel()
	for _, fail := range []string{"register", "register!"} {
		t.Run(fail, func(t *testing.T) {
			t.Parallel()
			var log []string
			rt := opened(t, five(&log, 2, fail)...)
			log = nil
			_, err := rt.Register(t.Context(), hook.AgentConfig{Name: "a"})
			require.ErrorContains(t, err, "2 is broken")
			require.ErrorContains(t, err, "H2", "the hook is named")
			assert.Equal(t, []string{"register 0", "register 1", "register 2", "unregister 1", "unregister 0"}, log)
			_, err = rt.Agent("a")
			require.ErrorIs(t, err, runtime.ErrAgentUnknown)
			assert.Empty(t, rt.Agents())
			require.NoError(t, rt.Close(t.Context()))
			assert.Equal(t, []string{"close 4", "close 3", "close 2", "close 1", "close 0"}, log[5:], "nothing is unregistered twice")
		})
	}
}

func TestRegistrationIsRefusedWhenAHookPanicsBeforeIt(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]hook.Hook{
		"Schema": rig.Panicky{At: "Schema"}, "ScopedTools": rig.Panicky{At: "ScopedTools"},
		"SystemPrompt": rig.Panicky{At: "SystemPrompt"}, "OnBuildAgent": rig.Panicky{At: "OnBuildAgent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rt := runtime.New(h, rig.Plays(), nil)
			require.NoError(t, rt.Open(t.Context()))
			_, err := rt.Register(t.Context(), hook.AgentConfig{Name: "a"})
			var f *hook.Failure
			require.ErrorAs(t, err, &f)
			assert.True(t, f.Panic)
			assert.Equal(t, name, f.Point.String())
			_, err = rt.Agent("a")
			assert.ErrorIs(t, err, runtime.ErrAgentUnknown)
		})
	}
}

func TestANameIsUnknownUntilRegistrationHasReturned(t *testing.T) {
	t.Parallel()
	var rt *runtime.Runtime
	var during error
	h := registers{f: func(context.Context, *hook.AgentConfig) error {
		_, during = rt.Agent("a")
		_, err := rt.Register(context.Background(), hook.AgentConfig{Name: "a"})
		assert.ErrorIs(t, err, runtime.ErrAgentExists, "the second of two registrations of one name")
		return nil
	}}
	rt = opened(t, h)
	_, err := rt.Register(t.Context(), hook.AgentConfig{Name: "a"})
	require.NoError(t, err)
	require.ErrorIs(t, during, runtime.ErrAgentUnknown)
	_, err = rt.Agent("a")
	require.NoError(t, err)
	_, err = rt.Register(t.Context(), hook.AgentConfig{Name: "a"})
	require.ErrorIs(t, err, runtime.ErrAgentExists)
}

type registers struct {
	hook.Nop
	f func(context.Context, *hook.AgentConfig) error
}

func (r registers) OnRegisterAgent(ctx context.Context, cfg *hook.AgentConfig) error {
	return r.f(ctx, cfg)
}

func TestLookupDuringUnregister(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log []string
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "slow", "{}")), rig.Says("done")), &lifecycle{name: "L", log: &log}, rig.Box(rig.Sleeps("slow", time.Minute)))
		ended := make(chan error, 1)
		go func() {
			_, err := w.Try(context.Background(), "go")
			ended <- err
		}()
		synctest.Wait()
		gone := make(chan error, 1)
		go func() { gone <- w.Runtime.Unregister(context.Background(), "a") }()
		synctest.Wait()

		_, err := w.Runtime.Agent("a")
		require.ErrorIs(t, err, runtime.ErrAgentClosing)
		_, err = w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "a"})
		require.ErrorIs(t, err, runtime.ErrAgentClosing)
		_, err = dialog.Conversation(t.Context(), w.Runtime, "a", "bob")
		require.ErrorIs(t, err, runtime.ErrAgentClosing)
		_, err = dialog.Send(t.Context(), w.Conv, message.TextInput("more"), nil)
		require.ErrorIs(t, err, runtime.ErrAgentClosing)
		select {
		case <-gone:
			t.Error("unregistered while a turn is in flight")
		default:
		}

		require.NoError(t, <-ended, "the turn in flight ends in peace")
		require.NoError(t, <-gone)
		assert.Equal(t, "unregister L", log[len(log)-1])
		_, err = w.Runtime.Agent("a")
		require.ErrorIs(t, err, runtime.ErrAgentUnknown)
		_, err = dialog.Send(t.Context(), w.Conv, message.TextInput("more"), nil)
		require.ErrorIs(t, err, runtime.ErrAgentUnknown)
		_, err = w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "a"})
		require.NoError(t, err, "the name is free again")
	})
}

func TestCloseUnregistersInReverseAndCancelsWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log []string
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "slow", "{}"))), &registrar{log: &log}, rig.Box(rig.Sleeps("slow", time.Hour)))
		for _, name := range []string{"b", "c"} {
			_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: name})
			require.NoError(t, err)
		}
		assert.Equal(t, []string{"a", "b", "c"}, w.Runtime.Agents())
		ended := make(chan error, 1)
		go func() {
			_, err := w.Try(context.Background(), "go")
			ended <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		require.NoError(t, w.Runtime.Close(ctx))
		assert.Equal(t, time.Minute, time.Since(began))
		require.ErrorIs(t, <-ended, runtime.ErrClosed, "the cause of the cancellation")
		assert.Equal(t, []string{"c", "b", "a"}, log)
		assert.Len(t, w.History(), 3, "what the turn did is kept")

		for name, err := range map[string]error{
			"Close": w.Runtime.Close(t.Context()), "Open": w.Runtime.Open(t.Context()), "Unregister": w.Runtime.Unregister(t.Context(), "a"),
			"Refresh": w.Runtime.Refresh(t.Context(), "a"),
		} {
			assert.ErrorIs(t, err, runtime.ErrClosed, name)
		}
		_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "d"})
		require.ErrorIs(t, err, runtime.ErrClosed)
		_, err = w.Runtime.Agent("a")
		require.ErrorIs(t, err, runtime.ErrClosed)
		_, err = dialog.Send(t.Context(), w.Conv, message.TextInput("x"), nil)
		require.ErrorIs(t, err, runtime.ErrClosed)
	})
}

type registrar struct {
	hook.Nop
	log *[]string
}

func (r *registrar) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	*r.log = append(*r.log, cfg.Name)
}

func TestOpenAndCloseBracketTheProcess(t *testing.T) {
	t.Parallel()
	var log []string
	hooks := five(&log, 3, "open")
	rt := runtime.New(rig.Compose(t, hooks), rig.Plays(), nil)
	_, err := rt.Register(t.Context(), hook.AgentConfig{Name: "a"})
	require.ErrorIs(t, err, runtime.ErrNotOpen)
	require.ErrorContains(t, rt.Open(t.Context()), "3 is broken")
	assert.Equal(t, []string{"open 0", "open 1", "open 2", "open 3", "close 2", "close 1", "close 0"}, log)

	hooks[3].(*lifecycle).fail = ""
	require.NoError(t, rt.Open(t.Context()), "it may be tried again")
	require.Error(t, rt.Open(t.Context()))
	hooks[1].(*lifecycle).fail = "close"
	hooks[4].(*lifecycle).fail = "close!"
	log = nil
	err = rt.Close(t.Context())
	require.ErrorContains(t, err, "1 is broken")
	require.ErrorContains(t, err, "4 is broken")
	assert.Equal(t, []string{"close 4", "close 3", "close 2", "close 1", "close 0"}, log)
}

func TestConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	rt := opened(t, rig.Box(rig.Named("read"), rig.Named("write"), rig.Named("mcp__files__search")))
	for _, tc := range []struct {
		name string
		cfg  hook.AgentConfig
		want string
	}{
		{"no name", hook.AgentConfig{}, "the name has to match"},
		{"a bad name", hook.AgentConfig{Name: "a b"}, "the name has to match"},
		{"an unknown tool", hook.AgentConfig{Name: "a", Tools: []string{"read", "raed"}}, `tool "raed": nobody owns it; did you mean "read"?`},
		{"a short name of a long one", hook.AgentConfig{Name: "a", Tools: []string{"search"}}, `did you mean "mcp__files__search"?`},
		{"nothing near", hook.AgentConfig{Name: "a", Tools: []string{"quantum"}}, `tool "quantum": nobody owns it`},
		{"a negative limit", hook.AgentConfig{Name: "a", Limits: hook.Limits{Tokens: -1}}, "the limits of tokens, time and max_tokens must not be negative: they are -1, 0s and 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := rt.Register(t.Context(), tc.cfg)
			require.ErrorContains(t, err, tc.want)
		})
	}
	assert.Empty(t, rt.Agents())
}

func TestToolsAreChecked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tools []rig.Tool
		want  string
	}{
		"two owners":    {[]rig.Tool{rig.Named("read"), rig.Named("write"), rig.Named("read")}, `tool "read" has two owners`},
		"a bad name":    {[]rig.Tool{rig.Named("mcp.read")}, `tool "mcp.read": the name has to match`},
		"a long name":   {[]rig.Tool{rig.Named("x1234567890123456789012345678901234567890123456789012345678901234")}, "the name has to match"},
		"an empty name": {[]rig.Tool{rig.Named("")}, "the name has to match"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := opened(t, rig.Box(tc.tools...)).Register(t.Context(), hook.AgentConfig{Name: "a"})
			require.ErrorContains(t, err, tc.want)
		})
	}
	_, err := opened(t, fixedTools{tools: []message.Tool{{Name: "x", Input: `{"type":`}}}).Register(t.Context(), hook.AgentConfig{Name: "a"})
	require.ErrorContains(t, err, "input schema")
}

type fixedTools struct {
	hook.Nop
	tools []message.Tool
}

func (f fixedTools) Schema() []message.Tool { return f.tools }

func TestRefreshReadsRunTimeToolsAgain(t *testing.T) {
	t.Parallel()
	b := rig.Box(rig.Named("a"), rig.Named("b"))
	m := rig.Plays(rig.Says("1"), rig.Calls(rig.Call("1", "a", "{}"), rig.Call("2", "c", "{}")), rig.Says("2"))
	w := rig.StartWith(t, m, hook.AgentConfig{Name: "x"}, nil, b)
	w.Send("one")
	b.Tools = []rig.Tool{rig.Named("b"), rig.Named("c")}
	require.NoError(t, w.Runtime.Refresh(t.Context(), "x"))
	w.Send("two")
	agent, err := w.Runtime.Agent("x")
	require.NoError(t, err)
	assert.Equal(t, "c", agent.Tools().Tools().At(1).Name)
	assert.Equal(t, []string{"a", "b"}, agent.Config().Tools, "the registered configuration stays")
	assert.Contains(t, w.History()[4], "tool 1 a not_registered:")
	assert.Contains(t, w.History()[5], "tool 2 c: c:")
	require.ErrorIs(t, w.Runtime.Refresh(t.Context(), "nobody"), runtime.ErrAgentUnknown)

	b.Tools = append(b.Tools, rig.Named("b"))
	require.ErrorContains(t, w.Runtime.Refresh(t.Context(), "x"), "two owners")
	assert.Equal(t, 2, agent.Tools().Tools().Len(), "a failed refresh changes nothing")
}

func TestAgentsComeAndGoDuringTurns(t *testing.T) {
	t.Parallel()
	rt := runtime.New(rig.Box(rig.Named("x")), echoes{}, nil)
	require.NoError(t, rt.Open(t.Context()))
	var wg sync.WaitGroup
	for i := range 4 {
		name := fmt.Sprintf("a%d", i)
		wg.Go(func() {
			for range 50 {
				if _, err := rt.Register(t.Context(), hook.AgentConfig{Name: name}); err != nil {
					t.Error(err)
				}
				if err := rt.Unregister(t.Context(), name); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for range 200 {
				c, err := dialog.Conversation(t.Context(), rt, name, "s")
				if err == nil {
					_, err = dialog.Send(t.Context(), c, message.TextInput("hi"), nil)
				}
				if err != nil && !errors.Is(err, runtime.ErrAgentUnknown) && !errors.Is(err, runtime.ErrAgentClosing) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, rt.Close(t.Context()))
}

// echoes is a provider that answers "ok".
type echoes struct{}

func (echoes) Stream(context.Context, message.ModelRequest) message.ModelStream {
	return rig.Says("ok")
}

func TestUnregisterCancelsTurnsWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "slow", "{}"))), rig.Box(rig.Sleeps("slow", time.Hour)))
		ended := make(chan error, 1)
		go func() {
			_, err := w.Try(context.Background(), "go")
			ended <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, w.Runtime.Unregister(ctx, "a"), "it is done all the same")
		require.ErrorIs(t, <-ended, runtime.ErrAgentClosing)
		assert.Empty(t, w.Runtime.Agents())
	})
}

func TestOnBuildAgentMayChangeTheConfigurationButNotTheName(t *testing.T) {
	t.Parallel()
	builds := func(f func(*hook.AgentConfig)) hook.Hook { return builder{f: f} }
	w := rig.StartWith(t, rig.Plays(rig.Says("ok")), hook.AgentConfig{Name: "a", Instructions: "Help."}, nil,
		builds(func(c *hook.AgentConfig) { c.Instructions += " Quickly." }), builds(func(c *hook.AgentConfig) { c.Model.Name = "big" }))
	w.Send("hi")
	assert.Equal(t, "Help. Quickly.", w.Model.Requests[0].System)
	assert.Equal(t, "big", w.Model.Requests[0].Model.Name)
	_, err := opened(t, builds(func(c *hook.AgentConfig) { c.Name = "b" })).Register(t.Context(), hook.AgentConfig{Name: "a"})
	require.ErrorContains(t, err, "changed the name")
	_, err = opened(t, builds(func(c *hook.AgentConfig) { c.Limits.Tokens = -1 })).Register(t.Context(), hook.AgentConfig{Name: "a"})
	require.ErrorContains(t, err, "limits")
}

type builder struct {
	hook.Nop
	f func(*hook.AgentConfig)
}

func (b builder) OnBuildAgent(_ context.Context, c hook.AgentConfig) (hook.AgentConfig, error) {
	b.f(&c)
	return c, nil
}

func TestACompositeThatIsNotReadyDoesNotOpen(t *testing.T) {
	t.Parallel()
	unready, err := composite.Of("guarded", composite.Field{Name: "Guard"})
	require.NoError(t, err)
	rt := runtime.New(unready, rig.Plays(), nil)
	require.ErrorContains(t, rt.Open(t.Context()), "required and nil: Guard")
	assert.Panics(t, func() { runtime.New(nil, nil, nil) }, "misuse at setup")
	require.NoError(t, rt.Close(t.Context()))
	require.ErrorIs(t, rt.Open(t.Context()), runtime.ErrClosed)
}

func TestCloseCancelsTurnsThatAreJustBeginning(t *testing.T) {
	t.Parallel()
	for range 300 {
		w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "waits", "{}"))), rig.Box(rig.Does("waits", func(ctx context.Context) message.ToolResult {
			<-ctx.Done()
			return message.FailedResult(message.FailCancelled, "cancelled")
		})))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, err := w.Try(context.Background(), "go")
			assert.ErrorIs(t, err, runtime.ErrClosed)
		}()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, w.Runtime.Close(ctx))
		<-ended
	}
}
