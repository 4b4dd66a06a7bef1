package model

import (
	"go/ast"
	"go/types"

	"github.com/grapnel-go/grapnel/gen/internal/directive"
)

// What follows is for who looks at a package as it is written, not for the sake of what is generated for it.

// CheckHooks reports what is wrong with the methods of every type of the package that is meant to be a hook, whether or not a
// composite has it: who looks at one package alone does not see the composites of others.
func (m *Model) CheckHooks(p *Package) {
	scope := p.Types.Scope()
	for _, name := range scope.Names() {
		obj, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || obj.IsAlias() || types.IsInterface(obj.Type()) {
			continue
		}
		if named, ok := obj.Type().(*types.Named); ok && m.compositeOf(named) == nil {
			if a := m.inspect(named); a.embeds || a.hook && a.fits {
				m.analyze(named)
			}
		}
	}
}

// Ignores notes the directives of a file that silence codes; hookgen does not read the file otherwise.
func (m *Model) Ignores(f *ast.File) {
	found, _ := directive.Scan(m.source.FileSet(), f)
	for _, d := range found {
		if d.Ignore != nil {
			m.ignore(d)
		}
	}
}

// Composites are all composites that are declared or known, in no order, with their members.
func (m *Model) Composites() []*Composite {
	var out []*Composite
	for _, p := range m.packages {
		for _, c := range p.Composites {
			m.Resolve(c)
			out = append(out, c)
		}
	}
	return out
}

// Subsystems are all subsystems that are declared or known, in no order.
func (m *Model) Subsystems() []*Subsystem {
	var out []*Subsystem
	for _, p := range m.packages {
		out = append(out, p.Subsystems...)
	}
	return out
}
