package runtime

import (
	"fmt"

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

// Plan returns the plan of the hooks as the agent has them. That of a hook which is no
// composite has one nameless member.
func (a *Agent) Plan() *plan.Plan { return a.core.Hooks.Plan() }

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
