package model

import (
	"go/ast"
	"go/types"

	"github.com/grapnel-go/grapnel/gen/internal/directive"
)

// The rest of this file is for the analyzer.

// CheckHooks reports wrong methods of every type of the package that is meant to be a hook, member of a composite or not: the
// analyzer of one package does not see the composites of others.
func (m *Model) CheckHooks(p *Package) {
	scope := p.Types.Scope()
	for _, name := range scope.Names() {
		obj, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || obj.IsAlias() || types.IsInterface(obj.Type()) {
			continue
		}
		if named, ok := obj.Type().(*types.Named); ok && m.compositeOf(named) == nil {
			if a := m.inspect(named); a.embedsNop || a.hook && a.hasPoint {
				m.analyze(named)
			}
		}
	}
}

// Ignores reads the //hook:ignore of a file that hookgen does not read.
func (m *Model) Ignores(f *ast.File) {
	found, _ := directive.Scan(m.source.FileSet(), f)
	for _, d := range found {
		if d.Ignore != nil {
			m.ignore(d)
		}
	}
}

// Composites returns all composites of the model, from source or facts, in no order.
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

// Subsystems returns all subsystems of the model, from source or facts, in no order.
func (m *Model) Subsystems() []*Subsystem {
	var out []*Subsystem
	for _, p := range m.packages {
		out = append(out, p.Subsystems...)
	}
	return out
}
