package model

import (
	"go/types"
	"slices"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// promotes reports the points that an embedded field gives the composite although it takes no part: as the field's methods are the
// composite's too, they would be called, or hidden by what is generated. Those that the author writes are the author's matter.
func (m *Model) promotes(c *Composite, v *types.Var) {
	if !v.Embedded() || isType(v.Type(), m.hookPkg.Path(), "Nop") {
		return
	}
	for _, p := range m.Points {
		if c.Own[p.Name] {
			continue
		}
		if found := m.find(v.Type(), p); found.has && !found.nop && found.problem == nil {
			m.addMethod(diag.PromotedPoint, v.Pos(), c.Name, p.Name, v.Name())
		}
	}
}

// copies warns of a point that the author writes on the composite's value: it acts on a copy of the members that are values too.
func (m *Model) copies(c *Composite, own *types.Func) {
	if _, ok := types.Unalias(own.Signature().Recv().Type()).(*types.Pointer); ok {
		return
	}
	for _, member := range c.Members {
		if _, ok := types.Unalias(member.Type).(*types.Pointer); ok || member.Kind != Direct || !m.hasPointerMethods(member) {
			continue
		}
		p := diag.New(diag.CopiedMembers, m.Position(own.Pos()), c.Name, member.Field, c.Receiver).Of(own.Name())
		p.Notes = []diag.Note{diag.IsValue(m.Position(member.Pos), member.Field)}
		m.Add(p)
		return
	}
}

// hasPointerMethods tells whether some point of the member has a pointer as its receiver.
func (m *Model) hasPointerMethods(member *Member) bool {
	return slices.ContainsFunc(m.Points, func(p *Point) bool {
		if !member.Points[p.Name] {
			return false
		}
		s := m.lookup(member.Type, p.Name)
		if s.generated {
			t := m.toolsOf(s.owner)
			return t == nil || t.Pointer
		}
		if s.fn == nil || s.fn.Signature().Recv() == nil {
			return false
		}
		_, ok := types.Unalias(s.fn.Signature().Recv().Type()).(*types.Pointer)
		return ok
	})
}

// hookMethods tells whether a constraint wants a point's method.
func (m *Model) hookMethods(i *types.Interface) bool {
	for f := range i.Methods() {
		if p := m.Point(f.Name()); p != nil && types.Identical(p.Signature, f.Signature()) {
			return true
		}
	}
	return false
}
