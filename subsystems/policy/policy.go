package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/spell"
)

// Policy decides by rules. Make it with [New]. It is safe for concurrent use. It blocks
// only to read the symbolic links of a path.
type Policy struct {
	hook.Nop

	base     ruleset
	compiler compiler
	tools    func() []message.Tool
	confined func(call *hook.ToolCall) Confinement

	mu sync.RWMutex
	// agents has the rules of registered agents with a section of their own.
	agents map[*hook.AgentConfig]ruleset
}

var (
	_ hook.Hook          = (*Policy)(nil)
	_ hook.BeforeTool    = (*Policy)(nil)
	_ hook.RewriteResult = (*Policy)(nil)
)

// Options are the settings of a [Policy]. The zero value of each field is usable.
type Options struct {
	// Default applies to calls without a matching rule, unless one of the Rules has a
	// stricter default; "" is DefaultAsk.
	Default Default
	// Root is the base of relative paths, the same as that of the tools.
	// Without it, a rule with a pattern for paths is an error.
	Root string
	// Home is the home directory, for patterns that begin with ~.
	Home string
	// Private are absolute directories of the program itself, such as that of its databases. A command that names one is denied.
	Private []string
	// Subjects add the subjects of other tools, by the tool's name in lower case. They
	// override those of this module's tools.
	Subjects map[string]Subject
	// Tools returns all existing tools. It is called when an agent is built; a rule that
	// names none of them is then an error. Tools of MCP servers may be missing, because
	// servers come and go. Nil checks nothing.
	Tools func() []message.Tool
	// Confined says what a sandbox does with a call of a command. It is called for each decision about such a call and for what people
	// are told of it, also concurrently, must answer the same each time, and must not block. A call that is only explained has no
	// step. Nil is no sandbox.
	Confined func(call *hook.ToolCall) Confinement
}

// New compiles the rules. The error has a [RuleError] for each wrong rule. Nil options are
// the zero Options.
func New(rules []Rules, o *Options) (*Policy, error) {
	if o == nil {
		o = &Options{}
	}
	at, err := newPlaces(o.Root, o.Home, o.Private)
	if err != nil {
		return nil, fmt.Errorf("policy: root: %w", err)
	}
	p := &Policy{
		base:     ruleset{def: o.Default},
		compiler: compiler{subjects: subjects(), places: at},
		tools:    o.Tools, confined: o.Confined, agents: map[*hook.AgentConfig]ruleset{},
	}
	switch {
	case o.Default.rank() < 0:
		return nil, fmt.Errorf("policy: there is no default %q; use one of the constants", o.Default)
	case o.Default == "":
		p.base.def = DefaultAsk
	}
	maps.Copy(p.compiler.subjects, o.Subjects)
	var errs []error
	for _, r := range rules {
		err := p.base.add(p.compiler, r)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return p, nil
}

func (s *ruleset) add(c compiler, r Rules) error {
	more, err := c.compile(r)
	s.rules = append(s.rules[:len(s.rules):len(s.rules)], more...)
	s.safe = s.safe || r.AllowSafeCommands
	if r.Default.rank() > s.def.rank() {
		s.def = r.Default
	}
	return err
}

// BeforeTool denies, asks, narrows the grant, or has no opinion.
func (p *Policy) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	return p.answer(call)
}

// of returns the rules for an agent. It compiles the section of an unregistered agent anew.
func (p *Policy) of(cfg *hook.AgentConfig) (ruleset, error) {
	p.mu.RLock()
	set, ok := p.agents[cfg]
	p.mu.RUnlock()
	if ok {
		return set, nil
	}
	return p.with(cfg)
}

// with returns the policy's own rules and those of an agent's section.
func (p *Policy) with(cfg *hook.AgentConfig) (ruleset, error) {
	rules, found, err := sectionOf(cfg)
	if err != nil || !found {
		return p.base, err
	}
	set := p.base
	if err := set.add(p.compiler, rules); err != nil {
		return set, fmt.Errorf("agent %q: %w", cfg.Name, err)
	}
	return set, nil
}

// OnBuildAgent refuses an agent whose section has a wrong rule, or a rule for a tool that
// does not exist.
func (p *Policy) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	set, err := p.with(&cfg)
	if err != nil || p.tools == nil {
		return cfg, err
	}
	var names []string
	for _, t := range p.tools() {
		names = append(names, strings.ToLower(t.Name))
	}
	var errs []error
	for i, r := range set.rules {
		if strings.HasPrefix(r.tool, "mcp__") || slices.ContainsFunc(names, r.tools.matches) {
			continue
		}
		fix := "there are " + strings.Join(names, ", ")
		if near := spell.Closest(r.tool, names); near != "" {
			fix = fmt.Sprintf("did you mean %s?", near)
		}
		err := error(&RuleError{At: r.at, Rule: r.text, Problem: "there is no such tool", Fix: fix})
		if i >= len(p.base.rules) {
			err = fmt.Errorf("agent %q: %w", cfg.Name, err)
		}
		errs = append(errs, err)
	}
	return cfg, errors.Join(errs...)
}

// OnRegisterAgent compiles the agent's section, once.
func (p *Policy) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	set, err := p.with(cfg)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.agents[cfg] = set
	return nil
}

// OnUnregisterAgent drops the agent's rules.
func (p *Policy) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.agents, cfg)
}
