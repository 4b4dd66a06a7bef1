package composite

import (
	"fmt"
	"slices"
	"strings"

	_ "github.com/grapnel-go/grapnel/composite/guard" // generated files import it, so go mod vendor has to find it beside this package
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// GenVersion2 is used by every generated file, so that code of another version of the
// generator does not compile.
const GenVersion2 = 2

// missing returns the error for required fields that are nil; nil without fields.
func missing(typeName string, fields ...string) error {
	if len(fields) == 0 {
		return nil
	}
	return fmt.Errorf("%s: required and nil: %s; set them, or tag them optional", typeName, strings.Join(fields, ", "))
}

func prefixed(prefix string, tools []message.Tool) []message.Tool {
	out := slices.Clone(tools)
	for i := range out {
		out[i].Name = prefix + out[i].Name
	}
	return out
}

// joinPrompts joins the non-empty parts by one blank line, after trimming their line breaks.
// It overwrites the slice.
func joinPrompts(parts []string) string {
	kept := parts[:0]
	for _, p := range parts {
		if p = strings.Trim(p, "\n"); p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n\n")
}

// offers reports whether an agent has at least one of the tools, or there are none: the
// condition for calling their owner's SystemPrompt. The names are local, cfg has the
// owner's prefix, and cfg.Tools are the effective tools.
func offers(cfg *hook.AgentConfig, tools []message.Tool) bool {
	if len(tools) == 0 || cfg.Tools == nil {
		return true
	}
	return slices.ContainsFunc(tools, func(t message.Tool) bool {
		return slices.Contains(cfg.Tools, cfg.ToolName(t.Name))
	})
}

// scoping unites the scopes of a composite's members.
type scoping struct {
	tools    []string
	narrowed bool
	senders  []message.SenderRule
	lines    []string
}

// add adds the tools of one member and its scope, in local names. It ignores names in the
// scope that the member does not own, so that no member can widen the union.
func (s *scoping) add(prefix string, tools []message.Tool, scope hook.Scope) {
	for _, t := range tools {
		if scope.Tools == nil || message.MatchesAny(scope.Tools, t.Name) {
			s.tools = append(s.tools, prefix+t.Name)
		}
	}
	s.narrowed = s.narrowed || scope.Tools != nil
	for _, r := range scope.Senders {
		rule := message.SenderRule{Senders: r.Senders, Tools: make([]string, len(r.Tools))}
		for i, local := range r.Tools {
			rule.Tools[i] = prefix + local
		}
		s.senders = append(s.senders, rule)
	}
	if scope.Line != "" {
		s.lines = append(s.lines, scope.Line)
	}
}

// scope returns the union: unrestricted if no member narrows anything.
func (s *scoping) scope() hook.Scope {
	out := hook.Scope{Senders: s.senders, Line: strings.Join(s.lines, "\n")}
	if s.narrowed {
		out.Tools = s.tools
		if out.Tools == nil {
			out.Tools = []string{}
		}
	}
	return out
}

// blame is deferred in the facade methods without an error result. It turns a panic into a
// panic with a *hook.Failure that names *owner; the runtime then refuses the registration.
func blame(point hook.Point, owner *string) {
	if v := recover(); v != nil {
		panic(newFailure(point, *owner, panicError(v), true))
	}
}
