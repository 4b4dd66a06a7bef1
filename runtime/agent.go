package runtime

import (
	"fmt"
	"slices"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/contribution"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Agent is a registered agent. It is safe for concurrent use. After its unregistration it
// can still be read.
type Agent struct {
	rt *Runtime
	// core is the part that turns use.
	core loop.Agent

	mu    sync.Mutex
	state agentState
	// turns counts the running turns; drained is closed when the last has ended.
	turns   int
	drained chan struct{}
	// conversations are sorted by sender. Most agents have few: a map would take a fifth
	// of such an agent's memory.
	conversations []*Conversation
	// children are the conversations of running child turns, and those of other agents in
	// which this one is a guest.
	children []*Conversation
	// replaced are the setups before updates that turns still have.
	replaced []*loop.Setup
	// updates counts the setups in replaced.
	updates sync.WaitGroup
	// cancelled is the cause that cancels all turns, also those that begin later.
	cancelled error
}

type agentState int

const (
	agentRegistering agentState = iota
	agentVisible
	agentClosing
	agentGone
)

// Name returns the agent's name.
func (a *Agent) Name() string { return a.core.Name }

// key returns the key of the agent's conversation with the sender.
func (a *Agent) key(sender string) store.Key {
	return store.Key{Project: a.rt.o.Project, Agent: a.core.Name, Sender: sender}
}

// Config returns the configuration as registered or updated: after every OnBuildAgent, with the
// effective tools. The caller must not change it.
func (a *Agent) Config() *hook.AgentConfig { return a.core.Now().Config }

// Prompt returns the system prompt, without the sections that hooks add to single turns.
func (a *Agent) Prompt() string { return a.core.Now().View.Load().Prompt }

// PromptPart is a part of what the agent's model is told before the history.
type PromptPart struct {
	// By is who says it: "agent" for its own instructions, "runtime", or the path of a hook. At is the hook point, or
	// "instructions", "environment" and "scope", which are no points.
	By, At string
	// ID is that of a section or of a block of context; "" is none.
	ID   string
	Text string
}

// PromptParts returns the parts of the system prompt in their order, then those that hooks have added to the agent's last turn: sections
// (PromptSections) to the prompt, and context (TurnContext) behind the turn's input. turn is that turn; "" if there was none since the
// process began or the agent changed.
func (a *Agent) PromptParts() (parts []PromptPart, turn string) {
	now := a.core.Now()
	for _, p := range now.View.Load().Parts {
		parts = append(parts, PromptPart{By: p.By, At: p.At, Text: p.Text})
	}
	added := now.LastContributed()
	if added == nil {
		return parts, ""
	}
	for _, s := range added.Sections {
		parts = append(parts, PromptPart{By: s.By, At: point.PromptSections.String(), ID: s.ID, Text: contribution.Section(s)})
	}
	for _, b := range added.Context {
		parts = append(parts, PromptPart{By: b.By, At: point.TurnContext.String(), ID: b.ID, Text: contribution.Entry(b)})
	}
	return parts, added.Turn
}

// Tools returns the tools that the agent may use. Its model sees these tools, and calls
// of other tools fail.
func (a *Agent) Tools() *message.ToolSet { return a.core.Now().View.Load().Tools }

// Agent returns the agent with the name. The error is ErrAgentClosing while the agent is
// being unregistered, and ErrAgentUnknown before its registration has returned and after
// its unregistration; ErrNotOpen or ErrClosed if the runtime is not open.
func (r *Runtime) Agent(name string) (*Agent, error) {
	r.mu.Lock()
	a, err := r.agents[name], r.checkOpenLocked()
	r.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case a == nil:
		return nil, fmt.Errorf("%w: %q", ErrAgentUnknown, name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a, a.usableLocked()
}

// Agents returns the names of the registered agents, sorted.
func (r *Runtime) Agents() []string {
	agents := r.visible()
	names := make([]string, len(agents))
	for i, a := range agents {
		names[i] = a.Name()
	}
	slices.Sort(names)
	return names
}

func (a *Agent) usableLocked() error {
	switch a.state {
	case agentVisible:
		return nil
	case agentClosing:
		return fmt.Errorf("%w: %q", ErrAgentClosing, a.Name())
	}
	return fmt.Errorf("%w: %q", ErrAgentUnknown, a.Name())
}

// check returns an error if no turn can begin.
func (a *Agent) check() error {
	if err := a.rt.checkOpen(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.usableLocked()
}

// enter counts a turn that begins, with the setup of now. The caller calls leave when the turn has
// ended.
func (a *Agent) enter() (*loop.Setup, error) {
	if err := a.rt.checkOpen(); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.usableLocked(); err != nil {
		return nil, err
	}
	if f := a.core.Halted(); f != nil {
		return nil, fmt.Errorf("%w: %q: %s; update the agent or register it again", ErrAgentHalted, a.Name(), f.Public())
	}
	a.turns++
	return a.holdLocked(), nil
}

// holdLocked returns the setup of now and counts a user of it.
func (a *Agent) holdLocked() *loop.Setup {
	s := a.core.Now()
	s.Hold()
	return s
}

func (a *Agent) leave(s *loop.Setup) {
	s.Release()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turns--
	if a.turns == 0 && a.state == agentClosing {
		close(a.drained)
	}
}

// startClosing refuses new turns. The channel is closed when the running ones have ended. The
// agent keeps the hooks of now, so that they still learn of its end: the caller releases the Process
// of its setup behind that.
func (a *Agent) startClosing() (<-chan struct{}, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.usableLocked(); err != nil {
		return nil, err
	}
	a.state, a.drained = agentClosing, make(chan struct{})
	a.core.Now().Process.Hold()
	if a.turns == 0 {
		close(a.drained)
	}
	return a.drained, nil
}

func (a *Agent) setState(s agentState) {
	a.mu.Lock()
	a.state = s
	a.mu.Unlock()
}

func (a *Agent) cancelCause() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cancelled
}

func (a *Agent) cancelTurns(cause error) {
	a.mu.Lock()
	a.cancelled = cause
	a.mu.Unlock()
	for _, c := range a.all() {
		c.stop(cause)
		c.stopCompaction(cause)
	}
}
