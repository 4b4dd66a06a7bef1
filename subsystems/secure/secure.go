// Package secure keeps a model that obeys a text it has read from doing harm with it.
//
//	secure.New(nil) // the first member of a composite
//
// It does four things, each with an action that an agent's section can change:
//
//   - It remembers secrets, and numbers of cards and accounts, that people and tools say, as fingerprints, and stops calls
//     that would carry one out, also in pieces, encoded, reversed or in other letters.
//   - Once a model has read a text that is not the user's own, calls that reach beyond this machine need the user's words: what
//     they send to, pay, invite or delete has to be something that the user has named.
//   - It finds texts that give a model orders, marks and fences them, and reports them.
//   - It takes links out of replies that carry a secret, and images whose address was made of what was read.
//
// Who wrote a text is what its label says, see [message.Message.Origin]. The agents that an agent runs share what it knows.
package secure

import (
	"context"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Secure guards calls, results and replies. New makes one; it is safe for concurrent use.
//
//hook:subsystem order=1
type Secure struct {
	hook.Nop
	o Options
	// read is what the models of a conversation have read.
	read hook.ConversationState[exposure]

	mu sync.RWMutex
	// agents has the settings of registered agents.
	agents map[*hook.AgentConfig]settings
	// taints has what conversations know, by the id of the conversation that people see.
	taints map[string]*taint
}

// The points at which something is guarded.
var (
	_ hook.BeforeModel   = (*Secure)(nil)
	_ hook.WrapModel     = (*Secure)(nil)
	_ hook.RewriteArgs   = (*Secure)(nil)
	_ hook.BeforeTool    = (*Secure)(nil)
	_ hook.RewriteResult = (*Secure)(nil)
	_ hook.Stateful      = (*Secure)(nil)
)

// Reach is how far a command line reaches.
type Reach int

// The reaches, the farthest first.
const (
	// Beyond: it reaches another machine, or nobody knows.
	Beyond Reach = iota
	// Local: it changes or runs what the project has.
	Local
	// Reads: it only reads the project, and prints it.
	Reads
)

// Options of New; nil is all zero values.
type Options struct {
	// Command says how far a line of a tool that runs commands reaches; ok is false for another tool. Without it a tool named bash runs
	// commands, and all are Beyond.
	Command func(tool, line string) (reach Reach, ok bool)
}

// New returns the subsystem.
func New(o *Options) *Secure {
	s := &Secure{agents: map[*hook.AgentConfig]settings{}, taints: map[string]*taint{}}
	if o != nil {
		s.o = *o
	}
	return s
}

// States implements hook.Stateful.
func (s *Secure) States() map[string]hook.State { return map[string]hook.State{"read": &s.read} }

// OnBuildAgent refuses a wrong section.
func (s *Secure) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	_, err := settingsOf(&cfg)
	return cfg, err
}

// OnRegisterAgent keeps the agent's settings.
func (s *Secure) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	set, err := settingsOf(cfg)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.agents[cfg] = set
	s.mu.Unlock()
	return nil
}

// OnUnregisterAgent drops the agent's settings.
func (s *Secure) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	s.mu.Lock()
	delete(s.agents, cfg)
	s.mu.Unlock()
}

// of returns the settings of the turn: the strictest of its agent's and of those that run it.
func (s *Secure) of(t *hook.Turn) settings {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out, ok := s.agents[t.Agent()]
	if !ok {
		out = defaults()
	}
	for at := t.Parent(); at != nil; at = at.Parent() {
		if above, ok := s.agents[at.Agent()]; ok {
			out = out.stricter(above)
		}
	}
	return out
}

// exposure is what the models of a conversation have read.
type exposure struct {
	// Trust is the weakest label of it; "" before anything was read.
	Trust message.Trust `json:"trust,omitzero"`
	// From names the tool that the first text with that label came from; "" if it is from no tool.
	From string `json:"from,omitzero"`
}

// with is the exposure after a further message.
func (e exposure) with(m *message.Message) exposure {
	if label := m.Origin(); label != message.TrustTrusted && message.Weakest(label, e.trust()) != e.trust() {
		return exposure{label, m.Tool}
	}
	return e
}

func (e exposure) trust() message.Trust {
	if e.Trust == "" {
		return message.TrustTrusted
	}
	return message.Weakest(e.Trust)
}

// exposed returns the weakest of what the turn's model and those above it have read.
func (s *Secure) exposed(t *hook.Turn) (out exposure) {
	for at := t; at != nil; at = at.Parent() {
		if c := at.Conversation(); c != nil {
			if e := s.read.Get(c); message.Weakest(e.trust(), out.trust()) != out.trust() {
				out = e
			}
		}
	}
	return out
}

// maxConversations bounds how many conversations are known at the same time.
const maxConversations = 256

// taintOf returns what the conversation that people see knows of secrets. Of one that this process has not met before it reads the history.
func (s *Secure) taintOf(t *hook.Turn) *taint {
	root := t.Root()
	id := ""
	if c := root.Conversation(); c != nil {
		id = c.ID()
	}
	s.mu.Lock()
	known, ok := s.taints[id]
	if !ok {
		for len(s.taints) >= maxConversations { // any: it reads its history again when it goes on
			for old := range s.taints {
				delete(s.taints, old)
				break
			}
		}
		known = newTaint()
		s.taints[id] = known
	}
	s.mu.Unlock()
	known.load.Do(func() {
		known.say(root.Agent().Instructions)
		for _, m := range root.Standing().History.All() {
			known.noteMessage(&m)
			known.say(ownText(&m))
		}
	})
	return known
}
