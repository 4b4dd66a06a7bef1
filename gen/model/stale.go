package model

import "go/types"

// Valid tells whether a type that is written somewhere type-checks.
func Valid(t types.Type) bool { return invalidIn(t) == nil }

// Lacks tells whether generated code can assert that a direct member does not have the point: neither its type nor what is
// generated for it has a method of that name, but for hook.Nop's. depth is how many fields lie between the type and the one that
// is embedded there, 0 if there is no method at all.
func (m *Member) Lacks(p *Point, from *types.Package) (depth int, ok bool) {
	if m.Kind != Direct || m.Points[p.Name] {
		return 0, false
	}
	if m.Nested != nil && (p.Facade || p.Combine == "close" && m.Points["OnOpen"]) {
		return 0, false // it is generated in any case, and the composite's Rev guards what it does
	}
	obj, index, _ := types.LookupFieldOrMethod(m.Type, true, from, p.Name)
	if obj == nil {
		return 0, index == nil
	}
	f, ok := obj.(*types.Func)
	if !ok || f.Signature().Recv() == nil || !isType(f.Signature().Recv().Type(), p.Pkg, "Nop") {
		return 0, false
	}
	return len(index) - 1, true
}
