package loop

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/internal/contribution"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Agent is the part of a registered agent that turns use.
type Agent struct {
	Name         string
	Registration Registration
	setup        atomic.Pointer[Setup]
	// overlay is the newest view that TurnTools changed.
	overlay atomic.Pointer[overlay]
	// senderView is the newest view for a sender.
	senderView atomic.Pointer[senderView]
	// halted is the fatal failure after which no turn begins; nil if there was none.
	halted atomic.Pointer[hook.Failure]
}

// Halt refuses further turns if the failure is fatal. It returns false if it is not, or if there
// was such a failure before.
func (a *Agent) Halt(f *hook.Failure) bool {
	return f != nil && hook.SeverityOf(f.Err) == hook.SeverityFatal && a.halted.CompareAndSwap(nil, f)
}

// Halted returns the fatal failure after which no turn begins; nil if there was none.
func (a *Agent) Halted() *hook.Failure { return a.halted.Load() }

// senderView is the view that base is for a sender.
type senderView struct {
	base   *scope.View
	sender string
	made   *scope.View
}

// viewFor returns the view of a setup of the agent for the turns of a sender. It keeps the newest one.
func (a *Agent) viewFor(of *Setup, sender string) *scope.View {
	base := of.View.Load()
	if !base.BySender() {
		return base
	}
	if last := a.senderView.Load(); last != nil && last.base == base && last.sender == sender {
		return last.made
	}
	s := &senderView{base: base, sender: sender, made: base.For(sender)}
	a.senderView.Store(s)
	return s.made
}

// Registration is that of an agent in package runtime.
type Registration interface {
	// TrackGuestTurn counts the running turn of the thread as one of the agent's until untrack
	// is called: a call that cancels the agent's turns cancels it too, and waits for it.
	TrackGuestTurn(th *Thread) (untrack func(), err error)
	// Child makes the conversation of a child turn, below the parent's. The caller calls Drop.
	Child(rec store.Record, parent *Thread) Child
}

// Now is the setup that the next turn gets.
func (a *Agent) Now() *Setup { return a.setup.Load() }

// Set sets the setup that the next turn gets. With another configuration turns begin again after
// a fatal failure.
func (a *Agent) Set(s *Setup) {
	if was := a.setup.Swap(s); was != nil && was.Config != s.Config {
		a.halted.Store(nil)
	}
}

// key is the key of the agent's conversation with the sender.
func (a *Agent) key(env *Env, sender string) store.Key {
	return store.Key{Project: env.Project, Agent: a.Name, Sender: sender}
}

// overlay is a view and the changes that made it from base.
type overlay struct {
	base    *scope.View
	changes contribution.Tools
	made    *scope.View
}

// overlaid is the view with the changes of one turn. It keeps the newest one: if a hook makes
// the same changes in every turn, the tools are encoded once.
func (a *Agent) overlaid(base *scope.View, ch contribution.Tools) *scope.View {
	if last := a.overlay.Load(); last != nil && last.base == base &&
		slices.Equal(last.changes.Hidden, ch.Hidden) && slices.Equal(last.changes.Added, ch.Added) {
		return last.made
	}
	o := &overlay{base: base, changes: ch, made: base.With(ch)}
	a.overlay.Store(o)
	return o.made
}

// hooksUnder returns the hooks of an agent with the setup in a turn that is a child of the parent's.
// Law 10: a child passes the gates of its parent, so no agent can avoid a gate by delegating.
func (s *Setup) hooksUnder(parent *Turn) (*scope.Hooks, error) {
	hooks, err := s.Hooks.Under(inherited(parent.layers))
	if err != nil || hooks == parent.hooks {
		return hooks, err
	}
	if gate := parent.hooks.Plan().Beyond(hooks.Plan()); gate != "" {
		return nil, fmt.Errorf("%w: %s holds agent %q and not, or less strictly, %q; leave it on there, or turn it off for both",
			hook.ErrUngated, gate, parent.thread.Agent.Name, s.Config.Name)
	}
	return hooks, nil
}

// applyLayers applies the layers of the turn to the hooks of its agent.
func (t *Turn) applyLayers(layers []plan.Layer) error {
	if len(layers) == 0 {
		return nil
	}
	hooks, err := t.base.Hooks.Under(layers)
	if err != nil {
		return err
	}
	cfg := *t.base.Config
	cfg.Tools = slices.Clone(t.base.Asked)
	view, err := t.viewOf(hooks, &cfg)
	if err != nil {
		return err
	}
	t.hooks, t.view, t.layers, t.cfg = hooks, view.For(t.thread.Place.Sender()), layers, &cfg
	return nil
}

// inherited returns the layers for a child. It drops the members that the layers turn on, since
// the child's agent need not have them.
func inherited(layers []plan.Layer) []plan.Layer {
	out := make([]plan.Layer, len(layers))
	for i, l := range layers {
		out[i] = plan.Layer{Source: l.Source, Settings: slices.DeleteFunc(slices.Clone(l.Settings), func(s plan.Setting) bool {
			return s.Switch == plan.On
		})}
	}
	return out
}
