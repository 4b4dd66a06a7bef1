// Package structured makes an agent answer with JSON of a schema. Ask for it in the agent's
// file, or for one turn:
//
//	format: {schema: {type: object, properties: {city: {type: string}}, required: [city]}}
//
//	runtime.TurnOptions{Format: message.ResponseFormat{JSON: true, Schema: schema}}
//	runtime.SendAs(ctx, conv, tool.ValueOf[Weather](), input, nil)
//
// A reply that does not fit goes back to the model with what is wrong, twice unless the
// agent's section "structured" has another number. Then the turn fails with an [Error]. A
// reply that was cut off or withheld is no answer either, even if it fits. So the text of a
// completed turn is one JSON value that fits the schema.
//
// A model without a response format of its own gets the tool final_answer, whose parameters
// are the schema. A call of it alone becomes the text of the answer: the history has a plain
// message. Beside other calls it is left out, the others run, and the model is told to call it
// alone. A text is accepted in its place if it fits.
//
// Replies of hooks in the model's place are checked too, but not the answers of BeforeTurn and
// OnTurnError. Turns that ask for no JSON are left alone.
package structured

import (
	"context"
	"fmt"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/schema"
)

// Tool is the public name of the tool; see [hook.ReservedTools].
const Tool = "final_answer"

// DefaultRetries is how often a model may correct its answer in one turn. The runtime allows
// no more than MaxRetries for a step.
const (
	DefaultRetries = 2
	MaxRetries     = 3
)

// Mode says how a model is asked for JSON.
type Mode string

// The modes.
const (
	ModeAuto   Mode = ""       // native if Options.Native says so
	ModeNative Mode = "native" // by the response format of the request
	ModeTool   Mode = "tool"   // by the tool final_answer
)

// Options are the settings of [Structured]; nil is all zero values.
type Options struct {
	// Native reports whether the model with this id has a response format of its own. It is
	// called before each request that asks for JSON. Nil is no model: then the tool is used,
	// which works with every model that calls tools.
	Native func(model string) bool
}

// Section is an agent's configuration: the section "structured".
type Section struct {
	// Retries is how often the model may correct its answer in one turn, from 0 to
	// MaxRetries; nil is DefaultRetries.
	Retries *int `json:"retries"`
	// Mode is native or tool; "" lets the model decide.
	Mode Mode `json:"mode"`
}

// Structured checks replies. New makes one; it is safe for concurrent use.
//
//hook:subsystem
type Structured struct {
	hook.Nop
	native func(model string) bool
	turn   hook.TurnState[progress]

	mu sync.RWMutex
	// agents has the settings of registered agents with a section.
	agents map[*hook.AgentConfig]settings
	// compiled has schemas by their text.
	compiled map[message.JSON]*schema.Schema
}

// The points at which replies are asked for, read and checked.
var (
	_ hook.RewriteRequest = (*Structured)(nil)
	_ hook.BeforeModel    = (*Structured)(nil)
	_ hook.WrapModel      = (*Structured)(nil)
	_ hook.AfterModel     = (*Structured)(nil)
)

// settings are those of one agent.
type settings struct {
	retries int
	mode    Mode
}

// New returns the subsystem; nil options are all zero values.
func New(o *Options) *Structured {
	s := &Structured{agents: map[*hook.AgentConfig]settings{}, compiled: map[message.JSON]*schema.Schema{}}
	if o != nil {
		s.native = o.Native
	}
	return s
}

// OnBuildAgent refuses a wrong section, and a schema that cannot be checked.
func (s *Structured) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	if _, err := settingsOf(&cfg); err != nil {
		return cfg, err
	}
	if _, err := s.compile(cfg.Model.Format); err != nil {
		return cfg, fmt.Errorf("agent %q: format.schema: %w", cfg.Name, err)
	}
	return cfg, nil
}

// OnRegisterAgent keeps the agent's settings.
func (s *Structured) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	set, err := settingsOf(cfg)
	if err != nil || set == defaults() {
		return err
	}
	s.mu.Lock()
	s.agents[cfg] = set
	s.mu.Unlock()
	return nil
}

// OnUnregisterAgent drops the agent's settings.
func (s *Structured) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	s.mu.Lock()
	delete(s.agents, cfg)
	s.mu.Unlock()
}

func defaults() settings { return settings{retries: DefaultRetries} }

// of returns the settings of the agent.
func (s *Structured) of(cfg *hook.AgentConfig) settings {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if set, ok := s.agents[cfg]; ok {
		return set
	}
	return defaults()
}

func settingsOf(cfg *hook.AgentConfig) (settings, error) {
	out := defaults()
	section, _, err := hook.SectionOf[Section](cfg, "structured")
	if err != nil {
		return out, err
	}
	out.mode = section.Mode
	if section.Retries != nil {
		out.retries = *section.Retries
	}
	switch {
	case out.retries < 0 || out.retries > MaxRetries:
		return out, fmt.Errorf("agent %q: section structured: retries is %d; write 0 to %d, because a step asks its model that often again", cfg.Name, out.retries, MaxRetries)
	case out.mode != ModeAuto && out.mode != ModeNative && out.mode != ModeTool:
		return out, fmt.Errorf("agent %q: section structured: mode is %.60q; write native or tool, or leave it out", cfg.Name, out.mode)
	}
	return out, nil
}

// maxCompiled limits the schemas that are kept compiled. Turns may bring any number.
const maxCompiled = 64

// compile returns the compiled schema of the format; nil if any JSON is asked for, or none.
func (s *Structured) compile(f message.ResponseFormat) (*schema.Schema, error) {
	if f.Schema == "" {
		return nil, nil
	}
	s.mu.RLock()
	known := s.compiled[f.Schema]
	s.mu.RUnlock()
	if known != nil {
		return known, nil
	}
	made, err := schema.Compile(f.Schema)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.compiled) >= maxCompiled {
		clear(s.compiled)
	}
	s.compiled[f.Schema] = made
	return made, nil
}
