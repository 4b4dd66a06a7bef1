package memory

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
)

// Section is an agent's configuration: the section "memory". With Recall or Extraction, memory
// takes part in each turn; without both the agent has the tools only.
type Section struct {
	// Tools are the tools that the agent may use, of remember, recall, get_memory and forget.
	// Nil means all, empty none.
	Tools []string `json:"tools"`
	// Space names a space that the agent shares with all agents that name it:
	// ^[a-zA-Z0-9_.-]{1,64}$. Empty is a space of its own.
	Space string `json:"space"`
	// Scope is ScopeAgent, ScopeProject or ScopeUser; "" is ScopeAgent.
	Scope Scope `json:"scope"`
	// Recall says what a turn gets from memory by itself; "" is RecallOff.
	Recall Recall `json:"recall"`
	// Classifier decides about a turn: "rules" or "model"; "" is rules.
	Classifier string `json:"classifier"`
	// Fallback applies if the classifier fails: "allow", "deny" or "read_only"; "" is read_only.
	Fallback string `json:"fallback"`
	// Active says who looks further when the first search was not enough: "off", "lexical" or
	// "model"; "" is lexical.
	Active string `json:"active"`
	// Extraction says what becomes of memories that a model finds in a turn that has ended:
	// "off", "review" or "auto"; "" is off.
	Extraction string `json:"extraction"`
	// Model classifies, looks further and extracts; "" is the agent's.
	Model string `json:"model"`
	// HalfLife is the number of days in which a memory that nobody uses loses half of what age
	// can take from its weight, from 1 to 3650; 0 is DefaultHalfLife. A quarter always stays.
	HalfLife int `json:"half_life"`
}

// Scope says who shares the memories of an agent or a space. An agent finds those of its scope
// and of the narrower ones, and writes to its scope.
type Scope string

// The scopes, the narrowest first.
const (
	// ScopeAgent is the default: the agent's own in this project.
	ScopeAgent Scope = "agent"
	// ScopeProject shares them among the agents of the project that have this scope.
	ScopeProject Scope = "project"
	// ScopeUser shares them among all projects of the user: the agent finds in each
	// project the memories of all.
	ScopeUser Scope = "user"
)

// Recall says what a turn gets from memory by itself.
type Recall string

// The values of Recall.
const (
	RecallOff Recall = "off"
	// RecallAuto leaves it to the classifier.
	RecallAuto Recall = "auto"
	// RecallLight gives preferences and open tasks, RecallFull also what fits the message.
	RecallLight Recall = "light"
	RecallFull  Recall = "full"

	// recallNone is the value of a policy only: this turn gets nothing.
	recallNone Recall = "none"
)

// DefaultHalfLife is in days.
const DefaultHalfLife = 90

// Values of the other settings.
const (
	byRules, byModel               = "rules", "model"
	allow, deny, readOnly          = "allow", "deny", "read_only"
	activeLexical, activeModel     = "lexical", "model"
	off                            = "off"
	extractReview, extractAuto     = "review", "auto"
	maxModelName, maxHalfLife, day = 200, 3650, 24 * time.Hour
)

var spaceName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// check returns an error that says which setting is wrong, and what to write.
func (s *Section) check(tools []string) error {
	for _, name := range s.Tools {
		if !slices.Contains(tools, name) {
			return fmt.Errorf("tools: there is no %.40q; known are %s", name, strings.Join(tools, ", "))
		}
	}
	for _, c := range []struct {
		key, value string
		known      []string
	}{
		{"scope", string(s.Scope), []string{"agent", "project", "user"}},
		{"recall", string(s.Recall), []string{off, "auto", "light", "full"}},
		{"classifier", s.Classifier, []string{byRules, byModel}},
		{"fallback", s.Fallback, []string{allow, deny, readOnly}},
		{"active", s.Active, []string{off, activeLexical, activeModel}},
		{"extraction", s.Extraction, []string{off, extractReview, extractAuto}},
	} {
		if c.value != "" && !slices.Contains(c.known, c.value) {
			return fmt.Errorf("%s %.40q: write %s or %s", c.key, c.value, strings.Join(c.known[:len(c.known)-1], ", "), c.known[len(c.known)-1])
		}
	}
	switch {
	case s.Space != "" && !spaceName.MatchString(s.Space):
		return fmt.Errorf("space %.80q: write up to 64 letters, digits, and any of _.-", s.Space)
	case len(s.Model) > maxModelName:
		return fmt.Errorf("model: write at most %d bytes", maxModelName)
	case s.HalfLife < 0 || s.HalfLife > maxHalfLife:
		return fmt.Errorf("half_life %d: write days from 1 to %d", s.HalfLife, maxHalfLife)
	}
	return nil
}

// settings are those of one agent, with the defaults filled in.
type settings struct {
	Section
	// homes are where the agent finds memories, the narrowest first. It writes to the last.
	homes []home
}

// recalls reports whether turns get something from memory by themselves.
func (s *settings) recalls() bool { return s.Recall != RecallOff }

// takesPart reports whether memory takes part in turns, and is not tools alone.
func (s *settings) takesPart() bool { return s.recalls() || s.Extraction != off }

func (s *settings) halfLife() time.Duration { return time.Duration(s.HalfLife) * day }

// own is where the agent writes.
func (s *settings) own() home { return s.homes[len(s.homes)-1] }

// settingsOf returns the settings of the agent; those of an agent without a name for nil.
func (m *Memory) settingsOf(cfg *hook.AgentConfig) (*settings, error) {
	if cfg == nil {
		return m.fill(Section{}, ""), nil
	}
	m.mu.RLock()
	s := m.agents[cfg]
	m.mu.RUnlock()
	if s != nil {
		return s, nil
	}
	section, _, err := hook.SectionOf[Section](cfg, sectionName)
	return m.fill(section, cfg.Name), err
}

const sectionName = "memory"

func (m *Memory) fill(s Section, agent string) *settings {
	or := func(value *string, other string) {
		if *value == "" {
			*value = other
		}
	}
	if s.Recall == "" {
		s.Recall = RecallOff
	}
	or(&s.Classifier, byRules)
	or(&s.Fallback, readOnly)
	or(&s.Active, activeLexical)
	or(&s.Extraction, off)
	if s.HalfLife == 0 {
		s.HalfLife = DefaultHalfLife
	}
	return &settings{s, m.homes(&s, agent)}
}

// homes returns where an agent finds memories, the narrowest first.
func (m *Memory) homes(s *Section, agent string) []home {
	own := home{m.table.project, "agent:" + agent}
	if s.Space != "" {
		own.key = "space:" + s.Space
	}
	out := []home{own}
	if s.Space == "" && (s.Scope == ScopeProject || s.Scope == ScopeUser) {
		out = append(out, home{m.table.project, projectKey})
	}
	if s.Scope == ScopeUser {
		out = append(out, home{m.table.user, userKey + own.key})
	}
	return out
}

// OnBuildAgent refuses a wrong section.
func (m *Memory) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	s, _, err := hook.SectionOf[Section](&cfg, sectionName)
	if err != nil {
		return cfg, err
	}
	if err := s.check(m.names()); err != nil {
		return cfg, fmt.Errorf("agent %q: section %s: %w", cfg.Name, sectionName, err)
	}
	return cfg, nil
}

// OnRegisterAgent keeps the settings of the agent.
func (m *Memory) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	s, err := m.settingsOf(cfg)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.agents == nil {
		m.agents = map[*hook.AgentConfig]*settings{}
	}
	m.agents[cfg] = s
	return nil
}

// OnUnregisterAgent drops them.
func (m *Memory) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.agents, cfg)
}
