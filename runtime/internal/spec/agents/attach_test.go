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

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// guestHook is a member that comes and goes. It writes down its life.
type guestHook struct {
	*rig.Toolbox
	name     string
	openErr  error
	register func(cfg *hook.AgentConfig) error
	before   func(turn *hook.Turn) hook.TurnDecision

	mu      sync.Mutex
	log     []string
	known   map[*hook.AgentConfig]bool
	opened  bool
	closed  int
	strange []string
}

func newGuestHook(name string, tools ...rig.Tool) *guestHook {
	return &guestHook{Toolbox: rig.Box(tools...), name: name, known: map[*hook.AgentConfig]bool{}}
}

func (g *guestHook) note(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed > 0 || !g.opened {
		g.strange = append(g.strange, fmt.Sprintf(format, args...))
	}
	g.log = append(g.log, fmt.Sprintf(format, args...))
}

func (g *guestHook) lines() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.log...)
}

func (g *guestHook) OnOpen(context.Context, hook.Host) error {
	if g.openErr != nil {
		return g.openErr
	}
	g.mu.Lock()
	g.opened = true
	g.mu.Unlock()
	g.note("open")
	return nil
}

func (g *guestHook) OnClose(context.Context) error {
	g.note("close")
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed++
	return nil
}

func (g *guestHook) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	if g.register != nil {
		if err := g.register(cfg); err != nil {
			return err
		}
	}
	g.note("register %s", cfg.Name)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known[cfg] {
		g.strange = append(g.strange, "registered twice")
	}
	g.known[cfg] = true
	return nil
}

func (g *guestHook) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	g.note("unregister %s", cfg.Name)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.known[cfg] {
		g.strange = append(g.strange, "unregistered unknown")
	}
	delete(g.known, cfg)
}

func (g *guestHook) BeforeTurn(_ context.Context, turn *hook.Turn, _ message.Input) (hook.TurnDecision, error) {
	g.mu.Lock()
	if !g.known[turn.Agent()] {
		g.strange = append(g.strange, "a turn of an agent that it does not know")
	}
	g.mu.Unlock()
	if g.before != nil {
		return g.before(turn), nil
	}
	return hook.TurnDecision{}, nil
}

func (g *guestHook) OnEvent(context.Context, hook.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed > 0 || !g.opened {
		g.strange = append(g.strange, "event")
	}
}

// ended checks that the hook was closed once and knows no agent any more.
func (g *guestHook) ended(t *testing.T) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	assert.Equal(t, 1, g.closed)
	assert.Empty(t, g.known)
	assert.Empty(t, g.strange)
}

func toolsOf(a *runtime.Agent) (out []string) {
	for _, tool := range a.Tools().Tools().All() {
		out = append(out, tool.Name)
	}
	return out
}

func TestSpecAMemberComesAndGoesAtTheBorderOfATurn(t *testing.T) {
	t.Parallel()
	rig.Alike(t, func(t *testing.T, _ string, with func(hook.Hook) []hook.Hook) {
		gate := rig.NewGate("wait")
		w := rig.Start(t, rig.Plays(
			rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Calls(rig.Call("c2", "extra", `{}`)), rig.Says("one"),
			rig.Calls(rig.Call("c3", "wait", `{}`)), rig.Calls(rig.Call("c4", "extra", `{}`)), rig.Says("two"), rig.Says("three"),
		), with(rig.Box(gate.Tool))...)
		a := w.Conv.Agent()
		g := newGuestHook("Extra", rig.Named("extra"))
		turns := 0
		g.before = func(*hook.Turn) hook.TurnDecision { turns++; return hook.TurnDecision{} }

		done := make(chan hook.TurnOutcome, 1)
		go func() { done <- w.Send("1") }()
		<-gate.Reached
		require.NoError(t, w.Runtime.Attach(t.Context(), "Extra", g))
		assert.Equal(t, []string{"open", "register a"}, g.lines())
		assert.Contains(t, toolsOf(a), "extra")
		assert.NotEmpty(t, a.Plan().Member("Extra").Type)
		gate.Open <- struct{}{}
		<-done
		assert.Contains(t, w.Results()[1], "not registered", "the running turn keeps its hooks")
		assert.Zero(t, turns)

		go func() { done <- w.Send("2") }()
		<-gate.Reached
		detached := make(chan error, 1)
		go func() { detached <- w.Runtime.Detach(t.Context(), "Extra") }()
		require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Empty(c, w.Runtime.Plan().Member("Extra").Type) }, time.Minute, time.Millisecond)
		assert.Equal(t, []string{"open", "register a"}, g.lines(), "its turn still runs")
		assert.ErrorContains(t, w.Runtime.Attach(t.Context(), "Extra", newGuestHook("Extra")), "being detached")
		gate.Open <- struct{}{}
		<-done
		require.NoError(t, <-detached)
		assert.Equal(t, "extra:", w.Results()[3], "the turn that has it ends with it")
		assert.Equal(t, 1, turns)
		assert.Equal(t, []string{"open", "register a", "unregister a", "close"}, g.lines())
		assert.NotContains(t, toolsOf(a), "extra")
		w.Send("3")
		assert.Equal(t, 1, turns)
		require.ErrorIs(t, w.Runtime.Detach(t.Context(), "Extra"), runtime.ErrMemberUnknown)
		require.NoError(t, w.Runtime.Close(t.Context()))
		g.ended(t)
	})
}

func TestSpecAnAttachmentThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	var total hook.ConversationState[int]
	for _, c := range []struct {
		name, member string
		hook         hook.Hook
		log          []string
		want         string
	}{
		{"OnOpen", "Extra", &guestHook{Toolbox: rig.Box(), openErr: no}, nil, "no"},
		{"the second agent", "Extra", &guestHook{Toolbox: rig.Box(), known: map[*hook.AgentConfig]bool{}, register: func(cfg *hook.AgentConfig) error {
			if cfg.Name == "b" {
				return no
			}
			return nil
		}}, []string{"open", "register a", "unregister a", "close"}, `agent "b"`},
		{"a tool with another owner", "Extra", newGuestHook("x", rig.Named("echo")), nil, "echo"},
		{"a reserved tool", "Extra", newGuestHook("x", rig.Named("final_answer")), nil, "final_answer"},
		{"a name that is none", "extra", newGuestHook("x"), nil, "capital letter"},
		{"a name with a path", "Extra.Inner", newGuestHook("x"), nil, "no name"},
		{"a name that is taken", "H0", newGuestHook("x"), nil, "already"},
		{"nil", "Extra", nil, nil, "nil"},
		{"a stored state", "Extra", withStates{newGuestHook("x"), &total}, nil, "conversation state Extra.total"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := rig.Start(t, rig.Plays(rig.Says("one")), rig.Box(rig.Named("echo")), rig.Box())
			_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b"})
			require.NoError(t, err)
			before := w.Runtime.Plan().Text()
			require.ErrorContains(t, w.Runtime.Attach(t.Context(), c.member, c.hook), c.want)
			assert.Equal(t, before, w.Runtime.Plan().Text())
			if g, ok := c.hook.(*guestHook); ok {
				assert.Equal(t, c.log, g.lines())
				assert.Empty(t, g.known)
			}
			assert.Equal(t, []string{"echo"}, toolsOf(w.Conv.Agent()))
			w.Send("1")
		})
	}
}

type withStates struct {
	*guestHook
	total *hook.ConversationState[int]
}

func (s withStates) States() map[string]hook.State { return map[string]hook.State{"total": s.total} }

func TestSpecChildrenHaveTheMembersOfTheirParent(t *testing.T) {
	t.Parallel()
	gate := rig.NewGate("wait")
	run := rig.Tool{Tool: message.Tool{Name: "run", Waits: true}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		out, err := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: "b", Input: message.TextInput("go"), Call: env.Call})
		if err != nil {
			return message.FailedResult(message.FailOperation, err.Error())
		}
		return message.TextResult(out.Text())
	}}
	w := rig.Start(t, rig.Plays(
		rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Calls(rig.Call("c2", "run", `{}`)), rig.Says("child"), rig.Says("one"),
		rig.Calls(rig.Call("c3", "wait", `{}`)), rig.Calls(rig.Call("c4", "run", `{}`)), rig.Says("child"), rig.Says("two"),
	), rig.Box(gate.Tool, run))
	_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b"})
	require.NoError(t, err)
	g := newGuestHook("Gate")
	var depths []int
	g.before = func(turn *hook.Turn) hook.TurnDecision {
		depths = append(depths, turn.Depth())
		return hook.TurnDecision{}
	}
	done := make(chan hook.TurnOutcome, 1)
	go func() { done <- w.Send("1") }()
	<-gate.Reached
	require.NoError(t, w.Runtime.Attach(t.Context(), "Gate", g))
	gate.Open <- struct{}{}
	<-done
	assert.Empty(t, depths, "the child of a turn without it has not got it either")

	go func() { done <- w.Send("2") }()
	<-gate.Reached
	detached := make(chan error, 1)
	go func() { detached <- w.Runtime.Detach(t.Context(), "Gate") }()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Empty(c, w.Runtime.Plan().Member("Gate").Type) }, time.Minute, time.Millisecond)
	gate.Open <- struct{}{}
	<-done
	require.NoError(t, <-detached)
	assert.Equal(t, []int{0, 1}, depths, "the child of a turn with a gate passes it, also while the gate goes")
	assert.Equal(t, []string{"through", "child", "through", "child"}, w.Results())
	g.ended(t)
}

func TestSpecDetachCancelsTurnsWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	gate := rig.NewGate("wait")
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("two")), rig.Box(gate.Tool))
	g := newGuestHook("Gate")
	require.NoError(t, w.Runtime.Attach(t.Context(), "Gate", g))
	done := make(chan error, 1)
	go func() {
		out, err := w.Try(t.Context(), "1")
		done <- errors.Join(err, out.Err)
	}()
	<-gate.Reached
	ctx, cancel := context.WithCancel(t.Context())
	detached := make(chan error, 1)
	go func() { detached <- w.Runtime.Detach(ctx, "Gate") }()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Empty(c, w.Runtime.Plan().Member("Gate").Type) }, time.Minute, time.Millisecond)
	cancel()
	require.NoError(t, <-detached)
	require.ErrorIs(t, <-done, runtime.ErrDetached)
	g.ended(t)
	w.Send("2")
}

func TestSpecAgentsThatComeLaterKnowTheMember(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(rig.Says("one")), rig.Box(), rig.Box())
	g := newGuestHook("Extra")
	require.NoError(t, w.Runtime.Attach(t.Context(), "Extra", g))
	_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b"})
	require.NoError(t, err)
	_, err = w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "off"}.WithSection("hooks", `{"Extra":"off"}`))
	require.NoError(t, err)
	require.NoError(t, w.Runtime.Unregister(t.Context(), "a"))
	require.ErrorContains(t, w.Runtime.Detach(t.Context(), "Extra"), `agent "off"`, "its section names the member")
	require.NoError(t, w.Runtime.Unregister(t.Context(), "off"))
	require.NoError(t, w.Runtime.Close(t.Context()))
	assert.Equal(t, []string{"open", "register a", "register b", "unregister a", "unregister b", "close"}, g.lines())
	g.ended(t)
	require.ErrorIs(t, w.Runtime.Attach(t.Context(), "Extra", newGuestHook("x")), runtime.ErrClosed)
}

// TestSpecMembersAgentsAndTurnsAtTheSameTime: whatever overlaps, a member sees open before all else and
// close after it, once, and no turn of an agent that it does not know.
func TestSpecMembersAgentsAndTurnsAtTheSameTime(t *testing.T) {
	t.Parallel()
	m := rig.Plays()
	w := rig.Start(t, m, rig.Box(rig.Named("echo")))
	var all sync.WaitGroup
	var mu sync.Mutex
	var guests []*guestHook
	for i := range 4 {
		all.Go(func() {
			for range 8 {
				g := newGuestHook("x", rig.Named(fmt.Sprintf("tool%d", i)))
				mu.Lock()
				guests = append(guests, g)
				mu.Unlock()
				assert.NoError(t, w.Runtime.Attach(t.Context(), fmt.Sprintf("M%d", i), g))
				assert.NoError(t, w.Runtime.Detach(t.Context(), fmt.Sprintf("M%d", i)))
			}
		})
		all.Go(func() {
			conv, err := dialog.Conversation(t.Context(), w.Runtime, "a", fmt.Sprint(i))
			if !assert.NoError(t, err) {
				return
			}
			for range 16 {
				_, err := dialog.Send(t.Context(), conv, message.TextInput("hi"), nil)
				assert.NoError(t, err)
			}
		})
		all.Go(func() {
			name := fmt.Sprintf("agent%d", i)
			for range 8 {
				_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: name})
				assert.NoError(t, err)
				_, err = w.Runtime.Update(t.Context(), hook.AgentConfig{Name: name, Instructions: "New."})
				assert.NoError(t, err)
				assert.NoError(t, w.Runtime.Unregister(t.Context(), name))
			}
			_, err := w.Runtime.Update(t.Context(), hook.AgentConfig{Name: "a", Instructions: "New."})
			assert.NoError(t, err)
		})
	}
	all.Wait()
	last := newGuestHook("Last")
	require.NoError(t, w.Runtime.Attach(t.Context(), "Last", last))
	require.NoError(t, w.Runtime.Close(t.Context()))
	for _, g := range append(guests, last) {
		g.ended(t)
	}
}

