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

// Agent is a registered agent as turns use it.
type Agent struct {
	Name   string
	Config *hook.AgentConfig
	// Asked is the configured list of tools, before any scope; nil is all.
	Asked []string
	// Hooks are those of the process, with the layers of the agent's configuration.
	Hooks *scope.Hooks
	View  atomic.Pointer[scope.View]
	Owner Owner
	// overlay is the last turn's changes of the tools.
	overlay atomic.Pointer[overlay]
}

// Owner is whoever registered an agent.
type Owner interface {
	// TrackGuestTurn makes the agent a guest of the thread until the function is called: who ends
	// the agent's turns ends that of the thread.
	TrackGuestTurn(th *Thread) (dismiss func(), err error)
	// Child makes the conversation of a child turn of the agent, below the parent's. The
	// caller calls Drop.
	Child(rec store.Record, parent *Thread) Child
}

// key is that of the agent's conversation with the sender.
func (a *Agent) key(env *Env, sender string) store.Key {
	return store.Key{Project: env.Project, Agent: a.Name, Sender: sender}
}

// overlay is what one set of changes makes of a view.
type overlay struct {
	base    *scope.View
	changes contribution.Tools
	made    *scope.View
}

// overlaid is the view with the changes of one turn. The last is kept, so that a
// hook which says the same in each turn has the tools encoded once.
func (a *Agent) overlaid(base *scope.View, ch contribution.Tools) *scope.View {
	if last := a.overlay.Load(); last != nil && last.base == base &&
		slices.Equal(last.changes.Hidden, ch.Hidden) && slices.Equal(last.changes.Added, ch.Added) {
		return last.made
	}
	o := &overlay{base: base, changes: ch, made: base.With(ch)}
	a.overlay.Store(o)
	return o.made
}

// hooksUnder returns the agent's hooks in a turn that is a child of the parent's.
// Law 10: a child passes the gates that its parent passes, so that no agent rids
// itself of one by having another do the work.
func (a *Agent) hooksUnder(parent *Turn) (*scope.Hooks, error) {
	hooks, err := a.Hooks.Under(inherited(parent.layers))
	if err != nil || hooks == parent.hooks {
		return hooks, err
	}
	if gate := parent.hooks.Plan().Beyond(hooks.Plan()); gate != "" {
		return nil, fmt.Errorf("%w: %s holds agent %q and not, or less strictly, %q; leave it on there, or turn it off for both",
			hook.ErrUngated, gate, parent.thread.Agent.Name, a.Name)
	}
	return hooks, nil
}

// applyLayers lays the layers of the turn over the hooks of its agent.
func (t *Turn) applyLayers(layers []plan.Layer) error {
	if len(layers) == 0 {
		return nil
	}
	a := t.thread.Agent
	hooks, err := a.Hooks.Under(layers)
	if err != nil {
		return err
	}
	cfg := *a.Config
	cfg.Tools = slices.Clone(a.Asked)
	view, err := t.viewOf(hooks, &cfg)
	if err != nil {
		return err
	}
	t.hooks, t.view, t.layers, t.cfg = hooks, view, layers, &cfg
	return nil
}

// inherited are the layers as a child has them: what is on for the turn need not be
// so for the child's agent.
func inherited(layers []plan.Layer) []plan.Layer {
	out := make([]plan.Layer, len(layers))
	for i, l := range layers {
		out[i] = plan.Layer{Source: l.Source, Settings: slices.DeleteFunc(slices.Clone(l.Settings), func(s plan.Setting) bool {
			return s.Switch == plan.On
		})}
	}
	return out
}
