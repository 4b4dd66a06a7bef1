package runtime

import (
	"fmt"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
)

// LayerSection names the section of an agent's configuration that changes the hooks for
// this agent: {"Memory": "off", "Guard": "BeforeTool: timeout=2s"}. See
// [composite.ParseLayer].
const LayerSection = "hooks"

// The layers of the process come first, then that of the agent, then those of the turn. An
// agent or a turn without layers shares the hooks below it. A member that one layer turns
// off stays off in later layers: it was not opened, or does not know the agent.

// AgentLayer returns the layer in the section [LayerSection] of the configuration, and
// whether there is such a section. The error says what is wrong with the section.
func AgentLayer(cfg *hook.AgentConfig) (plan.Layer, bool, error) {
	settings, ok, err := hook.SectionOf[map[string]composite.Switchable](cfg, LayerSection)
	if err != nil || !ok {
		return plan.Layer{}, ok, err
	}
	layer, err := composite.LayerOf(fmt.Sprintf("agent %q", cfg.Name), settings)
	return layer, true, err
}

// hooksOf returns the hooks of an agent with the configuration, and its layer if it has one.
func hooksOf(p *loop.Process, cfg *hook.AgentConfig) (*scope.Hooks, []plan.Layer, error) {
	layer, ok, err := AgentLayer(cfg)
	if err != nil || !ok {
		return p.Hooks, nil, err
	}
	layers := []plan.Layer{layer}
	hooks, err := p.Hooks.Under(layers)
	return hooks, layers, err
}

// Plan returns the plan of the agent's hooks. The plan of a hook that is no composite has
// one nameless member.
func (a *Agent) Plan() *plan.Plan { return a.core.Now().Hooks.Plan() }

// Plan returns the plan of the process's hooks, including members that single agents have
// turned off. Before Open it is the plan of the hook that New got, without layers; nil if
// that hook cannot be opened.
func (r *Runtime) Plan() *plan.Plan {
	r.mu.Lock()
	opened := r.state == stateOpen || r.state == stateClosed
	r.mu.Unlock()
	if opened {
		return r.hooks().Plan()
	}
	c, err := composite.From(r.given)
	if err != nil {
		return nil
	}
	return c.Plan()
}
