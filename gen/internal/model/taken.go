package model

import (
	"go/types"
	"slices"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/load"
)

// checkNamesOf reports every name that the output declares and that is there already: by hand, as the name of an import, or for
// something else in the output.
func (m *Model) checkNamesOf(p *Package) {
	tools := slices.ContainsFunc(p.Subsystems, func(s *Subsystem) bool { return len(s.Tools) > 0 })
	if p.Foreign != "" && (tools || len(p.Composites) > 0 || slices.ContainsFunc(p.Subsystems, (*Subsystem).HasDefaults)) {
		m.Add(diag.New(diag.ForeignOutput, m.InFile(p.Foreign), load.Output))
	}
	first := map[string]*Tool{}
	for _, s := range p.Subsystems {
		for _, t := range s.Tools {
			before := first[t.Const]
			switch {
			case before == nil:
				first[t.Const] = t
				m.free(p, t.Const)
			case before.Name == t.Name:
				t.Shared = true
			case s.Tool(before.Name) != before: // within one subsystem it is a duplicate tool
				shared := diag.New(diag.ConstantShared, m.Position(t.Pos), t.Name, before.Name, t.Const)
				shared.Notes = []diag.Note{diag.DeclaredHere(m.Position(before.Pos), before.Name)}
				m.Add(shared)
			}
		}
	}
	for _, s := range p.Subsystems {
		if s.HasDefaults() {
			m.freeMembers(s.Named, func(name string) bool { return name == DefaultsMethod })
			if len(s.Tools) == 0 {
				m.freeConstants(p, s, first)
			}
		}
		if len(s.Tools) > 0 {
			m.freeConstants(p, s, first)
			m.freeMembers(s.Named, func(name string) bool { return name == "Schema" || name == "Dispatch" })
		}
	}
}

// freeConstants checks the constants of a subsystem beside those of its tools.
func (m *Model) freeConstants(p *Package, s *Subsystem, tools map[string]*Tool) {
	for _, name := range []string{s.RevName(), s.ManifestName()} {
		m.free(p, name)
		if t := tools[name]; t != nil {
			m.add(diag.ConstantTaken, t.Pos, t.Name, name, s.Name)
		}
	}
}

// checkNamesOfComposite does the same for a composite that is resolved.
func (m *Model) checkNamesOfComposite(p *Package, c *Composite) {
	m.free(p, c.RevName())
	for _, s := range p.Subsystems {
		if s.Named == c.Named && len(s.Tools) > 0 {
			m.add(diag.CompositeTool, s.Tools[0].Pos, c.Name, s.Tools[0].Name)
		}
	}
	m.freeMembers(c.Named, func(name string) bool {
		pt := m.Point(name)
		return name == "Compose" || name == "DispatchAll" || pt != nil && pt.Facade
	})
	if own := declaredMethod(c.Named, "Compose"); own != nil {
		m.addMethod(diag.ComposeTaken, own.Pos(), c.Name, "Compose")
	}
	for _, pt := range m.Points {
		own := declaredMethod(c.Named, pt.Name)
		if own == nil {
			continue
		}
		if found := m.method(c.Named, pt, own); found.problem != nil {
			m.once(*found.problem)
		}
		m.copies(c, own)
	}
}

// freeMembers reports fields whose names generated methods have.
func (m *Model) freeMembers(named *types.Named, generated func(name string) bool) {
	st, ok := named.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for f := range st.Fields() {
		if generated(f.Name()) {
			m.add(diag.FieldTaken, f.Pos(), named.Obj().Name(), f.Name())
		}
	}
}

// free reports a name that the output declares and the package has.
func (m *Model) free(p *Package, name string) {
	if obj := p.Types.Scope().Lookup(name); obj != nil {
		m.add(diag.NameTaken, obj.Pos(), name)
	}
	for file := range p.Types.Scope().Children() {
		if obj := file.Lookup(name); obj != nil {
			m.add(diag.ImportTaken, obj.Pos(), name)
		}
	}
}
