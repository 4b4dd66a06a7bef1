package model

import (
	"go/types"
	"slices"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// checkPromoted reports points that an embedded field which is no member promotes to the composite: they would be called, or hidden
// by generated methods. It accepts methods of the author.
func (m *Model) checkPromoted(c *Composite, v *types.Var) {
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

// checkCopies warns of a method with a value receiver on a composite: it acts on copies of members that are values.
func (m *Model) checkCopies(c *Composite, own *types.Func) {
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

// hookMethods reports whether a constraint demands a point's method.
func (m *Model) hookMethods(i *types.Interface) bool {
	for f := range i.Methods() {
		if p := m.Point(f.Name()); p != nil && types.Identical(p.Signature, f.Signature()) {
			return true
		}
	}
	return false
}
