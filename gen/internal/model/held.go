package model

import (
	"go/types"
	"reflect"
	"strings"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// maxHeld is how deep hooks are looked for in a field.
const maxHeld = 3

// holds reports a field that has hooks inside, where none would be called: maps, arrays, other slices than []hook.Hook, structs,
// and functions of a point's signature.
func (m *Model) holds(c *Composite, out *Member) bool {
	if name := m.pointOfFunc(out.Type); name != "" {
		m.field(out, plan.BareFunc(out.Field, name))
		return true
	}
	what := m.held(out.Type, maxHeld)
	if what == "" {
		return false
	}
	typ := m.relative(out.Type, c.Pkg.Types)
	if s, ok := out.Type.Underlying().(*types.Slice); ok && m.hookLike(s.Elem()) {
		m.field(out, plan.NoGroup(out.Field, typ))
		return true
	}
	m.field(out, plan.Holds(typ, what))
	return true
}

// field reports a problem of a field.
func (m *Model) field(out *Member, p plan.Problem) {
	m.Add(m.quote(diag.PlannerField, out.Pos, out.Field, p))
}

// held returns what a value of the type has inside that looks like a hook, or "".
func (m *Model) held(t types.Type, depth int) string {
	if depth == 0 || m.ofHook(t) {
		return ""
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return m.foundIn(u.Elem(), depth)
	case *types.Slice:
		return m.foundIn(u.Elem(), depth)
	case *types.Array:
		return m.foundIn(u.Elem(), depth)
	case *types.Chan:
		return m.foundIn(u.Elem(), depth)
	case *types.Map:
		return m.foundIn(u.Elem(), depth)
	case *types.Struct:
		for i := range u.NumFields() {
			f := u.Field(i)
			if !f.Exported() || reflect.StructTag(u.Tag(i)).Get("hook") == "-" {
				continue
			}
			if what := m.foundIn(f.Type(), depth); what != "" {
				return what + " in " + f.Name()
			}
		}
	}
	return ""
}

// foundIn returns the type if it looks like a hook, else what it has inside.
func (m *Model) foundIn(t types.Type, depth int) string {
	if !isType(t, m.hookPkg.Path(), "Nop") && m.hookLike(t) {
		return strings.TrimPrefix(m.short(t), "*")
	}
	return m.held(t, depth-1)
}

func (m *Model) ofHook(t types.Type) bool {
	named := namedOf(t)
	return named != nil && named.Obj().Pkg() == m.hookPkg
}

// pointOfFunc returns the point beside hook.Hook whose signature a function has, or "". OnClose's is too common to mean anything.
func (m *Model) pointOfFunc(t types.Type) string {
	sig, ok := t.Underlying().(*types.Signature)
	if !ok {
		return ""
	}
	for _, p := range m.Points {
		if !p.Facade && p.Name != "OnClose" && types.Identical(sig, p.Signature) {
			return p.Name
		}
	}
	return ""
}

// speaksOfHooks tells whether a signature has a type of package hook.
func (m *Model) speaksOfHooks(sig *types.Signature) bool {
	for _, tuple := range []*types.Tuple{sig.Params(), sig.Results()} {
		for v := range tuple.Variables() {
			t := v.Type()
			if s, ok := t.(*types.Slice); ok {
				t = s.Elem()
			}
			if m.ofHook(t) {
				return true
			}
		}
	}
	return false
}
