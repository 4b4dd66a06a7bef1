package designs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Tally is a subsystem with all nine methods of the facade and no [hook.Nop], written by hand: what
// design 004 (a daemon in Rust) asks of every sub-hook. It counts things for each agent.
//
//	004                     here
//	schema                  Schema
//	system_prompt           SystemPrompt
//	on_build_agent          OnBuildAgent
//	on_register_agent       OnRegisterAgent
//	on_unregister_agent     OnUnregisterAgent
//	preprocess              Preprocess
//	scoped_tools            ScopedTools
//	dispatch                Dispatch
//	on_event                OnEvent
type Tally struct {
	mu     sync.Mutex
	counts map[string]map[string]int // by agent; an agent is there while it is registered
	turns  int
}

var _ hook.Hook = (*Tally)(nil)

// NewTally returns a Tally without agents.
func NewTally() *Tally { return &Tally{counts: map[string]map[string]int{}} }

// TallySection is the section "tally" of an agent's configuration.
type TallySection struct {
	// ReadOnly agents see the counts and do not change them.
	ReadOnly bool `json:"read_only"`
}

const tallyInput = `{"type":"object","properties":{"thing":{"type":"string","description":"Thing to count.","minLength":1,"maxLength":60}},` +
	`"required":["thing"],"additionalProperties":false}`

// Schema declares both tools.
func (*Tally) Schema() []message.Tool {
	return []message.Tool{
		{Name: "tally_add", Description: "Adds one to the count of a thing.", Input: tallyInput},
		{Name: "tally_show", Description: "Shows the count of a thing.", Input: tallyInput, Annotations: message.Annotations{ReadOnly: true}},
	}
}

// SystemPrompt says how to use the tools that the agent has.
func (*Tally) SystemPrompt(cfg *hook.AgentConfig) string {
	return "Count with " + cfg.ToolName("tally_show") + " and its relatives, not by heart."
}

// OnBuildAgent checks the section: a mistake keeps the agent from being registered.
func (*Tally) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	_, _, err := hook.SectionOf[TallySection](&cfg, "tally")
	return cfg, err
}

// OnRegisterAgent makes the agent's counts; 004 calls it with a configuration that is whole.
func (y *Tally) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.counts[cfg.Name] = map[string]int{}
	return nil
}

// OnUnregisterAgent drops them.
func (y *Tally) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	y.mu.Lock()
	defer y.mu.Unlock()
	delete(y.counts, cfg.Name)
}

// Preprocess expands /count THING.
func (*Tally) Preprocess(_ context.Context, _ *hook.Turn, in message.Input) (message.Input, error) {
	thing, ok := strings.CutPrefix(in.Text(), "/count ")
	if !ok {
		return in, nil
	}
	return message.TextInput("Add one to the count of " + thing + ", and say how many there are."), nil
}

// ScopedTools leaves out what a read-only agent may not call; what is left out is neither offered nor run.
func (*Tally) ScopedTools(cfg *hook.AgentConfig) hook.Scope {
	if s, _, _ := hook.SectionOf[TallySection](cfg, "tally"); s.ReadOnly {
		return hook.Scope{Tools: []string{"tally_show"}, Line: "The counts are read-only."}
	}
	return hook.Scope{}
}

// Dispatch binds a call. Schema, decoding and this switch are what hookgen writes for others.
func (y *Tally) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	add := call.Name() == "tally_add"
	if !add && call.Name() != "tally_show" {
		return hook.Invocation{}, false
	}
	type input struct {
		Thing string `json:"thing"`
	}
	in, err := message.DecodeStrict[input](call.Args()) // no repeated names, no variants of their case
	if err != nil || in.Thing == "" || len(in.Thing) > 60 {
		return hook.BadArgs(call.Args(), &hook.ArgError{Tool: call.Name(), Path: "thing", Reason: "must be the name of a thing", Schema: tallyInput}), true
	}
	args, _ := json.Marshal(in) // canonical: what everybody sees is what runs
	return hook.Bound(message.JSON(args), tallyCall{y, in.Thing, add}), true
}

// tallyCall is a bound call.
type tallyCall struct {
	tally *Tally
	thing string
	add   bool
}

// Run runs it, perhaps at the same time as others.
func (c tallyCall) Run(_ context.Context, env *hook.Env) message.ToolResult {
	c.tally.mu.Lock()
	defer c.tally.mu.Unlock()
	agent := env.Call.Step().Turn().Agent().Name
	counts, ok := c.tally.counts[agent]
	if !ok {
		return message.FailedResult(message.FailOperation, "nothing is counted for "+agent)
	}
	if c.add {
		counts[c.thing]++
	}
	return message.TextResult(fmt.Sprintf("%s: %d", c.thing, counts[c.thing]))
}

// OnEvent sees every event and changes nothing.
func (y *Tally) OnEvent(_ context.Context, ev hook.Event) {
	if ev.Kind == event.TurnEnd {
		y.mu.Lock()
		defer y.mu.Unlock()
		y.turns++
	}
}

// Turns returns how many turns have ended.
func (y *Tally) Turns() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.turns
}

// Agents returns how many agents are registered.
func (y *Tally) Agents() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return len(y.counts)
}
