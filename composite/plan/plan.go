// Package plan computes the order of a composite's members, the owners of tools, and the
// conflicts. It is pure data: the generator fills it from source, the dynamic composite from
// a struct at run time, and both get the same plan.
//
// A plan is built from one [Spec] per field. A problem has the code that hookgen explains,
// all fields involved, and a fix.
package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/spell"
)

// Spec describes one field of a composite.
type Spec struct {
	// Field is the name of the field, unique within the composite.
	Field string
	// Type is the field's type as text, for people.
	Type string
	// Options are the field's tag.
	Options Options
	// Tools are the names of the member's static tools, without prefix.
	Tools []string
	// Points are the points and methods that the member overrides.
	Points []Point
	// Open: the points of the member are known only at run time.
	Open bool
	// Maybe are points that the member may have: at run time the methods of hook.Hook,
	// because those of hook.Nop look like the hook's own.
	Maybe []Point
	// Defaults are those of the subsystem. Only its relations to other types count here;
	// the others are in Options already.
	Defaults Defaults
	// Late are the known tools of a Dynamic member.
	Late []string
	// Dynamic: the member has tools that are known only at run time.
	Dynamic bool
	// Group: the field is a slice of hooks.
	Group bool
	// Fallback: the member has a hook.Fallback.
	Fallback bool
	// Composite is the plan of the member itself, if it is a composite.
	Composite *Plan
}

// Plan is the plan of one composite.
type Plan struct {
	// Type is the name of the composite, "app.Hooks".
	Type string `json:"type"`
	// Members are in plan order: outermost first.
	Members []Member `json:"members"`
	// Own are the hand-written methods of a generated composite. They decide whether to
	// call the members.
	Own []string `json:"own,omitzero"`
	// Off are the members that layers of configuration have turned off. They are not in
	// Members.
	Off []Disabled `json:"off,omitzero"`
}

// Member is one field in the plan.
type Member struct {
	Field    string `json:"field"`
	Type     string `json:"type"`
	Optional bool   `json:"optional,omitzero"`
	Dynamic  bool   `json:"dynamic,omitzero"`
	Group    bool   `json:"group,omitzero"`
	// Fallback: the member has contributions ready for its failure (hook.Fallback).
	Fallback bool `json:"fallback,omitzero"`
	// Version is that of the subsystem, left out if it declares none, which is 1. Accepts is
	// the oldest version whose queued calls it takes; left out it is its own.
	Version  int      `json:"version,omitzero"`
	Accepts  int      `json:"accepts,omitzero"`
	Prefix   string   `json:"prefix,omitzero"`
	Requires []string `json:"requires,omitzero"`
	// Only and Without are the points at which a member with unknown points is called, or
	// is not; both empty is all.
	Only    []string `json:"only,omitzero"`
	Without []string `json:"without,omitzero"`
	// Match are the patterns that narrow the calls of the member.
	Match []string `json:"match,omitzero"`
	// Points are in the order of their declaration, with the policies there.
	Points []PointUse `json:"points,omitzero"`
	// Policies are those that layers of configuration set at points that the member may
	// lack.
	Policies []PointUse `json:"policies,omitzero"`
	// Tools are public names: with the prefix.
	Tools []string `json:"tools,omitzero"`
	// Composite is the plan of the member itself, if it is a composite.
	Composite *Plan `json:"composite,omitzero"`
}

// Problem is one error or warning about a composite.
type Problem struct {
	// Code is an argument of `hookgen explain`, "HG020".
	Code string
	// Fields are the fields involved; the problem is reported at the first.
	Fields  []string
	Message string
	// Fix says how to solve it; "" if the message does.
	Fix string
	// Word is the wrong word of the first field's tag; "" for none.
	Word string
	// Meant is the word that was probably meant instead; "" if none is close.
	Meant string
	// Tool is the public name of the tool that two fields have; "" for none.
	Tool string
	// Ref is a name in the tag that is no member; "" for none. See [Idle].
	Ref string
	// Warning: the composite works, but perhaps not as meant.
	Warning bool
}

// Error returns message and fix in one line.
func (p Problem) Error() string {
	s := p.Code + ": " + p.Message
	if p.Fix != "" {
		s += "; " + p.Fix
	}
	return s
}

