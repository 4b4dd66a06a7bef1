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

// DefaultsMethod is the name of the generated method that tells the dynamic composite what //hook:subsystem says.
const DefaultsMethod = "HookDefaults"

// HasDefaults tells whether the subsystem says something about the fields of its type.
func (s *Subsystem) HasDefaults() bool { return s.Defaults.String() != "" }

// defaults reads what the options of a subsystem say about the fields of its type, and judges it as a tag would be.
func (m *Model) defaults(s *Subsystem) {
	var words []string
	for _, a := range s.Args {
		name, value, _ := strings.Cut(a.Arg, "=")
		switch name {
		case "requires", "before", "after":
			if refs := m.qualified(s, a, value); refs != nil {
				words = append(words, name+"="+strings.Join(refs, ","))
			}
		case "order", "timeout", "failopen", "failclosed":
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
		m.Add(m.quote(diag.PlannerOptions, s.argPos(p.Word), s.Name, p))
	}
	if len(problems) == 0 {
		s.Defaults = d
	}
}

// argPos is the place of the option that has a word, else of the option of that name, else of the type.
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

// qualified puts the package's name in front of types of the subsystem's own package, and leaves out what is no type.
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

// withDefaults gives a member what its subsystem says: from source, else from the constant that is generated with it.
func (m *Model) withDefaults(out *Member) {
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
			out.Defaults, _ = plan.ParseDefaults(text, m.planned()) // what another version says in other words is not for us
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
