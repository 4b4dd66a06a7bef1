package runtime

import (
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
)

// LayerSection is the section of an agent's configuration that is laid over the
// hooks of the process for it: {"Memory": "off", "Guard": "BeforeTool: timeout=2s"}.
// See [composite.ParseLayer].
const LayerSection = "hooks"

// Hooks are layered: those of the process, those of an agent over them, those of a
// turn over these. Whoever has nothing of its own shares what is below it. What a
// layer turns off stays off for those above: it was not opened, or not told of the
// agent.

// AgentLayer returns what the agent's configuration lays over the hooks, and whether
// it has such a section.
func AgentLayer(cfg *hook.AgentConfig) (plan.Layer, bool, error) {
	settings, ok, err := hook.SectionOf[map[string]composite.Switchable](cfg, LayerSection)
	if err != nil || !ok {
		return plan.Layer{}, ok, err
	}
	layer, err := composite.LayerOf(fmt.Sprintf("agent %q", cfg.Name), settings)
	return layer, true, err
}

// hooksOf returns the hooks of an agent that is to be registered.
func (r *Runtime) hooksOf(cfg *hook.AgentConfig) (*scope.Hooks, error) {
	layer, ok, err := AgentLayer(cfg)
	if err != nil || !ok {
		return r.hooks, err
	}
	return r.hooks.Under([]plan.Layer{layer})
}

// hooksUnder returns the agent's hooks in a turn that is a child of the parent's.
// Law 10: a child passes the gates that its parent passes, so that no agent rids
// itself of one by having another do the work.
func (a *Agent) hooksUnder(parent *turn) (*scope.Hooks, error) {
	hooks, err := a.hooks.Under(inherited(parent.layers))
	if err != nil || hooks == parent.hooks {
		return hooks, err
	}
	if gate := parent.hooks.Plan().Beyond(hooks.Plan()); gate != "" {
		return nil, fmt.Errorf("%w: %s holds agent %q and not, or less strictly, %q; leave it on there, or turn it off for both",
			hook.ErrUngated, gate, parent.conv.agent.Name(), a.Name())
	}
	return hooks, nil
}

// lay lays the layers of the turn over the hooks of its agent.
func (t *turn) lay(layers []plan.Layer) error {
	if len(layers) == 0 {
		return nil
	}
	a := t.conv.agent
	hooks, err := a.hooks.Under(layers)
	if err != nil {
		return err
	}
	cfg := *a.cfg
	cfg.Tools = slices.Clone(a.asked)
	view, err := t.viewOf(hooks, &cfg)
	if err != nil {
		return err
	}
	t.hooks, t.view, t.layers, t.cfg = hooks, view, layers, &cfg
	return nil
}

// Plan returns the plan of the hooks as the agent has them. That of a hook which is no
// composite has one nameless member.
func (a *Agent) Plan() *plan.Plan { return a.hooks.Plan() }

// Plan returns the plan of the hooks as the process has them: what agents have
// turned off is there. Before Open it is that of the hook which New was given, without
// layers; nil if that cannot be opened.
func (r *Runtime) Plan() *plan.Plan {
	r.mu.Lock()
	opened := r.state == stateOpen || r.state == stateClosed
	r.mu.Unlock()
	if opened {
		return r.hooks.Plan()
	}
	c, err := composite.From(r.given)
	if err != nil {
		return nil
	}
	return c.Plan()
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
