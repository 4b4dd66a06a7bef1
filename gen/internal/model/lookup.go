package model

import (
	"go/types"
	"slices"
)

// selection is what a selector on an addressable value finds.
type selection struct {
	// fn is the method, v the field; both are nil for nothing and for a method that is still to be generated.
	fn *types.Func
	v  *types.Var
	// owner is the type that declares the method, or that it is generated for; nil for a method of an interface.
	owner *types.Named
	// generated: the method is one that this generator writes.
	generated bool
	// ambiguous: two embedded fields have it at the same depth.
	ambiguous bool
	// index is the path of fields to it; its last element is of no meaning for methods.
	index []int
}

func (s selection) none() bool { return s.fn == nil && s.v == nil && !s.generated && !s.ambiguous }

// embedded is a type on the way down from field to field.
type embedded struct {
	t        types.Type
	index    []int
	multiple bool // it is there twice at this depth
}

// lookup finds an exported name as Go does, and sees the methods that will be generated too, wherever they are promoted to: a type
// that embeds a subsystem has the subsystem's tools, whether or not they have been generated before.
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
		current = consolidate(next)
	}
	return selection{}
}

// at puts what was found where it was found.
func (s selection) at(e embedded, last int) selection {
	s.index = append(slices.Clone(e.index), last)
	s.ambiguous = e.multiple
	return s
}

// ownMethod returns the method that the type itself has or will have.
func (m *Model) ownMethod(named *types.Named, name string) selection {
	if f := declaredMethod(named, name); f != nil {
		return selection{fn: f, owner: named}
	}
	if m.generates(named, name) {
		return selection{generated: true, owner: named}
	}
	return selection{}
}

// inUnderlying finds a field or a method of an interface, else returns what is embedded.
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

// consolidate joins types that are embedded twice at one depth: what they have is ambiguous.
func consolidate(list []embedded) []embedded {
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

// generates tells whether the output gives the type a method of a point.
func (m *Model) generates(named *types.Named, name string) bool {
	if c := m.compositeOf(named); c != nil {
		m.Resolve(c)
		p := m.Point(name)
		return name == "Compose" || p != nil && p.Facade
	}
	return (name == "Schema" || name == "Dispatch") && m.toolsOf(named) != nil
}

// toolsOf returns the subsystem that a type of the main module is, if it has typed tools.
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
