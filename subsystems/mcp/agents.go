package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/subsystems/mcp/internal/conn"
)

// claimTime is how long a built agent's servers are kept until it is registered.
const claimTime = time.Minute

// agents records which agents use which servers; MCP.mu guards it.
type agents struct {
	claims     map[string]claim // of agents that are built, by name
	registered map[*hook.AgentConfig]claim
	// pins outlive the servers of agents, so that a server cannot drop them by losing
	// its agent.
	pins map[pinKey]map[string]pin
}

// claim has the servers that one agent uses.
type claim struct {
	sec  Section
	made time.Time
	own  []*server // declared by itself
	used []*server // all that it uses
}

type pinKey struct {
	name  string
	print conn.Fingerprint
}

// own makes servers from the section's definitions, sorted by name. It does not declare
// them yet.
func (m *MCP) own(ctx context.Context, cfg *hook.AgentConfig, sec *Section) ([]*server, error) {
	var out []*server
	for _, name := range slices.Sorted(maps.Keys(sec.Define)) {
		raw, err := json.Marshal(sec.Define[name])
		if err != nil {
			return nil, err
		}
		var read Config
		s := read.server(name, raw, m.lookup)
		if s.Refused != "" {
			return nil, fmt.Errorf("define.%s: %s", name, s.Refused)
		}
		for _, w := range read.Warnings {
			cfg.Host().Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: "section mcp: " + w})
		}
		out = append(out, newServer(m, s, false))
	}
	return out, nil
}

// allowed asks Options.Allow about the servers that the section declares.
func (m *MCP) allowed(ctx context.Context, agent string, sec *Section) error {
	for _, name := range slices.Sorted(maps.Keys(sec.Define)) {
		if m.o.Allow == nil {
			return fmt.Errorf("define.%s: agents may not declare servers of their own here", name)
		}
		raw, err := json.Marshal(sec.Define[name])
		if err != nil {
			return err
		}
		var shown Config
		s := shown.server(name, raw, nil)
		s.Refused = "" // unset variables are judged later, with their values
		if err := m.o.Allow(ctx, agent, s); err != nil {
			return fmt.Errorf("define.%s: %w", name, err)
		}
	}
	return nil
}

// declare declares the agent's own servers, and replaces the agent's claim. Two equal
// declarations are one server. A different server of the same name is an error, and then
// nothing is declared.
func (m *MCP) declare(cfg *hook.AgentConfig, sec Section, own []*server) (claim, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	keep := m.keptLocked(cfg.Name)
	after := slices.DeleteFunc(slices.Clone(m.servers), func(s *server) bool {
		return !s.public && !keep[s] && !slices.ContainsFunc(own, s.same)
	})
	known := len(after)
	for i, s := range own {
		if there := byName(after, s.cfg.Name); there != nil {
			if !there.same(s) {
				return claim{}, fmt.Errorf("define.%s: %s declares another server of this name; choose another name",
					s.cfg.Name, m.declarerLocked(there))
			}
			own[i] = there
			continue
		}
		if s.cfg.refuse(after); s.cfg.Refused != "" {
			return claim{}, fmt.Errorf("define.%s: %s", s.cfg.Name, s.cfg.Refused)
		}
		after = append(after, s)
	}
	c := claim{sec: sec, made: time.Now(), own: own}
	var err error
	if c.used, err = used(after, own, &sec, cfg.Tools); err != nil {
		return claim{}, err
	}
	for _, s := range after[known:] {
		s.shown.pins = maps.Clone(m.agents.pins[pinKey{s.cfg.Name, s.spec.Fingerprint()}])
		s.attach()
	}
	slices.SortStableFunc(after, inOrder)
	m.replaceLocked(after)
	if m.agents.claims == nil {
		m.agents.claims = map[string]claim{}
	}
	m.agents.claims[cfg.Name] = c
	return c, nil
}

// declarerLocked names who declares the server.
func (m *MCP) declarerLocked(s *server) string {
	if s.public {
		return "the list of servers"
	}
	for cfg, c := range m.agents.registered {
		if slices.Contains(c.own, s) {
			return fmt.Sprintf("agent %q", cfg.Name)
		}
	}
	return "another agent"
}

