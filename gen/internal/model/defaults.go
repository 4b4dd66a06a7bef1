package model

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// DefaultsMethod is the name of the generated method that returns the options of //hook:subsystem to the dynamic composite.
const DefaultsMethod = "HookDefaults"

// HasDefaults reports whether the options of the subsystem set defaults for its fields in composites.
func (s *Subsystem) HasDefaults() bool { return s.Defaults.String() != "" }

// defaults reads and checks the defaults in the options of //hook:subsystem.
func (m *Model) defaults(s *Subsystem) {
	var words []string
	for _, a := range s.Args {
		name, value, _ := strings.Cut(a.Arg, "=")
		switch name {
		case "requires", "before", "after":
			if refs := m.qualified(s, a, value); refs != nil {
				words = append(words, name+"="+strings.Join(refs, ","))
			}
		case "order", "version", "accepts", "timeout", "failopen", "failclosed":
			words = append(words, a.Arg)
		}
	}
	d, problems := plan.ParseDefaults(strings.Join(words, " "), m.planned())
	for _, u := range d.Points {
		if len(problems) == 0 && !slices.Contains(s.Points, u.Name) {
			problems = append(problems, plan.Problem{Code: "HG044", Word: u.Name, Message: s.Name + " has no " + u.Name,
				Fix: "drop it, or write the method"})
		}
	}
	for _, p := range problems {
		if p.Code == "HG009" {
			p.Code = "HG008"
		}
		m.Add(m.fromPlanner(diag.PlannerOptions, s.argPos(p.Word), s.Name, p))
	}
	if len(problems) == 0 {
		s.Defaults = d
	}
}

// argPos returns the place of the option that contains a word, else of the option of that name, else of the type.
func (s *Subsystem) argPos(word string) token.Pos {
	name, _, _ := strings.Cut(word, "=")
	for _, text := range []string{word, name + "="} {
		for _, a := range s.Args {
			if strings.Contains(a.Arg, text) {
				return a.Pos
			}
		}
	}
	return s.Pos
}

// qualified adds the package's name to types of the subsystem's own package, and reports names that are no types.
func (m *Model) qualified(s *Subsystem, arg ast.DirectiveArg, list string) []string {
	var refs []string
	scope := s.Pkg.Types.Scope()
	for ref := range strings.SplitSeq(list, ",") {
		if strings.Contains(ref, ".") {
			refs = append(refs, ref)
			continue
		}
		if _, ok := scope.Lookup(ref).(*types.TypeName); !ok {
			m.add(diag.UnknownType, arg.Pos, s.Name, ref, diag.DidYouMean(ref, scope.Names(), ""))
			continue
		}
		refs = append(refs, s.Pkg.Types.Name()+"."+ref)
	}
	return refs
}

// applyDefaults gives a member the defaults of its subsystem: from source, else from the generated constant.
func (m *Model) applyDefaults(out *Member) {
	named := namedOf(out.Type)
	if named == nil || named.Obj().Pkg() == nil || out.Kind != Direct || out.Nested != nil {
		return
	}
	rev := (*Rev)(nil)
	if p := m.sourceOf(named); p != nil {
		for _, s := range p.Subsystems {
			if s.Named == named.Origin() && s.HasDefaults() {
				out.Defaults = s.Defaults
				rev = &Rev{Pkg: p.Types, Name: s.RevName(), Value: s.Rev()}
			}
		}
	} else if c, ok := named.Obj().Pkg().Scope().Lookup(named.Obj().Name() + "Hook").(*types.Const); ok && c.Val().Kind() == constant.String {
		if text, ours := strings.CutPrefix(constant.StringVal(c.Val()), "hook1 "); ours {
			out.Defaults, _ = plan.ParseDefaults(text, m.planned()) // another version may know options that this one does not
			rev = readRev(named)
		}
	}
	if out.Defaults.String() == "" {
		return
	}
	out.Tag = out.Tag.Over(out.Defaults)
	if out.Rev == nil {
		out.Rev = rev
	}
}
