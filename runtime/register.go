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
		return nil, fmt.Errorf("register agent %q: %w", cfg.Name, err)
	}
	r.host.emit(ctx, hook.Event{Kind: event.AgentRegistered, Agent: a.Name()})
	for _, p := range a.core.View.Load().Unmatched(a.core.Asked) {
		r.emit(ctx, hook.Diagnostic{
			Code: event.CodeToolPattern, Text: fmt.Sprintf("agent %q: no tool matches %q now; tools that come later will", a.Name(), p),
		}.Event())
	}
	return a, nil
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
	err := a.build(ctx, cfg)
	if err == nil {
		err = a.onRegister(ctx)
	}
	if err != nil {
		r.forget(a)
		return nil, err
	}
	a.setState(agentVisible)
	r.mu.Lock()
	r.order = append(r.order, a)
	r.mu.Unlock()
	return a, nil
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
func (a *Agent) build(ctx context.Context, cfg hook.AgentConfig) error {
	cfg.Tools = slices.Clone(cfg.Tools)
	var err error
	if a.core.Hooks, err = a.rt.hooksOf(&cfg); err != nil {
		return err
	}
	cfg, err = a.core.Hooks.BuildAgent(ctx, cfg.WithHost(a.rt.host))
	if err != nil {
		return err
	}
	if cfg.Name != a.core.Name {
		return fmt.Errorf("OnBuildAgent changed the name to %q", cfg.Name)
	}
	if err := checkConfig(cfg); err != nil {
		return fmt.Errorf("after OnBuildAgent: %w", err)
	}
	if cfg.Model.ContextWindow == 0 {
		cfg.Model.ContextWindow = provider.ContextWindow(a.rt.provider, cfg.Model.Name)
	}
	a.core.Asked = cfg.Tools
	a.core.Config = &cfg
	v, err := a.core.Hooks.View(a.core.Config, a.rt.o.Environment, true)
	if err != nil {
		return err
	}
	a.core.View.Store(v)
	return nil
}

func (a *Agent) onRegister(ctx context.Context) (err error) {
	defer failure.Catch(point.OnRegisterAgent, &err)
	return a.core.Hooks.OnRegisterAgent(ctx, a.core.Config)
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
	select {
	case <-drained:
	case <-ctx.Done():
		a.cancelTurns(cause)
		r.awaitTurns(ctx, a, drained)
	}
	lasting := context.WithoutCancel(ctx)
	r.endSessions(ctx, a)
	r.emitFailure(ctx, r.hookWithGrace(ctx, a.core.Hooks, point.OnUnregisterAgent, func() error { return a.onUnregister(lasting) }))
	r.forget(a)
	r.emit(ctx, hook.Event{Kind: event.AgentUnregistered, Agent: a.Name()})
	return nil
}

// endSessions ends the sessions of all conversations of the agent, one after the other.
// When a hook hangs, the remaining sessions end concurrently, so that one more grace
// period is enough for all of them.
func (r *Runtime) endSessions(ctx context.Context, a *Agent) {
	what, lasting := a.core.Hooks.At(point.OnSessionEnd), context.WithoutCancel(ctx)
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
	_ = r.withGrace(ctx, r.hooks.At(point.OnEvent), func() error {
		r.host.emit(context.WithoutCancel(ctx), ev)
		return nil
	})
}

func (a *Agent) onUnregister(ctx context.Context) (err error) {
	defer failure.Catch(point.OnUnregisterAgent, &err)
	a.core.Hooks.OnUnregisterAgent(ctx, a.core.Config)
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
	cfg := *a.core.Config
	cfg.Tools = slices.Clone(a.core.Asked)
	v, err := a.core.Hooks.View(&cfg, r.o.Environment, false)
	if err != nil {
		return fmt.Errorf("refresh agent %q: %w", name, err)
	}
	a.core.View.Store(v)
	return ctx.Err()
}
