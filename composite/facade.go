package composite

import (
	"fmt"
	"slices"
	"strings"

	_ "github.com/grapnel-go/grapnel/composite/guard" // generated files import it, so go mod vendor has to find it beside this package
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// GenVersion2 is named by every generated file: generator and run time that do
// not fit do not compile.
const GenVersion2 = 2

// missing returns the error for required fields that are nil, or nil if there
// are none.
func missing(typeName string, fields ...string) error {
	if len(fields) == 0 {
		return nil
	}
	return fmt.Errorf("%s: required and nil: %s; set them, or tag them optional", typeName, strings.Join(fields, ", "))
}

// prefixed returns the tools with the prefix in front of their names; the slice
// is new.
func prefixed(prefix string, tools []message.Tool) []message.Tool {
	out := slices.Clone(tools)
	for i := range out {
		out[i].Name = prefix + out[i].Name
	}
	return out
}

// joinPrompts joins the parts that are not empty by one blank line, whatever line
// breaks they begin and end with. It uses the slice.
func joinPrompts(parts []string) string {
	kept := parts[:0]
	for _, p := range parts {
		if p = strings.Trim(p, "\n"); p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n\n")
}

// offers reports whether an agent has at least one of the tools, or there are
// none to have: the condition for asking their owner for its SystemPrompt. The
// names are local ones, cfg is as the owner sees it, and cfg.Tools are the
// effective tools.
func offers(cfg *hook.AgentConfig, tools []message.Tool) bool {
	if len(tools) == 0 || cfg.Tools == nil {
		return true
	}
	return slices.ContainsFunc(tools, func(t message.Tool) bool {
		return slices.Contains(cfg.Tools, cfg.ToolName(t.Name))
	})
}

// promptOf returns the SystemPrompt of a member, or "" if the agent has none of its
// tools. A composite asks its members itself.
func promptOf(cfg *hook.AgentConfig, h hook.Hook) string {
	if _, ok := h.(*Composite); !ok && !offers(cfg, h.Schema()) {
		return ""
	}
	return h.SystemPrompt(cfg)
}

// scoping unites the scopes of a composite's members.
type scoping struct {
	tools    []string
	narrowed bool
	lines    []string
}

// add adds one member: its tools, and its scope over them, in local names.
// Names that the member does not own are ignored, so no member can widen.
func (s *scoping) add(prefix string, tools []message.Tool, scope hook.Scope) {
	for _, t := range tools {
		if scope.Tools == nil || slices.Contains(scope.Tools, t.Name) {
			s.tools = append(s.tools, prefix+t.Name)
		}
	}
	s.narrowed = s.narrowed || scope.Restricted()
	if scope.Line != "" {
		s.lines = append(s.lines, scope.Line)
	}
}

// scope returns the union: unrestricted if no member narrows anything.
func (s *scoping) scope() hook.Scope {
	out := hook.Scope{Line: strings.Join(s.lines, "\n")}
	if s.narrowed {
		out.Tools = s.tools
		if out.Tools == nil {
			out.Tools = []string{}
		}
	}
	return out
}

// blame is deferred in the facade methods that can return no error: a panic goes
// on as a *hook.Failure that names *owner, for the runtime, which then refuses
// the registration.
func blame(point hook.Point, owner *string) {
	if v := recover(); v != nil {
		panic(newFailure(point, *owner, panicError(v), true))
	}
}
