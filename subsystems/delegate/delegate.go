// Package delegate lets an agent hand tasks to other agents: the tool delegate
// runs up to eight of them at the same time, each with a conversation of its own,
// and returns their answers, or, in the background, a number for each, which delegate_tasks
// lists, waits for and stops. Tasks in the background end with the turn that began them.
//
// The host runs the agents ([hook.Host.RunAgent]): with the same hooks and limits as
// the delegating agent, with no tools that this one may not use, and no longer than
// its turn. This package decides to which agents an agent may delegate, and isolates
// the tasks: a task that fails, panics or is cancelled does not affect the others.
package delegate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/character"
)

// Delegate owns the tools delegate and delegate_tasks. It keeps nothing longer than a turn
// and is safe for concurrent use; New makes one.
//
//hook:subsystem
type Delegate struct {
	hook.Nop
	o     Options
	crews hook.TurnState[*crew]
}

var _ hook.Hook = (*Delegate)(nil)

// Options are the settings of [Delegate]; nil is all zero values.
type Options struct {
	// Agents returns the existing agents. It is called when an agent is registered and
	// at each call of the tool, from any goroutine. Nil: any name is tried, and no
	// prompt lists the agents.
	Agents func() []AgentInfo
	// Parallel is how many tasks of one call run at the same time; 0 is
	// DefaultParallel.
	Parallel int
	// MaxResult limits each text of a task's result, in bytes of JSON; 0 is
	// DefaultMaxResult.
	MaxResult int
	// MaxTotal limits the results of all tasks of a call, in bytes of JSON; 0 is
	// DefaultMaxTotal. It must be below the runtime's own limit of a result, which
	// would cut the middle out.
	MaxTotal int
}

// Defaults of Options.
const (
	DefaultParallel  = 4
	DefaultMaxResult = 16 << 10
	DefaultMaxTotal  = 96_000
)

// AgentInfo describes an agent to the agents that delegate.
type AgentInfo struct{ Name, Description string }

// Section is an agent's configuration: the section "delegate".
type Section struct {
	// Agents are the agents to which the agent may delegate. Empty is none. Nil is the
	// list of the agent whose turn runs this one, or all agents without such a turn.
	Agents []string `json:"agents"`
}

// New returns the subsystem.
func New(o *Options) *Delegate {
	d := &Delegate{}
	if o != nil {
		d.o = *o
	}
	if d.o.Parallel <= 0 {
		d.o.Parallel = DefaultParallel
	}
	if d.o.MaxResult <= 0 {
		d.o.MaxResult = DefaultMaxResult
	}
	if d.o.MaxTotal <= 0 {
		d.o.MaxTotal = DefaultMaxTotal
	}
	return d
}

// OnBuildAgent refuses an agent whose section names an agent that does not exist.
func (d *Delegate) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	s, _, err := hook.SectionOf[Section](&cfg, "delegate")
	if err != nil || d.o.Agents == nil {
		return cfg, err
	}
	all := d.all()
	for _, name := range s.Agents {
		if !has(all, name) {
			return cfg, fmt.Errorf("agent %q: section delegate: agents: there is no agent %q; %s", cfg.Name, name, known(all))
		}
	}
	return cfg, nil
}

// ScopedTools removes the tool from an agent that may delegate to no agent.
func (d *Delegate) ScopedTools(cfg *hook.AgentConfig) hook.Scope {
	agents, listed, err := d.inScope(cfg)
	switch {
	case err != nil || listed && len(agents) == 0:
		return hook.Scope{Tools: []string{}}
	case d.narrowed(cfg):
		return hook.Scope{Line: "Agents to delegate to: " + listing(agents) + "."}
	}
	return hook.Scope{}
}

func (d *Delegate) narrowed(cfg *hook.AgentConfig) bool {
	s, _, err := hook.SectionOf[Section](cfg, "delegate")
	return err == nil && s.Agents != nil
}

// inScope returns the agents that cfg may delegate to, sorted by name. listed is false if
// any name may be tried, because Options.Agents is nil.
func (d *Delegate) inScope(cfg *hook.AgentConfig) (agents []AgentInfo, listed bool, err error) {
	s, _, err := hook.SectionOf[Section](cfg, "delegate")
	switch {
	case err != nil:
		return nil, true, err
	case d.o.Agents != nil:
		return slices.DeleteFunc(d.all(), func(a AgentInfo) bool { return s.Agents != nil && !slices.Contains(s.Agents, a.Name) }), true, nil
	}
	for _, name := range s.Agents {
		agents = append(agents, AgentInfo{Name: name})
	}
	return sorted(agents), s.Agents != nil, nil
}

func (d *Delegate) all() []AgentInfo { return sorted(slices.Clone(d.o.Agents())) }

// sorted sorts the agents by name, and keeps the first of each name.
func sorted(agents []AgentInfo) []AgentInfo {
	slices.SortStableFunc(agents, func(a, b AgentInfo) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(agents, func(a, b AgentInfo) bool { return a.Name == b.Name })
}

func has(agents []AgentInfo, name string) bool {
	return slices.ContainsFunc(agents, func(a AgentInfo) bool { return a.Name == name })
}

func names(agents []AgentInfo) []string {
	out := make([]string, len(agents))
	for i, a := range agents {
		out[i] = a.Name
	}
	return out
}

// listing names the first agents and counts the others.
func listing(agents []AgentInfo) string {
	const most = 50
	text := strings.Join(names(agents[:min(len(agents), most)]), ", ")
	if more := len(agents) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func known(agents []AgentInfo) string {
	if len(agents) == 0 {
		return "there is none to delegate to"
	}
	return "there are " + listing(agents)
}

const (
	// maxListed limits an agent's description in a prompt, in characters.
	maxListed = 300
	// maxList limits the list of agents in a prompt, in bytes.
	maxList = 16 << 10
)

// SystemPrompt lists the agents to which cfg may delegate, sorted by name.
func (d *Delegate) SystemPrompt(cfg *hook.AgentConfig) string {
	agents, listed, err := d.inScope(cfg)
	if err != nil || listed && len(agents) == 0 {
		return ""
	}
	var sb strings.Builder
	sb.WriteString("With " + cfg.ToolName(ToolDelegate) + " you hand tasks to other agents, which work on them at the same time. Use it for " +
		"parts that do not need each other and are worth a message of their own; do the rest yourself. An agent knows nothing of this " +
		"conversation: write into the message all that it needs, and what to answer.")
	if listed {
		sb.WriteString(" The agents:")
	}
	for i, a := range agents {
		entry := "\n- " + a.Name
		if text := line(a.Description); text != "" {
			entry += ": " + text
		}
		if sb.Len()+len(entry) > maxList {
			fmt.Fprintf(&sb, "\n%d more agents are not listed.", len(agents)-i)
			break
		}
		sb.WriteString(entry)
	}
	return sb.String()
}

// line returns a description as one line of limited length.
func line(text string) string {
	text, _ = character.Cut(strings.Join(strings.Fields(text), " "), maxListed)
	return text
}

// MayRun returns why the turn may not hand work to the agent of that name; nil if it may.
// Programs call it for other ways to run an agent than the tool, so that the same list counts.
func (d *Delegate) MayRun(t *hook.Turn, agent string) error { return d.check(listOf(t), agent) }

// check returns an error if cfg may not delegate to the agent of that name.
func (d *Delegate) check(cfg *hook.AgentConfig, name string) error {
	agents, listed, err := d.inScope(cfg)
	switch {
	case err != nil:
		return err
	case !listed || has(agents, name):
		return nil
	}
	return errors.New(notThere(name, agents))
}
