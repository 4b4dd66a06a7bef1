package runtime

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/abandoned"
	"github.com/grapnel-go/grapnel/runtime/internal/failure"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// Register builds an agent and registers it with the hook. Other callers do not see the
// agent before Register returns. If Register fails, the agent does not exist.
//
// The errors are those of the hook, ErrNotOpen, ErrClosed, ErrAgentExists,
// ErrAgentClosing, and mistakes in the configuration or the tools. A panic of a hook is
// an error with the hook's name.
func (r *Runtime) Register(ctx context.Context, cfg hook.AgentConfig) (*Agent, error) {
	a, err := r.register(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("register agent %.80q: %w", cfg.Name, err)
	}
	r.host.emit(ctx, hook.Event{Kind: event.AgentRegistered, Agent: a.Name()})
	r.tellUnmatched(ctx, a)
	return a, nil
}

// tellUnmatched tells of patterns in the agent's list of tools that match none.
func (r *Runtime) tellUnmatched(ctx context.Context, a *Agent) {
	now := a.core.Now()
	for _, p := range now.View.Load().Unmatched(now.Asked) {
		r.emit(ctx, hook.Diagnostic{
			Code: event.CodeToolPattern, Text: fmt.Sprintf("agent %q: no tool matches %q now; tools that come later will", a.Name(), p),
		}.Event())
	}
}

func (r *Runtime) register(ctx context.Context, cfg hook.AgentConfig) (*Agent, error) {
	if err := checkConfig(cfg); err != nil {
		return nil, err
	}
	a := &Agent{rt: r}
	a.core.Name, a.core.Registration = cfg.Name, registration{a}
	if err := r.reserve(a); err != nil {
		return nil, err
	}
	defer r.changes.Done()
	for {
		shown, err := a.tryRegister(ctx, cfg)
		if err != nil {
			r.forget(a)
			return nil, err
		}
		if shown {
			return a, nil
		}
	}
}

// tryRegister registers the agent with the hooks of now, and shows it. It returns false, and
// nothing has changed, if a member came or went meanwhile.
func (a *Agent) tryRegister(ctx context.Context, cfg hook.AgentConfig) (shown bool, err error) {
	p := a.rt.holdProcess()
	defer p.Release()
	s, err := a.enrol(ctx, cfg, p)
	if err != nil {
		return false, err
	}
	if a.show(s) {
		return true, nil
	}
	_ = onUnregister(context.WithoutCancel(ctx), s)
	return false, nil
}

// holdProcess returns the hooks of now and counts a user of them.
func (r *Runtime) holdProcess() *loop.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.members.process.Load()
	p.Hold()
	return p
}

// show makes the agent visible with the setup. It returns false if the hooks of the process have
// changed since the setup was made.
func (a *Agent) show(s *loop.Setup) bool {
	r := a.rt
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.members.process.Load() != s.Process {
		return false
	}
	a.core.Set(s)
	a.setState(agentVisible)
	r.order = append(r.order, a)
	return true
}

// enrol builds the setup of the configuration with the hooks, and registers it with them.
func (a *Agent) enrol(ctx context.Context, cfg hook.AgentConfig, p *loop.Process) (*loop.Setup, error) {
	s, err := a.build(ctx, cfg, p)
	if err == nil {
		err = onRegister(ctx, s)
	}
	return s, err
}

func checkConfig(cfg hook.AgentConfig) error {
	switch {
	case !message.ValidToolName(cfg.Name):
		return fmt.Errorf("the name has to match ^[a-zA-Z0-9_-]{1,64}$")
	case cfg.Limits.Tokens < 0 || cfg.Limits.Time < 0 || cfg.Model.MaxTokens < 0:
		return fmt.Errorf("the limits of tokens, time and max_tokens must not be negative: they are %d, %s and %d",
			cfg.Limits.Tokens, cfg.Limits.Time, cfg.Model.MaxTokens)
	}
	return cfg.Loop.Check()
}