// inOrder sorts the servers of the list first, in its order, then those of agents by name.
func inOrder(a, b *server) int {
	switch {
	case a.public && b.public:
		return 0
	case a.public:
		return -1
	case b.public:
		return 1
	}
	return strings.Compare(a.cfg.Name, b.cfg.Name)
}

// keptLocked returns the servers that agents declare, without those that only the claim of
// the agent but keeps. It drops expired claims.
func (m *MCP) keptLocked(but string) map[*server]bool {
	maps.DeleteFunc(m.agents.claims, func(_ string, c claim) bool { return time.Since(c.made) > claimTime })
	kept := map[*server]bool{}
	keep := func(c claim) {
		for _, s := range c.own {
			kept[s] = true
		}
	}
	for name, c := range m.agents.claims {
		if name != but {
			keep(c)
		}
	}
	for _, c := range m.agents.registered {
		keep(c)
	}
	return kept
}

// replaceLocked replaces the declared servers, and releases the connections of removed
// ones. The caller rebuilds the catalog.
func (m *MCP) replaceLocked(after []*server) {
	for _, s := range m.servers {
		if s.public || slices.Contains(after, s) {
			continue
		}
		s.end.Detach(s)
		if m.agents.pins == nil {
			m.agents.pins = map[pinKey]map[string]pin{}
		}
		s.mu.Lock()
		m.agents.pins[pinKey{s.cfg.Name, s.spec.Fingerprint()}] = maps.Clone(s.shown.pins)
		s.mu.Unlock()
	}
	m.servers = after
}

// claimed returns what the agent claimed when it was built, with this section.
func (m *MCP) claimed(cfg *hook.AgentConfig, sec *Section) (claim, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.agents.claims[cfg.Name]
	return c, ok && reflect.DeepEqual(&c.sec, sec)
}

// OnRegisterAgent keeps the agent's servers until it is unregistered: its own ones, and the
// connections of all that it uses. It does not connect. After an error it keeps nothing.
func (m *MCP) OnRegisterAgent(ctx context.Context, cfg *hook.AgentConfig) error {
	sec, _, err := hook.SectionOf[Section](cfg, sectionName)
	if err != nil {
		return err
	}
	c, ok := m.claimed(cfg, &sec)
	if !ok { // not built here, too long ago, or changed by a later hook
		if c, err = m.prepare(ctx, cfg, sec); err != nil {
			return fmt.Errorf("agent %q: section mcp: %w", cfg.Name, err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, twice := m.agents.registered[cfg]; twice {
		return errors.New("mcp: the agent is registered already")
	}
	if m.agents.registered == nil {
		m.agents.registered = map[*hook.AgentConfig]claim{}
	}
	delete(m.agents.claims, cfg.Name)
	m.agents.registered[cfg] = c
	for _, s := range c.used {
		if s.end != nil {
			s.end.Hold()
		}
	}
	return nil
}

// OnUnregisterAgent undoes OnRegisterAgent. It ends connections that no other agent uses,
// without waiting for that.
func (m *MCP) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	m.mu.Lock()
	c, ok := m.agents.registered[cfg]
	delete(m.agents.registered, cfg)
	keep := m.keptLocked("")
	m.replaceLocked(slices.DeleteFunc(slices.Clone(m.servers), func(s *server) bool { return !s.public && !keep[s] }))
	m.mu.Unlock()
	if !ok {
		return
	}
	for _, s := range c.used {
		if s.end != nil {
			s.end.Drop()
		}
	}
	m.rebuild()
}

// prepare checks the section and declares its servers.
func (m *MCP) prepare(ctx context.Context, cfg *hook.AgentConfig, sec Section) (claim, error) {
	own, err := m.own(ctx, cfg, &sec)
	if err != nil {
		return claim{}, err
	}
	if err := m.allowed(ctx, cfg.Name, &sec); err != nil {
		return claim{}, err
	}
	c, err := m.declare(cfg, sec, own)
	m.rebuild()
	return c, err
}
