package model

import (
	"go/types"
	"slices"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/load"
)

// checkNamesOf reports names that the generated file declares although the package uses them already: as a declaration, as the name
// of an import, or twice in the generated file.
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
				m.checkFree(p, t.Const)
			case before.Name == t.Name:
				t.Shared = true
			case s.Tool(before.Name) != before: // within one subsystem it is reported as a duplicate tool
				shared := diag.New(diag.ConstantShared, m.Position(t.Pos), t.Name, before.Name, t.Const)
				shared.Notes = []diag.Note{diag.DeclaredHere(m.Position(before.Pos), before.Name)}
				m.Add(shared)
			}
		}
	}
	for _, s := range p.Subsystems {
		if s.HasDefaults() {
			m.checkFields(s.Named, func(name string) bool { return name == DefaultsMethod })
			if len(s.Tools) == 0 {
				m.checkConstants(p, s, first)
			}
		}
		if len(s.Tools) > 0 {
			m.checkConstants(p, s, first)
			m.checkFields(s.Named, func(name string) bool { return name == "Schema" || name == "Dispatch" })
		}
	}
}

// checkConstants checks the constants of a subsystem other than those of its tools.
func (m *Model) checkConstants(p *Package, s *Subsystem, tools map[string]*Tool) {
	for _, name := range []string{s.RevName(), s.ManifestName()} {
		m.checkFree(p, name)
		if t := tools[name]; t != nil {
			m.add(diag.ConstantTaken, t.Pos, t.Name, name, s.Name)
		}
	}
}

// checkNamesOfComposite does the same for a resolved composite.
func (m *Model) checkNamesOfComposite(p *Package, c *Composite) {
	m.checkFree(p, c.RevName())
	for _, s := range p.Subsystems {
		if s.Named == c.Named && len(s.Tools) > 0 {
			m.add(diag.CompositeTool, s.Tools[0].Pos, c.Name, s.Tools[0].Name)
		}
	}
	m.checkFields(c.Named, func(name string) bool {
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
			m.addOnce(*found.problem)
		}
		m.checkCopies(c, own)
	}
}

// checkFields reports fields with the names of generated methods.
func (m *Model) checkFields(named *types.Named, generated func(name string) bool) {
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

// checkFree reports a declaration or import of the package with a name that the generated file declares.
func (m *Model) checkFree(p *Package, name string) {
	if obj := p.Types.Scope().Lookup(name); obj != nil {
		m.add(diag.NameTaken, obj.Pos(), name)
	}
	for file := range p.Types.Scope().Children() {
		if obj := file.Lookup(name); obj != nil {
			m.add(diag.ImportTaken, obj.Pos(), name)
		}
	}
}
