package model

import (
	"go/types"
	"reflect"
	"strings"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// maxHeld bounds the depth at which a field is searched for hooks.
const maxHeld = 3

// checkHeld reports a field that contains hooks which are never called: in maps, arrays, slices other than []hook.Hook, structs,
// and functions with the signature of a point.
func (m *Model) checkHeld(c *Composite, out *Member) bool {
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

func (m *Model) field(out *Member, p plan.Problem) {
	m.Add(m.fromPlanner(diag.PlannerField, out.Pos, out.Field, p))
}

// held describes the hook that a value of the type contains; "" for none.
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

// foundIn returns the type if it looks like a hook, else what it contains.
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

// pointOfFunc returns the point whose signature a function has, "" for none. Methods of hook.Hook do not count, nor does OnClose:
// its signature is too common.
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

func (m *Model) usesHookTypes(sig *types.Signature) bool {
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
