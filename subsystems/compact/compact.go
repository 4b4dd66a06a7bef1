// Package compact keeps a conversation within the context window of its model, so that it can
// go on for weeks.
//
//	compact.New(nil) // results of old calls go at 60 % of the window, old turns at 80 %
//
// Two things make room. Results of old tool calls are left out of requests first: the model may
// call the tool again. When that is not enough, older turns are replaced by a summary. Both also
// happen when the provider says that a request was too long. The stored history keeps every
// result, and summarised turns move to its archive.
//
// A summary is checked: names of files, open tasks and decisions of the older turns have to be
// in it, and what a person has pinned always is. People type /compact, with what the summary
// must not lose, and /pin, /pins and /unpin.
package compact

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
)

// Compact keeps conversations within the window. New makes one; it is safe for concurrent use.
//
//hook:subsystem
type Compact struct {
	hook.Nop
	o Options

	pins hook.ConversationState[[]string]
	// cleared is the id of the newest call whose result requests leave out, and those before it.
	cleared hook.ConversationState[string]
	turn    hook.TurnState[step]
	check   hook.TurnState[check]

	mu     sync.RWMutex
	agents map[*hook.AgentConfig]Options
	// scale has the tokens of a byte by model, as the providers report them, and learned the
	// windows that they have refused to exceed.
	scale   map[string]float64
	learned map[string]int64
	// running has the compactions that this subsystem has asked for, by conversation.
	running map[string]running
}

// The points at which the size of requests and the summaries are looked at.
var (
	_ hook.BeforeTurn       = (*Compact)(nil)
	_ hook.RewriteRequest   = (*Compact)(nil)
	_ hook.OnModelError     = (*Compact)(nil)
	_ hook.WrapModel        = (*Compact)(nil)
	_ hook.AfterModel       = (*Compact)(nil)
	_ hook.BeforeCompaction = (*Compact)(nil)
)

// Options are the settings of [Compact]; nil is all zero values.
type Options struct {
	// Window is the context window in tokens of models whose window nobody knows; 0 is
	// DefaultWindow.
	Window int
	// Clear is the share of the window at which results of old calls are left out, Share that
	// at which older turns are summarised, and Keep how much of it the newest turns keep. 0 is
	// the default; they are at most 1.
	Clear, Share, Keep float64
	// Results is how many of the newest results stay whole; 0 is DefaultResults.
	Results int
	// Model writes the summaries; "" is the agent's.
	Model string
}

// Defaults of [Options].
const (
	DefaultWindow  = 128_000
	DefaultClear   = 0.6
	DefaultShare   = 0.8
	DefaultKeep    = 0.2
	DefaultResults = 4
)

// New returns the subsystem; nil options are all zero values.
func New(o *Options) *Compact {
	c := &Compact{agents: map[*hook.AgentConfig]Options{}, scale: map[string]float64{}, learned: map[string]int64{}, running: map[string]running{}}
	if o != nil {
		c.o = *o
	}
	c.o = c.o.or(Options{Window: DefaultWindow, Clear: DefaultClear, Share: DefaultShare, Keep: DefaultKeep, Results: DefaultResults})
	return c
}

// or returns the settings, with those of d where there are none.
func (o Options) or(d Options) Options {
	return Options{
		Window: cmp.Or(o.Window, d.Window), Clear: cmp.Or(o.Clear, d.Clear), Share: cmp.Or(o.Share, d.Share),
		Keep: cmp.Or(o.Keep, d.Keep), Results: cmp.Or(o.Results, d.Results), Model: cmp.Or(o.Model, d.Model),
	}
}

// States implements hook.Stateful.
func (c *Compact) States() map[string]hook.State {
	return map[string]hook.State{"pins": &c.pins, "cleared": &c.cleared}
}

// Section is the section "compact" of an agent. Empty fields keep the settings of the process.
type Section struct {
	Clear   float64 `json:"clear,omitempty"`
	Share   float64 `json:"share,omitempty"`
	Keep    float64 `json:"keep,omitempty"`
	Results int     `json:"results,omitempty"`
	Model   string  `json:"model,omitempty"`
}

// optionsOf returns the settings of an agent: those of its section, else those of all agents.
func (c *Compact) optionsOf(cfg *hook.AgentConfig) (Options, error) {
	s, _, err := hook.SectionOf[Section](cfg, "compact")
	if err != nil {
		return c.o, err
	}
	o := Options{Clear: s.Clear, Share: s.Share, Keep: s.Keep, Results: s.Results, Model: s.Model, Window: cfg.Model.ContextWindow}.or(c.o)
	problem := func(field, why string, args ...any) error {
		return fmt.Errorf("agent %q: section compact: %s: %s", cfg.Name, field, fmt.Sprintf(why, args...))
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"clear", o.Clear}, {"share", o.Share}, {"keep", o.Keep}} {
		if f.value <= 0 || f.value > 0.95 {
			return o, problem(f.name, "%g; write a share of the window between 0 and 0.95, such as 0.6", f.value)
		}
	}
	switch {
	case o.Keep >= o.Share:
		return o, problem("keep", "%g is not less than share, %g; then a summary would make no room", o.Keep, o.Share)
	case o.Results < 0 || o.Results > 1000:
		return o, problem("results", "%d; write a number from 1 to 1000", o.Results)
	}
	return o, nil
}

// OnBuildAgent checks the section. The window of a model that nobody knows is the default one.
func (c *Compact) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	_, err := c.optionsOf(&cfg)
	return cfg, err
}

// OnRegisterAgent keeps the agent's settings, and says so if it has to assume the window.
func (c *Compact) OnRegisterAgent(ctx context.Context, cfg *hook.AgentConfig) error {
	o, err := c.optionsOf(cfg)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.agents[cfg] = o
	c.mu.Unlock()
	if cfg.Model.ContextWindow == 0 {
		cfg.Host().Emit(ctx, hook.Event{Kind: event.Diagnostic, Agent: cfg.Name, Text: fmt.Sprintf(
			"compact: nobody knows the context window of the model %s; %d tokens are assumed; set limits.context_window in the agent's file", cfg.Model.Name, o.Window)})
	}
	return nil
}

// OnUnregisterAgent drops the agent's settings.
func (c *Compact) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	c.mu.Lock()
	delete(c.agents, cfg)
	c.mu.Unlock()
}

// of returns the settings of the agent, or those of all agents if it is not registered.
func (c *Compact) of(cfg *hook.AgentConfig) Options {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if o, ok := c.agents[cfg]; ok {
		return o
	}
	return c.o
}