func TestSpecAnUpdateCountsFromTheNextTurnOn(t *testing.T) {
	t.Parallel()
	gate := rig.NewGate("wait")
	g := newGuestHook("x", gate.Tool)
	var seen []string
	g.before = func(turn *hook.Turn) hook.TurnDecision {
		seen = append(seen, turn.Agent().Instructions)
		return hook.TurnDecision{}
	}
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "wait", `{}`)), rig.Says("one"), rig.Says("two"), rig.Says("three")), g)
	a := w.Conv.Agent()
	old := a.Config()
	done := make(chan hook.TurnOutcome, 1)
	go func() { done <- w.Send("1") }()
	<-gate.Reached
	_, err := w.Runtime.Update(t.Context(), hook.AgentConfig{Name: "a", Instructions: "Be short.", Model: message.Model{Name: "m2"}})
	require.NoError(t, err)
	assert.Equal(t, []string{"open", "register a", "register a"}, g.lines(), "the running turn still has the old one")
	assert.NotSame(t, old, a.Config())
	gate.Open <- struct{}{}
	<-done
	w.Send("2")
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Len(c, g.lines(), 4) }, time.Minute, time.Millisecond)
	assert.Equal(t, "unregister a", g.lines()[3])
	assert.Equal(t, []string{"Help.", "Be short."}, seen)
	assert.Equal(t, "m2", w.Model.Requests[2].Model.Name)
	assert.Contains(t, w.Model.Requests[2].System, "Be short.")
	assert.Contains(t, w.Model.Requests[1].System, "Help.")

	g.register = func(*hook.AgentConfig) error { return errors.New("no") }
	_, err = w.Runtime.Update(t.Context(), hook.AgentConfig{Name: "a", Instructions: "Wrong."})
	require.ErrorContains(t, err, "no")
	_, err = w.Runtime.Update(t.Context(), hook.AgentConfig{Name: "a", Tools: []string{"nobody"}})
	require.ErrorContains(t, err, "nobody owns it")
	_, err = w.Runtime.Update(t.Context(), hook.AgentConfig{Name: "other"})
	require.ErrorIs(t, err, runtime.ErrAgentUnknown)
	w.Send("3")
	assert.Equal(t, "Be short.", seen[2], "a refused one leaves the last in force")
	require.NoError(t, w.Runtime.Close(t.Context()))
	g.ended(t)
}

// TestSpecACompactionHasAMemberUntilItEnds: Detach waits for it, and cancels it when its context ends.
func TestSpecACompactionHasAMemberUntilItEnds(t *testing.T) {
	t.Parallel()
	for _, patient := range []bool{true, false} {
		t.Run(fmt.Sprint(patient), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &rig.World{T: t, Store: mem.New(nil)}
				w.Runtime = runtime.New(nil, rig.Slowly(rig.Seconds), &runtime.Options{Store: w.Store})
				require.NoError(t, w.Runtime.Open(t.Context()))
				_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "a"})
				require.NoError(t, err)
				w.Conv, err = dialog.Conversation(t.Context(), w.Runtime, "a", "ann")
				require.NoError(t, err)
				g := newGuestHook("Late")
				require.NoError(t, w.Runtime.Attach(t.Context(), "Late", g))
				w.Send("1")
				w.Send("2")
				compacted := make(chan error, 1)
				go func() {
					_, err := w.Conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1})
					compacted <- err
				}()
				time.Sleep(time.Second)
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				if patient {
					ctx = t.Context()
				}
				defer cancel()
				began := time.Now()
				require.NoError(t, w.Runtime.Detach(ctx, "Late"))
				err = <-compacted
				if patient {
					require.NoError(t, err)
					assert.Equal(t, 9*time.Second, time.Since(began))
				} else {
					require.ErrorIs(t, err, runtime.ErrDetached)
					assert.Equal(t, time.Second, time.Since(began))
				}
				g.ended(t)
				require.NoError(t, w.Runtime.Close(t.Context()))
			})
		})
	}
}

// TestSpecRunsOfAMemberThatCameAreRecorded, of its life as well.
func TestSpecRunsOfAMemberThatCameAreRecorded(t *testing.T) {
	t.Parallel()
	o := &runtime.Options{Events: runtime.Events{RecordHooks: true}}
	var mu sync.Mutex
	said := map[string]bool{}
	w := rig.StartWith(t, rig.Plays(rig.Says("one")), hook.AgentConfig{Name: "a"}, o, &rig.Adds{Event: func(ev hook.Event) {
		if run, ok := ev.Run(); ok && run.Subsystem == "Late" {
			mu.Lock()
			said[run.Point.String()] = true
			mu.Unlock()
		}
	}})
	require.NoError(t, w.Runtime.Attach(t.Context(), "Late", newGuestHook("Late")))
	w.Send("1")
	require.NoError(t, w.Runtime.Detach(t.Context(), "Late"))
	require.NoError(t, w.Runtime.Close(t.Context()))
	mu.Lock()
	defer mu.Unlock()
	for _, point := range []string{"OnOpen", "BeforeTurn", "OnClose"} {
		assert.True(t, said[point], "%s is not told", point)
	}
}
