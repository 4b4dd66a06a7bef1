package runtime

import (
	"context"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
)

// Update replaces the configuration of a registered agent, which keeps its conversations. Turns
// that run keep the old configuration, the next ones have the new one. The new one passes
// OnBuildAgent and OnRegisterAgent like that of [Runtime.Register]; if it is refused, the old one
// stays. The old one gets OnUnregisterAgent when the last turn that has it has ended. A session
// goes on.
//
// The errors are those of Register and of [Runtime.Agent]. Update must not be called from a hook
// or a tool.
func (r *Runtime) Update(ctx context.Context, cfg hook.AgentConfig) (*Agent, error) {
	a, err := r.update(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("update agent %q: %w", cfg.Name, err)
	}
	r.host.emit(ctx, hook.Event{Kind: event.AgentUpdated, Agent: a.Name()})
	r.tellUnmatched(ctx, a)
	return a, nil
}

func (r *Runtime) update(ctx context.Context, cfg hook.AgentConfig) (*Agent, error) {
	if err := checkConfig(cfg); err != nil {
		return nil, err
	}
	unlock, err := r.beginChange(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	a, err := r.Agent(cfg.Name)
	if err != nil {
		return nil, err
	}
	s, err := a.enrol(ctx, cfg, r.members.process.Load()) // which nobody changes meanwhile
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	if err := a.usableLocked(); err != nil {
		a.mu.Unlock()
		r.unregister(ctx, s)
		return nil, err
	}
	old := a.core.Now()
	a.core.Set(s)
	a.replaced = append(a.replaced, old)
	a.updates.Add(1)
	a.mu.Unlock()
	_ = r.Refresh(ctx, a.Name()) // its tools may have changed since it was built
	r.endReplaced(context.WithoutCancel(ctx), a, old.Registered)
	return a, nil
}

// endReplaced unregisters a replaced configuration when its last turn has ended.
func (r *Runtime) endReplaced(ctx context.Context, a *Agent, of *loop.Users) {
	end := func() {
		defer a.updates.Done()
		a.mu.Lock()
		i := slices.IndexFunc(a.replaced, func(s *loop.Setup) bool { return s.Registered == of })
		s := a.replaced[i]
		a.replaced = slices.Delete(a.replaced, i, i+1)
		s.Process.Hold() // the hooks learn of its end before one of them goes
		a.mu.Unlock()
		defer s.Process.Release()
		r.unregister(ctx, s)
	}
	idle := of.Idle()
	select {
	case <-idle:
		end()
		return
	default:
	}
	go func() { // the unregistration of the agent waits for it
		<-idle
		end()
	}()
}
