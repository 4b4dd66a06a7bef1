package runtime

import (
	"fmt"
	"slices"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Agent is a registered agent. It is safe for concurrent use and stays readable
// after it is unregistered.
type Agent struct {
	rt *Runtime
	// core is the agent as turns use it.
	core loop.Agent

	mu    sync.Mutex
	state agentState
	// turns are in flight; drained is closed when the last has ended.
	turns   int
	drained chan struct{}
	// conversations are sorted by sender: most agents have few, and a map of one
	// would be a fifth of what such an agent takes.
	conversations []*Conversation
	// children are the conversations of child turns that are running, and those of
	// other agents that this one answers as a guest.
	children []*Conversation
	// cancelled is why turns are cancelled, those too that are about to begin.
	cancelled error
}

type agentState int

const (
	agentRegistering agentState = iota
	agentVisible
	agentClosing
	agentGone
)

// Name is the agent's name.
func (a *Agent) Name() string { return a.core.Name }

// key is that of the agent's conversation with the sender.
func (a *Agent) key(sender string) store.Key {
	return store.Key{Project: a.rt.o.Project, Agent: a.core.Name, Sender: sender}
}

// Config returns the configuration as it was registered: after every
// OnBuildAgent, with the effective tools. It is only read.
func (a *Agent) Config() *hook.AgentConfig { return a.core.Config }

// Prompt returns the system prompt.
func (a *Agent) Prompt() string { return a.core.View.Load().Prompt }

// Tools returns the tools that the agent may use: those that its model is told
// of, and no others are run.
func (a *Agent) Tools() *message.ToolSet { return a.core.View.Load().Tools }

// Agent returns the agent of that name, from when its registration returned
// until its unregistration began: then ErrAgentClosing, otherwise
// ErrAgentUnknown.
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

// check returns why no turn can begin.
func (a *Agent) check() error {
	if err := a.rt.checkOpen(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.usableLocked()
}

// enter lets a turn begin and leave tells that it has ended.
func (a *Agent) enter() error {
	if err := a.rt.checkOpen(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.usableLocked(); err != nil {
		return err
	}
	a.turns++
	return nil
}

func (a *Agent) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turns--
	if a.turns == 0 && a.state == agentClosing {
		close(a.drained)
	}
}

// startClosing lets no new turn begin; the channel is closed when those in
// flight have ended.
func (a *Agent) startClosing() (<-chan struct{}, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.usableLocked(); err != nil {
		return nil, err
	}
	a.state, a.drained = agentClosing, make(chan struct{})
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
		c.stopAside(cause)
	}
}