// reserve takes the name and adds to r.changes. The caller calls r.changes.Done.
func (r *Runtime) reserve(a *Agent) error {
	name := a.Name()
	r.mu.Lock()
	other := r.agents[name]
	if err := r.checkOpenLocked(); err != nil {
		r.mu.Unlock()
		return err
	}
	if other == nil {
		r.agents[name] = a
		r.changes.Add(1)
		r.mu.Unlock()
		return nil
	}
	r.mu.Unlock()
	other.mu.Lock()
	defer other.mu.Unlock()
	if other.state == agentClosing {
		return ErrAgentClosing
	}
	return ErrAgentExists
}

func (r *Runtime) forget(a *Agent) {
	a.setState(agentGone)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.agents, a.core.Name)
	for i, o := range slices.Backward(r.order) { // from the end, where Close begins
		if o == a {
			r.order = slices.Delete(r.order, i, i+1)
			break
		}
	}
}

// build runs OnBuildAgent and computes the agent's tools and prompt.
func (a *Agent) build(ctx context.Context, cfg hook.AgentConfig, p *loop.Process) (*loop.Setup, error) {
	cfg.Tools = slices.Clone(cfg.Tools)
	s := &loop.Setup{Process: p, Registered: new(loop.Users)}
	var err error
	if s.Hooks, s.Layers, err = hooksOf(s.Process, &cfg); err != nil {
		return nil, err
	}
	cfg, err = s.Hooks.BuildAgent(ctx, cfg.WithHost(a.rt.host))
	if err != nil {
		return nil, err
	}
	if cfg.Name != a.core.Name {
		return nil, fmt.Errorf("OnBuildAgent changed the name to %q", cfg.Name)
	}
	if err := checkConfig(cfg); err != nil {
		return nil, fmt.Errorf("after OnBuildAgent: %w", err)
	}
	if cfg.Model.ContextWindow == 0 {
		cfg.Model.ContextWindow = provider.ContextWindow(a.rt.provider, cfg.Model.Name)
	}
	s.Asked, s.Config = cfg.Tools, &cfg
	v, err := s.Hooks.View(s.Config, a.rt.o.Environment, true)
	if err != nil {
		return nil, err
	}
	s.View.Store(v)
	return s, nil
}

func onRegister(ctx context.Context, s *loop.Setup) (err error) {
	defer failure.Catch(point.OnRegisterAgent, &err)
	return s.Hooks.OnRegisterAgent(ctx, s.Config)
}

// Unregister removes an agent: it refuses new turns with ErrAgentClosing, waits for the
// running ones, and calls OnUnregisterAgent. Then the name is unknown. When ctx ends,
// Unregister cancels the running turns and does the rest all the same. It must not be
// called from within a turn of the agent.
//
// The errors are ErrAgentUnknown, ErrAgentClosing, ErrNotOpen and ErrClosed.
func (r *Runtime) Unregister(ctx context.Context, name string) error {
	a, err := r.Agent(name)
	if err != nil {
		return err
	}
	r.mu.Lock()
	if err := r.checkOpenLocked(); err != nil {
		r.mu.Unlock()
		return err
	}
	r.changes.Add(1)
	r.mu.Unlock()
	defer r.changes.Done()
	return r.retire(ctx, a, ErrAgentClosing)
}

// retire unregisters the agent. When ctx ends, it cancels the agent's turns with cause.
func (r *Runtime) retire(ctx context.Context, a *Agent, cause error) error {
	drained, err := a.startClosing()
	if err != nil {
		return err
	}
	defer a.core.Now().Process.Release()
	select {
	case <-drained:
	case <-ctx.Done():
		a.cancelTurns(cause)
		r.awaitTurns(ctx, a, drained)
	}
	_ = r.withGrace(ctx, a.core.Now().Hooks.At(point.OnUnregisterAgent), func() error { a.updates.Wait(); return nil })
	r.endSessions(ctx, a)
	r.unregister(ctx, a.core.Now())
	r.forget(a)
	r.emit(ctx, hook.Event{Kind: event.AgentUnregistered, Agent: a.Name()})
	return nil
}

