// Package plan decides the order of a composite's members, who owns which tool,
// and what is in conflict. It is pure data: the generator fills it from source,
// the dynamic composite from a struct at run time, and both get the same plan.
//
// A plan is built from one [Spec] per field. Problems carry the code that
// hookgen explains, every field that takes part, and how to mend it.
package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/spell"
)

// Spec is what is known of one field of a composite.
type Spec struct {
	// Field is the name of the field, unique within the composite.
	Field string
	// Type is how the field's type is written, for people.
	Type string
	// Options are the field's tag.
	Options Options
	// Tools are the names of the tools that the member owns, without prefix; what
	// is known only at run time is not among them.
	Tools []string
	// Points are the names of the points and methods that the member overrides.
	Points []string
	// Dynamic: the member has tools that are known only at run time.
	Dynamic bool
	// Group: the field is a slice of hooks.
	Group bool
	// Composite is the plan of the member itself, if it is a composite.
	Composite *Plan
}

// Plan is the plan of one composite.
type Plan struct {
	// Type is the name of the composite, "daemon.Daemon".
	Type string `json:"type"`
	// Members are in plan order: outermost first.
	Members []Member `json:"members"`
}

// Member is one field in the plan.
type Member struct {
	Field    string   `json:"field"`
	Type     string   `json:"type"`
	Optional bool     `json:"optional,omitzero"`
	Dynamic  bool     `json:"dynamic,omitzero"`
	Group    bool     `json:"group,omitzero"`
	Prefix   string   `json:"prefix,omitzero"`
	Requires []string `json:"requires,omitzero"`
	// Points are in the order of their declaration, with the policy where the tag
	// changes the default.
	Points []PointUse `json:"points,omitzero"`
	// Tools are public names: with the prefix.
	Tools []string `json:"tools,omitzero"`
	// Composite is the plan of the member itself, if it is a composite.
	Composite *Plan `json:"composite,omitzero"`
}

// PointUse is one point that a member takes part in.
type PointUse struct {
	Name string `json:"name"`
	// Policy is failopen or failclosed where the tag says so, else "".
	Policy string `json:"policy,omitzero"`
}

// Problem is one thing that is wrong with a composite.
type Problem struct {
	// Code is what `hookgen explain` knows, "HG020".
	Code string
	// Fields are the fields that take part; the first is where it is reported.
	Fields  []string
	Message string
	// Fix says how to mend it; "" if the message does.
	Fix string
}

// Error returns message and fix in one line.
func (p Problem) Error() string {
	s := p.Code + ": " + p.Message
	if p.Fix != "" {
		s += "; " + p.Fix
	}
	return s
}

// Build plans the composite. The plan is meaningful only without problems; all
// problems are found in one call, in a stable order.
func Build(typeName string, specs []Spec) (*Plan, []Problem) {
	problems := checkNames(specs)
	order, cycle := sortSpecs(specs)
	problems = append(problems, cycle...)
	problems = append(problems, checkTools(specs, order)...)
	p := &Plan{Type: typeName}
	for _, i := range order {
		p.Members = append(p.Members, member(specs[i]))
	}
	return p, problems
}

func member(s Spec) Member {
	m := Member{
		Field: s.Field, Type: s.Type, Optional: s.Options.Optional, Dynamic: s.Dynamic || s.Options.Dynamic,
		Group: s.Group, Prefix: s.Options.Prefix, Requires: s.Options.Requires, Composite: s.Composite,
	}
	for _, t := range s.Tools {
		m.Tools = append(m.Tools, s.Options.Prefix+t)
	}
	for _, name := range s.Points {
		m.Points = append(m.Points, PointUse{Name: name, Policy: s.Options.Policy(name)})
	}
	return m
}

// Owner returns the path of the member that owns the tool with this public
// name, "Core.Notes", or "" if no static tool has it.
func (p *Plan) Owner(tool string) string {
	for _, m := range p.Members {
		if !slices.Contains(m.Tools, tool) {
			continue
		}
		if m.Composite != nil {
			return m.Field + "." + m.Composite.Owner(strings.TrimPrefix(tool, m.Prefix))
		}
		return m.Field
	}
	return ""
}

