// Package delegate lets an agent hand tasks to other agents: the tool delegate
// runs up to eight of them at the same time, each with a conversation of its own,
// and brings back what they say.
//
// How an agent is run is the host's business ([hook.Host.RunAgent]): it passes the
// same hooks as the one that delegates, may use no tool that the other may not,
// spends of the same limits and ends with it. This package decides which agents
// there are to delegate to, and keeps the tasks apart: one that fails, panics or
// is cancelled takes nothing from the others.
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

// Delegate owns the tool delegate. It keeps no state between calls and is safe for
// concurrent use; New makes one.
//
//hook:subsystem
type Delegate struct {
	hook.Nop
	o Options
}

var _ hook.Hook = (*Delegate)(nil)

// Options are the settings of [Delegate]; nil is all zero values.
type Options struct {
	// Agents returns the agents that there are. It is asked when an agent is
	// registered and at each call, from any goroutine. Nil: any name is tried, and
	// no prompt lists them.
	Agents func() []AgentInfo
	// Parallel is how many tasks of one call run at the same time; 0 is
	// DefaultParallel.
	Parallel int
	// MaxResult bounds what one task brings back, in bytes as they are written in JSON;
	// 0 is DefaultMaxResult.
	MaxResult int
	// MaxTotal bounds what all tasks of a call bring back together, in bytes of JSON; 0
	// is DefaultMaxTotal. It has to be below the runtime's own bound of a result, which
	// would cut the middle out.
	MaxTotal int
}

// Defaults of Options.
const (
	DefaultParallel  = 4
	DefaultMaxResult = 16 << 10
	DefaultMaxTotal  = 96_000
)

// AgentInfo is what an agent that delegates is told of another one.
type AgentInfo struct{ Name, Description string }

// Section is an agent's configuration: the section "delegate".
type Section struct {
	// Agents are those that the agent may delegate to. Empty means none. Nil means
	// those of the agent that runs this one, and all if nobody does.
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

// ScopedTools takes the tool from an agent that has nobody to delegate to.
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

// inScope returns the agents that cfg may delegate to, sorted by name; listed is
// false if it may be any, and nobody knows which there are.
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

// all returns the agents that there are, sorted by name.
func (d *Delegate) all() []AgentInfo { return sorted(slices.Clone(d.o.Agents())) }

// sorted sorts the agents by name and drops all but the first of one name.
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

// listing names the agents, and of many how many more there are.
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
	// maxListed is how many characters of an agent's description a prompt has.
	maxListed = 300
	// maxList is how many bytes of a prompt may be about agents.
	maxList = 16 << 10
)

// SystemPrompt lists the agents that there are to delegate to, sorted by name.
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

// line is a description on one line of bounded length.
func line(text string) string {
	text, _ = character.Cut(strings.Join(strings.Fields(text), " "), maxListed)
	return text
}

// check returns an error for a name that is none of an agent to delegate to.
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
