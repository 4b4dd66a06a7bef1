package composite

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
)

// Match narrows the calls of a member, as match= in its tag says. One pattern of each kind
// has to match. A place without the kind, such as a turn without a tool, ignores its
// patterns. A place whose value of the kind is empty, such as a call without a path, does not
// match. It is immutable and safe for concurrent use.
type Match struct{ kinds map[string]*regexp.Regexp }

// NewMatch compiles patterns as in a tag, "tool:mcp__*". It panics on an invalid one, which
// the planner would have refused.
func NewMatch(patterns ...string) *Match {
	globs := map[string][]string{}
	for _, p := range patterns {
		kind, glob, _ := strings.Cut(p, ":")
		globs[kind] = append(globs[kind], glob)
	}
	m := &Match{map[string]*regexp.Regexp{}}
	for kind, list := range globs {
		re, err := plan.Compile(kind, list)
		if err != nil {
			panic(fmt.Sprintf("composite: match=%s:%q: %v", kind, list, err))
		}
		m.kinds[kind] = re
	}
	return m
}

func matchOf(patterns []plan.Pattern) *Match {
	if len(patterns) == 0 {
		return nil
	}
	texts := make([]string, len(patterns))
	for i, p := range patterns {
		texts[i] = p.String()
	}
	return NewMatch(texts...)
}

// is reports whether a value matches the patterns of a kind, if there are any.
func (m *Match) is(kind, value string) bool {
	re := m.kinds[kind]
	return re == nil || value != "" && re.MatchString(value)
}

// ToolCall reports whether the call matches.
func (m *Match) ToolCall(call *hook.ToolCall) bool {
	return m.is("tool", call.Name()) && m.Step(call.Step()) && m.args(call)
}

func (m *Match) args(call *hook.ToolCall) bool {
	if m.kinds["path"] == nil && m.kinds["command"] == nil && m.kinds["skill"] == nil {
		return true
	}
	var args map[string]any
	if json.Unmarshal([]byte(call.Args()), &args) != nil {
		args = nil
	}
	text := func(name string) string {
		s, _ := args[name].(string)
		return s
	}
	skill := ""
	if name := call.Name(); name == "skill" || strings.HasSuffix(name, "_skill") {
		skill = text("name")
	}
	return m.is("command", text("command")) && m.is("skill", skill) && m.path(args)
}

func (m *Match) path(args map[string]any) bool {
	if m.kinds["path"] == nil {
		return true
	}
	for name, v := range args {
		if s, ok := v.(string); ok && s != "" && (name == "path" || strings.HasSuffix(name, "_path")) && m.is("path", path.Clean(s)) {
			return true
		}
	}
	return false
}

// Step reports whether the step's turn matches.
func (m *Match) Step(step *hook.Step) bool {
	if step == nil {
		return m.Turn(nil)
	}
	return m.Turn(step.Turn())
}

// Turn reports whether the turn's conversation matches.
func (m *Match) Turn(turn *hook.Turn) bool {
	if turn == nil {
		return m.Conversation(nil)
	}
	return m.Conversation(turn.Conversation())
}

// Session reports whether the session's conversation matches.
func (m *Match) Session(s *hook.Session) bool {
	if s == nil {
		return m.Conversation(nil)
	}
	return m.Conversation(s.Conversation())
}

// Conversation reports whether agent, sender and id match.
func (m *Match) Conversation(c *hook.Conversation) bool {
	if c == nil {
		return m.is("agent", "") && m.is("sender", "") && m.is("session", "")
	}
	return m.AgentConfig(c.Agent()) && m.is("sender", c.Sender()) && m.is("session", c.ID())
}

// AgentConfig reports whether the agent matches.
func (m *Match) AgentConfig(cfg *hook.AgentConfig) bool {
	if cfg == nil {
		return m.is("agent", "")
	}
	return m.is("agent", cfg.Name)
}

// Event reports whether agent, conversation and tool of the event match.
func (m *Match) Event(ev hook.Event) bool {
	return m.is("agent", ev.Agent) && m.is("session", ev.Conversation) && (m.kinds["tool"] == nil || m.is("tool", ev.Detail().Tool))
}

// place reports whether the place of a point matches. Places of other types always do.
func (m *Match) place(at any) bool {
	if m == nil {
		return true
	}
	switch at := at.(type) {
	case *hook.ToolCall:
		return m.ToolCall(at)
	case *hook.Step:
		return m.Step(at)
	case *hook.Turn:
		return m.Turn(at)
	case *hook.Session:
		return m.Session(at)
	case *hook.Conversation:
		return m.Conversation(at)
	case *hook.AgentConfig:
		return m.AgentConfig(at)
	case maybeTurn:
		return m.Turn(at.turn)
	case hook.Event:
		return m.Event(at)
	}
	return true
}