// checkNames reports constraints that name no field, name the field itself, or
// require what may be missing.
func checkNames(specs []Spec) []Problem {
	var out []Problem
	at := index(specs)
	for _, s := range specs {
		for _, ref := range s.Options.refs() {
			other, known := at[ref.field]
			switch {
			case !known:
				out = append(out, unknownField(s, ref, specs))
			case ref.field == s.Field:
				out = append(out, Problem{Code: "HG027", Fields: []string{s.Field},
					Message: fmt.Sprintf("%s=%s on the field itself", ref.word, ref.field),
					Fix:     "name another field or drop it"})
			case ref.word == "requires" && specs[other].Options.Optional && !s.Options.Optional:
				out = append(out, Problem{Code: "HG028", Fields: []string{s.Field, ref.field},
					Message: fmt.Sprintf("%s requires %s, which is optional", s.Field, ref.field),
					Fix:     fmt.Sprintf("make %s optional too, or drop optional from %s", s.Field, ref.field)})
			}
		}
	}
	return out
}

func unknownField(s Spec, ref ref, specs []Spec) Problem {
	code := "HG027"
	msg := fmt.Sprintf("%s=%s: there is no field %s", ref.word, ref.field, ref.field)
	if ref.word == "requires" {
		code, msg = "HG028", fmt.Sprintf("%s requires %s, which the composite does not have", s.Field, ref.field)
	}
	names := make([]string, 0, len(specs))
	for _, o := range specs {
		if o.Field != s.Field {
			names = append(names, o.Field)
		}
	}
	fix := "the fields are " + strings.Join(names, ", ")
	if near := spell.Closest(ref.field, names); near != "" {
		fix = fmt.Sprintf("did you mean %s?", near)
	}
	return Problem{Code: code, Fields: []string{s.Field}, Message: msg, Fix: fix}
}

func index(specs []Spec) map[string]int {
	at := make(map[string]int, len(specs))
	for i, s := range specs {
		at[s.Field] = i
	}
	return at
}

// checkTools reports tools with two owners and names that no provider accepts.
func checkTools(specs []Spec, order []int) []Problem {
	var out []Problem
	owner := map[string]string{}
	for _, i := range order {
		s := specs[i]
		if s.Options.Prefix != "" && s.Group {
			out = append(out, Problem{Code: "HG024", Fields: []string{s.Field},
				Message: "prefix on a group: its members' names could collide all the same",
				Fix:     "give the members their prefix where they are made"})
		}
		for _, tool := range s.Tools {
			name := s.Options.Prefix + tool
			if !validTool(name) {
				out = append(out, Problem{Code: "HG022", Fields: []string{s.Field},
					Message: fmt.Sprintf("tool name %q of %s is not one that providers accept", name, s.Field),
					Fix:     "use 1 to 64 letters, digits, _ or -, the prefix included"})
			}
			first, taken := owner[name]
			if !taken {
				owner[name] = s.Field
				continue
			}
			out = append(out, duplicate(name, first, s, specs))
		}
	}
	return out
}

func duplicate(name, first string, s Spec, specs []Spec) Problem {
	fix := fmt.Sprintf("give one of them a prefix:  %s %s `hook:\"prefix=%s_\"`", s.Field, s.Type, strings.ToLower(s.Field))
	if f := specs[index(specs)[first]]; f.Type == s.Type {
		fix = fmt.Sprintf("two fields of type %s need different prefixes:  %s %s `hook:\"prefix=%s_\"`",
			s.Type, s.Field, s.Type, strings.ToLower(s.Field))
	}
	return Problem{Code: "HG020", Fields: []string{first, s.Field},
		Message: fmt.Sprintf("tool %q is provided by both %s and %s", name, first, s.Field), Fix: fix}
}

func validTool(name string) bool {
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 64
}
