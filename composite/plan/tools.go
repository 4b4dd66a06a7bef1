package plan

import (
	"fmt"
	"slices"
	"strings"
)

// maxName is the length of the longest name that providers accept.
const maxName = 64

// ownership collects the owners of tools.
type ownership struct {
	specs    []Spec
	owner    map[string]int
	problems []Problem
	// same has the reported pairs of fields of one type.
	same map[[2]int]bool
}

// checkTools reports tools with two owners, tools that can never be called, and
// names that no provider accepts.
func checkTools(specs []Spec, order []int) []Problem {
	o := ownership{specs: specs, owner: map[string]int{}, same: map[[2]int]bool{}}
	for _, i := range order {
		s := specs[i]
		if s.Options.Prefix != "" && s.Group {
			o.problems = append(o.problems, Problem{Code: "HG024", Fields: []string{s.Field},
				Message: "prefix on a group: its members' names could collide all the same",
				Fix:     "give the members their prefix where they are made"})
		}
		for _, tool := range s.tools() {
			o.take(i, s.Options.Prefix+tool)
		}
	}
	for _, i := range order {
		if specs[i].offers() {
			o.shadowed(i)
		}
	}
	return o.problems
}

func (o *ownership) take(i int, name string) {
	s := o.specs[i]
	if !validTool(name) {
		o.problems = append(o.problems, Problem{Code: "HG022", Fields: []string{s.Field},
			Message: fmt.Sprintf("tool name %q of %s is not one that providers accept", name, s.Field),
			Fix:     "use 1 to 64 letters, digits, _ or -, the prefix included"})
	}
	first, taken := o.owner[name]
	if !taken {
		o.owner[name] = i
		return
	}
	pair := [2]int{first, i}
	switch f := o.specs[first]; {
	case first == i:
		o.problems = append(o.problems, Problem{Code: "HG020", Fields: []string{s.Field},
			Message: fmt.Sprintf("%s has the tool %q twice", s.Field, name), Fix: "give one of the two another name"})
	case f.Type != s.Type:
		o.problems = append(o.problems, Problem{Code: "HG020", Fields: []string{f.Field, s.Field}, Tool: name,
			Message: fmt.Sprintf("tool %q is provided by both %s and %s", name, f.Field, s.Field),
			Fix:     "give one of them a prefix:  " + prefixed(s)})
	case !o.same[pair]:
		o.same[pair] = true
		o.problems = append(o.problems, Problem{Code: "HG029", Fields: []string{f.Field, s.Field}, Tool: name,
			Message: fmt.Sprintf("two fields of type %s need different prefixes: %s and %s both have the tool %q", s.Type, f.Field, s.Field, name),
			Fix:     prefixed(s)})
	}
}

// shadowed reports known tools of a dynamic member that a static tool of the same name hides.
func (o *ownership) shadowed(i int) {
	s := o.specs[i]
	for _, tool := range s.Late {
		name := s.Options.Prefix + tool
		first, taken := o.owner[name]
		if !taken {
			o.owner[name] = i
			continue
		}
		f := o.specs[first]
		o.problems = append(o.problems, Problem{Code: "HG021", Fields: []string{s.Field, f.Field}, Tool: name,
			Message: fmt.Sprintf("tool %q of %s is never called: %s has it too and is asked before %s, which is dynamic", name, s.Field, f.Field, s.Field),
			Fix:     "give one of them a prefix:  " + prefixed(s)})
	}
}

// prefixed returns the field with a prefix added to its tag, for a fix.
func prefixed(s Spec) string {
	return fmt.Sprintf("%s %s `hook:\"prefix=%s_\"`", s.Field, s.Type, strings.ToLower(s.Field))
}

// Reserved reports the tools of a plan whose public names the runtime reserves.
func Reserved(p *Plan, names []string) []Problem {
	var out []Problem
	for _, m := range p.Members {
		for _, tool := range m.Tools {
			if slices.Contains(names, tool) {
				out = append(out, Problem{Code: "HG023", Fields: []string{m.Field},
					Message: fmt.Sprintf("tool name %q of %s is reserved by the runtime", tool, m.Field),
					Fix:     "give the tool another name, or the field a prefix:  " + prefixed(Spec{Field: m.Field, Type: m.Type})})
			}
		}
	}
	return out
}

func validTool(name string) bool {
	for _, r := range name {
		if !nameRune(r) {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= maxName
}

// nameRune reports whether the name of a tool or an agent may contain the character.
func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}