// Build plans the composite. It returns all problems in a stable order. The plan is valid
// only if they are all warnings.
func Build(typeName string, specs []Spec) (*Plan, []Problem) {
	specs, problems := related(specs)
	problems = append(problems, checkNames(specs)...)
	for _, s := range specs {
		problems = append(problems, checkPolicies(s)...)
	}
	order, cycle := sortSpecs(specs)
	problems = append(problems, cycle...)
	problems = append(problems, checkTools(specs, order)...)
	problems = append(problems, checkRewriters(specs, order)...)
	problems = append(problems, checkMatchedTools(specs)...)
	p := &Plan{Type: typeName}
	for _, i := range order {
		p.Members = append(p.Members, member(specs[i]))
	}
	return p, problems
}

// Ordered returns the plan of specs that are in plan order already and were checked when the
// composite was generated.
func Ordered(typeName string, specs []Spec) *Plan {
	p := &Plan{Type: typeName}
	for _, s := range specs {
		p.Members = append(p.Members, member(s))
	}
	return p
}

// Errors returns the problems that are no warnings.
func Errors(problems []Problem) []Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p Problem) bool { return p.Warning })
}

func member(s Spec) Member {
	m := Member{
		Field: s.Field, Type: s.Type, Optional: s.Options.Optional, Dynamic: (s.Dynamic || s.Options.Dynamic) && s.offers(),
		Group: s.Group, Fallback: s.Fallback, Version: s.Defaults.Version, Accepts: s.Defaults.Accepts, Prefix: s.Options.Prefix, Requires: s.Options.Requires, Composite: s.Composite,
	}
	for _, t := range s.tools() {
		m.Tools = append(m.Tools, s.Options.Prefix+t)
	}
	if s.Open || s.Group {
		m.Only, m.Without = s.Options.Only, s.Options.Without
	}
	for _, p := range s.Options.Match {
		m.Match = append(m.Match, p.String())
	}
	for _, p := range s.Points {
		if s.Options.Excludes(p.Name) {
			continue
		}
		use := s.Options.At(p.Name)
		use.Kind = p.Kind
		if use.Policy == "" && !p.Closed && (p.Kind == "decide" || p.Kind == "rewrite") {
			use.Policy = "failopen"
		}
		if use.Timeout == 0 && s.Composite == nil { // the members of a composite have their own
			use.Timeout = Duration(p.Timeout)
		}
		m.Points = append(m.Points, use)
	}
	return m
}

// offers reports whether the member's tools are tools of the composite.
func (s Spec) offers() bool { return !s.Options.Excludes("Schema") }

// tools returns the static tools that the member has in the composite, without prefix.
func (s Spec) tools() []string {
	if !s.offers() {
		return nil
	}
	return s.Tools
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

// checkNames reports constraints that name no field, name the field itself, or require an
// optional field.
func checkNames(specs []Spec) []Problem {
	var out []Problem
	at := index(specs)
	for _, s := range specs {
		for _, ref := range s.Options.refs() {
			other, known := at[ref.field]
			switch {
			case ref.word == "before" && ref.field == everyField:
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
	return Problem{Code: code, Fields: []string{s.Field}, Message: msg, Fix: fix, Word: ref.word + "=" + ref.field, Ref: ref.field}
}

// Idle extends the problems of constraints that name a field of the struct which is no
// member: idle maps the names of such fields to the reasons.
func Idle(problems []Problem, idle map[string]string) []Problem {
	out := slices.Clone(problems)
	for i, p := range out {
		if why := idle[p.Ref]; why != "" {
			out[i].Message = fmt.Sprintf("%s of %s: field %s takes part in nothing: %s", p.Word, p.Fields[0], p.Ref, why)
			out[i].Fix = "name a field that is a hook, or drop it"
		}
	}
	return out
}

// NoHookReason is the reason for a field whose type is no hook.
func NoHookReason(typ string) string { return "its type " + typ + " is no hook" }

// LeftOutReason is the reason for a field with the tag -.
func LeftOutReason() string { return `its tag is hook:"-"` }

func index(specs []Spec) map[string]int {
	at := make(map[string]int, len(specs))
	for i, s := range specs {
		at[s.Field] = i
	}
	return at
}
