package loop

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
)

// Setup is an agent as a turn finds it when it begins: the configuration, the hooks and the
// tools. It is immutable, except for View and what was contributed. A change of the agent or of the hooks of the process
// makes another one, which the next turn gets.
type Setup struct {
	// Process are the hooks of the process.
	Process *Process
	// Registered counts the users of Config, which setups with other hooks may share.
	Registered *Users
	Config     *hook.AgentConfig
	// Asked are the configured tools, before any scope; nil is all.
	Asked []string
	// Layers are those of the agent's configuration, and Hooks those of the process under them.
	Layers []plan.Layer
	Hooks  *scope.Hooks
	View   atomic.Pointer[scope.View]
	// contributed is what hooks have added to the newest turn; nil if that is nothing.
	contributed atomic.Pointer[Contributed]
}

// Contributed is what hooks have added to a turn, as its model is told of it.
type Contributed struct {
	Turn     string
	Sections []hook.PromptSection
	Context  []hook.ContextBlock
}

// LastContributed returns what hooks have added to the newest turn with the setup; nil is nothing.
func (s *Setup) LastContributed() *Contributed { return s.contributed.Load() }

// Process has the hooks of the process between two changes, and counts their users.
type Process struct {
	Hooks *scope.Hooks
	// Attached are the names of the members that were added to those that a runtime was made with.
	Attached []string
	Users
}

// Hold counts a user of the setup. The caller calls Release once.
func (s *Setup) Hold() {
	s.Process.Hold()
	s.Registered.Hold()
}

// Release undoes Hold.
func (s *Setup) Release() {
	s.Registered.Release()
	s.Process.Release()
}

// Under returns the setup with the hooks of another process: s itself if it has these. The view
// has the tools that the hooks have now.
func (s *Setup) Under(p *Process, env Environment) (*Setup, error) {
	if s.Process == p {
		return s, nil
	}
	hooks, err := p.Hooks.Under(s.Layers)
	if err != nil {
		return nil, err
	}
	out := &Setup{Process: p, Registered: s.Registered, Config: s.Config, Asked: s.Asked, Layers: s.Layers, Hooks: hooks}
	return out, out.Refresh(env)
}

// Environment describes the system to an agent.
type Environment = scope.Environment

// Refresh asks the hooks for their tools again. A configured tool that is missing is no error.
func (s *Setup) Refresh(env Environment) error {
	cfg := *s.Config
	cfg.Tools = slices.Clone(s.Asked)
	v, err := s.Hooks.View(&cfg, env, false)
	if err == nil {
		s.View.Store(v)
	}
	return err
}

// Users counts the users of a value that is to end after the last of them. The zero value has
// none. Nobody may call Hold any more when somebody waits for Idle, except for a holder.
type Users struct {
	mu   sync.Mutex
	n    int
	idle chan struct{}
}

// Hold counts a user.
func (u *Users) Hold() {
	u.mu.Lock()
	u.n++
	u.mu.Unlock()
}

// Release undoes Hold.
func (u *Users) Release() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.n--; u.n == 0 && u.idle != nil {
		close(u.idle)
		u.idle = nil
	}
}

// Idle returns a channel that is closed when there are no users.
func (u *Users) Idle() <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.n > 0 && u.idle != nil {
		return u.idle
	}
	idle := make(chan struct{})
	if u.n == 0 {
		close(idle)
		return idle
	}
	u.idle = idle
	return idle
}
