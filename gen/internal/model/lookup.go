package model

import (
	"go/types"
	"slices"
)

// selection is the result of a lookup.
type selection struct {
	// fn is the method, v the field; both are nil if nothing was found or the method is still to be generated.
	fn *types.Func
	v  *types.Var
	// owner is the type that declares the method, or for which it is generated; nil for a method of an interface.
	owner *types.Named
	// generated: hookgen writes the method.
	generated bool
	// ambiguous: two embedded fields have the name at the same depth.
	ambiguous bool
	// index is the path of fields to it; the last element has no meaning for methods.
	index []int
}

func (s selection) none() bool { return s.fn == nil && s.v == nil && !s.generated && !s.ambiguous }

// embedded is an embedded type that lookup has still to search.
type embedded struct {
	t        types.Type
	index    []int
	multiple bool // embedded twice at this depth
}

// lookup finds an exported name as Go does, but also sees methods that are still to be generated: a type that embeds a subsystem
// has the subsystem's Schema and Dispatch, generated or not.
func (m *Model) lookup(t types.Type, name string) selection {
	var seen []types.Type
	for current := []embedded{{t: pointee(t)}}; len(current) > 0; {
		var found []selection
		var next []embedded
		for _, e := range current {
			if named, ok := types.Unalias(e.t).(*types.Named); ok {
				if slices.ContainsFunc(seen, func(s types.Type) bool { return types.Identical(s, named) }) {
					continue
				}
				seen = append(seen, named)
				if s := m.ownMethod(named, name); !s.none() {
					found = append(found, s.at(e, 0))
					continue
				}
			}
			s, below := inUnderlying(e, name)
			if !s.none() {
				found = append(found, s)
				continue
			}
			next = append(next, below...)
		}
		switch {
		case len(found) > 1:
			last := found[len(found)-1]
			last.ambiguous = true
			return last
		case len(found) == 1:
			return found[0]
		}
		current = merge(next)
	}
	return selection{}
}

func (s selection) at(e embedded, last int) selection {
	s.index = append(slices.Clone(e.index), last)
	s.ambiguous = e.multiple
	return s
}

// ownMethod returns the method that the type declares, or that is generated for it.
func (m *Model) ownMethod(named *types.Named, name string) selection {
	if f := declaredMethod(named, name); f != nil {
		return selection{fn: f, owner: named}
	}
	if m.generates(named, name) {
		return selection{generated: true, owner: named}
	}
	return selection{}
}

// inUnderlying finds a field or a method of an interface; if there is none, it returns the embedded types.
func inUnderlying(e embedded, name string) (selection, []embedded) {
	var below []embedded
	switch u := e.t.Underlying().(type) {
	case *types.Struct:
		for i := range u.NumFields() {
			f := u.Field(i)
			if f.Name() == name {
				return selection{v: f}.at(e, i), nil
			}
			if f.Embedded() {
				below = append(below, embedded{pointee(f.Type()), append(slices.Clone(e.index), i), e.multiple})
			}
		}
	case *types.Interface:
		for f := range u.Methods() {
			if f.Name() == name {
				return selection{fn: f}.at(e, 0), nil
			}
		}
	}
	return selection{}, below
}

// merge joins types that are embedded twice at one depth: their names are ambiguous.
func merge(list []embedded) []embedded {
	var out []embedded
	for _, e := range list {
		i := slices.IndexFunc(out, func(o embedded) bool { return types.Identical(o.t, e.t) })
		if i >= 0 {
			out[i].multiple = true
			continue
		}
		out = append(out, e)
	}
	return out
}

// generates reports whether hookgen writes this method for the type.
func (m *Model) generates(named *types.Named, name string) bool {
	if c := m.compositeOf(named); c != nil {
		m.Resolve(c)
		p := m.Point(name)
		return name == "Compose" || p != nil && p.Facade
	}
	return (name == "Schema" || name == "Dispatch") && m.toolsOf(named) != nil
}

// toolsOf returns the subsystem of a type of the main module if it has typed tools, else nil.
func (m *Model) toolsOf(named *types.Named) *Subsystem {
	if named == nil || named.Obj().Pkg() == nil {
		return nil
	}
	p := m.sourceOf(named)
	if p == nil {
		return nil
	}
	i := slices.IndexFunc(p.Subsystems, func(s *Subsystem) bool { return s.Named == named.Origin() && len(s.Tools) > 0 })
	if i < 0 {
		return nil
	}
	return p.Subsystems[i]
}