// endSessions ends the sessions of all conversations of the agent, one after the other.
// When a hook hangs, the remaining sessions end concurrently, so that one more grace
// period is enough for all of them.
func (r *Runtime) endSessions(ctx context.Context, a *Agent) {
	what, lasting := a.core.Now().Hooks.At(point.OnSessionEnd), context.WithoutCancel(ctx)
	end := func(c *Conversation) *abandoned.Call {
		return r.begin(what, func() error { c.thread.EndSession(lasting, ""); return nil })
	}
	wait := func(calls ...*abandoned.Call) (hangs bool) {
		late, stop := abandoned.Late(ctx, r.o.Calls.Grace)
		defer stop()
		for _, b := range calls {
			err := b.Wait(late)
			hangs = hangs || err == abandoned.ErrStillRuns
			r.emitFailure(ctx, hookFailure(what, point.OnSessionEnd, err))
		}
		return hangs
	}
	all := a.all()
	for i, c := range all {
		if !wait(end(c)) {
			continue
		}
		var rest []*abandoned.Call
		for _, c := range all[i+1:] {
			rest = append(rest, end(c))
		}
		wait(rest...)
		return
	}
}

// turnGraces is how many grace periods cancelled turns have to end: a turn takes two at
// most, but a compaction may have a hook that hangs.
const turnGraces = 3

// awaitTurns waits for the cancelled turns and compactions of the agent.
func (r *Runtime) awaitTurns(ctx context.Context, a *Agent, drained <-chan struct{}) {
	late := time.NewTimer(turnGraces * r.o.Calls.Grace)
	defer late.Stop()
	select {
	case <-drained:
	case <-late.C:
		r.emit(ctx, hook.Diagnostic{
			Code: event.CodeAgentAbandoned, Text: fmt.Sprintf("agent %q was unregistered while turns or compactions of it still run: they ignore their cancellation", a.Name()),
		}.Event())
	}
}

// emitFailure emits the failure of a hook; nil is none.
func (r *Runtime) emitFailure(ctx context.Context, err error) {
	if f, ok := err.(*hook.Failure); ok {
		r.emit(ctx, f.Event())
	}
}

// emit emits an event outside of any conversation. It waits as long as withGrace.
func (r *Runtime) emit(ctx context.Context, ev hook.Event) {
	_ = r.withGrace(ctx, r.hooks().At(point.OnEvent), func() error {
		r.host.emit(context.WithoutCancel(ctx), ev)
		return nil
	})
}

// unregister calls OnUnregisterAgent for the setup, and emits a failure.
func (r *Runtime) unregister(ctx context.Context, s *loop.Setup) {
	lasting := context.WithoutCancel(ctx)
	r.emitFailure(ctx, r.hookWithGrace(ctx, s.Hooks, point.OnUnregisterAgent, func() error { return onUnregister(lasting, s) }))
}

func onUnregister(ctx context.Context, s *loop.Setup) (err error) {
	defer failure.Catch(point.OnUnregisterAgent, &err)
	s.Hooks.OnUnregisterAgent(ctx, s.Config)
	return nil
}

// Refresh reads the tools of the hook again, because tools may come and go at run time,
// and computes the agent's tools and prompt anew. Running turns keep theirs, and Config
// stays the same. A configured tool that is missing now is no error: a later Refresh
// finds it again.
//
// The errors are those of [Runtime.Agent], mistakes in the tools, and that of ctx.
func (r *Runtime) Refresh(ctx context.Context, name string) error {
	a, err := r.Agent(name)
	if err != nil {
		return err
	}
	for {
		s := a.core.Now()
		if err := s.Refresh(r.o.Environment); err != nil {
			return fmt.Errorf("refresh agent %q: %w", name, err)
		}
		if a.core.Now() == s {
			return ctx.Err()
		}
	}
}
