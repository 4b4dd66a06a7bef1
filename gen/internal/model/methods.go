package model

import (
	"go/token"
	"go/types"
	"slices"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/schema"
)

// analysis says which points a type implements.
type analysis struct {
	// hook: the type has all methods of hook.Hook.
	hook bool
	// points are the implemented ones.
	points map[string]bool
	// missing are the methods of hook.Hook that the type lacks.
	missing []string
	// embedsNop: some method comes from hook.Nop.
	embedsNop bool
	// hasPoint: a method has the name and the signature of a point, so the type is meant to be a hook. OnClose does not count: its
	// signature is too common.
	hasPoint bool
	// usesHookTypes: a method with the name of a point has a type of package hook in its signature.
	usesHookTypes bool
	// wrong are the methods that are almost points.
	wrong []diag.Problem
}

// analyze finds the points of a type and reports methods that are almost points.
func (m *Model) analyze(t types.Type) analysis {
	a := m.inspect(t)
	if a.embedsNop || a.hasPoint {
		m.invalidEmbedded(t)
	}
	if a.embedsNop || a.hook && a.hasPoint || !a.hook && a.usesHookTypes {
		for _, w := range a.wrong {
			m.addOnce(w)
		}
	}
	if a.embedsNop || a.hasPoint && a.hook {
		m.nearMisses(t)
		m.checkNopPointer(t)
	}
	return a
}

func (m *Model) checkNopPointer(t types.Type) {
	owner, v := m.nopByPointer(t)
	if v == nil {
		return
	}
	typ, cause := m.short(declaredType(owner)), diag.PointerToNop
	if named := namedOf(owner); named == nil || m.sourceOf(named) == nil {
		cause = diag.ForeignPointerToNop
	}
	out := m.fromPlanner(cause, v.Pos(), typ, plan.NilNop(typ))
	out.Edits = m.fixPointer(v)
	m.addOnce(out)
}

// nopByPointer returns the embedded field *hook.Nop and the type that declares it; nil if there is none.
func (m *Model) nopByPointer(t types.Type) (types.Type, *types.Var) {
	st, ok := pointee(t).Underlying().(*types.Struct)
	if !ok {
		return nil, nil
	}
	for f := range st.Fields() {
		if !f.Embedded() {
			continue
		}
		if p, ok := types.Unalias(f.Type()).(*types.Pointer); ok {
			if isType(p.Elem(), m.hookPkg.Path(), "Nop") {
				return pointee(t), f
			}
			continue
		}
		if owner, inner := m.nopByPointer(f.Type()); inner != nil {
			return owner, inner
		}
	}
	return nil, nil
}

// inspect is analyze without reports.
func (m *Model) inspect(t types.Type) analysis {
	a := analysis{points: map[string]bool{}}
	for _, p := range m.Points {
		found := m.find(t, p)
		a.embedsNop = a.embedsNop || found.nop
		switch {
		case found.problem != nil:
			a.wrong = append(a.wrong, *found.problem)
			a.usesHookTypes = a.usesHookTypes || found.usesHookTypes
		case !found.has:
			if p.Facade {
				a.missing = append(a.missing, p.Name)
			}
		case !found.nop:
			a.points[p.Name] = true
			a.hasPoint = a.hasPoint || p.Name != "OnClose"
		}
	}
	a.hook = len(a.missing) == 0
	return a
}

// finding is what a type has for one point.
type finding struct {
	has, nop, usesHookTypes bool
	problem                 *diag.Problem
}

func (m *Model) find(t types.Type, p *Point) finding {
	s := m.lookup(t, p.Name)
	switch {
	case s.ambiguous:
		return finding{has: true, problem: m.ambiguous(t, p, s.index)}
	case s.generated:
		return finding{has: true}
	case s.v != nil:
		hidden := diag.New(diag.HiddenPoint, m.Position(s.v.Pos()), m.short(declaredType(t))).Of(p.Name)
		return finding{has: true, problem: &hidden}
	case s.fn != nil:
		return m.method(t, p, s.fn)
	}
	return finding{}
}

func (m *Model) method(t types.Type, p *Point, f *types.Func) finding {
	if recv := f.Signature().Recv(); recv != nil && isType(recv.Type(), m.hookPkg.Path(), "Nop") {
		return finding{has: true, nop: true}
	}
	if schema.Invalid(f.Signature()) != nil {
		m.invalid(diag.InvalidSignature, f.Pos(), m.short(declaredType(t)), f.Name())
		return finding{has: true}
	}
	if types.Identical(f.Signature(), p.Signature) {
		return finding{has: true}
	}
	recv := f.Origin().Signature().Recv().Type()
	wrong := m.fromPlanner(diag.WrongSignature, f.Pos(), m.typeName(recv), plan.Misfit(m.short(recv), p.Name, p.Facade)).Of(p.Name)
	wrong.Notes = diag.HaveWant(m.relative(f.Signature(), f.Pkg()), m.relative(p.Signature, nil))
	wrong.Edits = m.fixSignature(f, p.Signature)
	return finding{has: true, usesHookTypes: m.usesHookTypes(f.Signature()), problem: &wrong}
}

// ambiguous returns the problem of a point that two embedded fields promote.
func (m *Model) ambiguous(t types.Type, p *Point, index []int) *diag.Problem {
	pos := token.NoPos
	if named := namedOf(t); named != nil {
		pos = named.Obj().Pos()
		if st, ok := named.Underlying().(*types.Struct); ok && len(index) > 0 && index[0] < st.NumFields() {
			pos = st.Field(index[0]).Pos()
		}
	}
	out := diag.New(diag.AmbiguousPoint, m.Position(pos), m.short(declaredType(t))).Of(p.Name)
	return &out
}

// pointee returns the type that a pointer points to, or the type itself.
func pointee(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// declaredType returns the type as it is declared: without pointer and type arguments.
func declaredType(t types.Type) types.Type {
	if named := namedOf(t); named != nil {
		return named.Origin()
	}
	return pointee(t)
}

func (m *Model) short(t types.Type) string { return types.TypeString(t, (*types.Package).Name) }

// typeName returns the name of the type that t is or points to, without type parameters: notes.Notes.
func (m *Model) typeName(t types.Type) string {
	named := namedOf(t)
	if named == nil {
		return m.short(t)
	}
	if named.Obj().Pkg() == nil {
		return named.Obj().Name()
	}
	return named.Obj().Pkg().Name() + "." + named.Obj().Name()
}

// addOnce reports a problem of a type once, however many fields have the type.
func (m *Model) addOnce(p diag.Problem) {
	if !slices.ContainsFunc(m.problems, p.Same) {
		m.Add(p)
	}
}

func (m *Model) nearMisses(t types.Type) {
	set := types.NewMethodSet(addressable(t))
	for i := range set.Len() {
		f, ok := set.At(i).Obj().(*types.Func)
		if !ok || !f.Exported() || m.Point(f.Name()) != nil || f.Pkg() == m.hookPkg {
			continue
		}
		if p := m.nearest(f); p != nil {
			recv := f.Origin().Signature().Recv().Type()
			near := m.fromPlanner(diag.LooksLikePoint, f.Pos(), m.typeName(recv), plan.Near(m.short(recv), f.Name(), p.Name)).Of(f.Name())
			near.Edits = m.fixName(f, p)
			m.addOnce(near)
		}
	}
}

// nearest returns the point that the method was probably meant to be, or nil. Where the point begins with a context, the method has
// to do so too.
func (m *Model) nearest(f *types.Func) *Point {
	var names []string
	for _, p := range m.Points {
		if !withContext(p.Signature) || withContext(f.Signature()) {
			names = append(names, p.Name)
		}
	}
	return m.Point(plan.Nearest(f.Name(), names))
}

func withContext(sig *types.Signature) bool {
	return sig.Params().Len() > 0 && isType(sig.Params().At(0).Type(), "context", "Context")
}

// addressable returns the type whose method set a field of type t has.
func addressable(t types.Type) types.Type {
	t = types.Unalias(t)
	if _, ok := t.(*types.Pointer); ok || types.IsInterface(t) {
		return t
	}
	return types.NewPointer(t)
}

// hookLike reports whether values of the type are meant to be hooks.
func (m *Model) hookLike(t types.Type) bool {
	hook := m.hookPkg.Scope().Lookup("Hook")
	if hook == nil {
		return false
	}
	if named := namedOf(t); m.compositeOf(t) != nil || m.toolsOf(named) != nil {
		return true
	}
	if i, ok := hook.Type().Underlying().(*types.Interface); ok && types.Implements(addressable(t), i) {
		return true
	}
	a := m.inspect(t)
	return a.hasPoint || a.embedsNop || a.usesHookTypes || m.pointOfFunc(t) != ""
}

// checkNoHook reports a field whose type lacks methods of hook.Hook, if it is meant to be a hook or contains hooks.
func (m *Model) checkNoHook(c *Composite, out *Member, a analysis, tagged bool) bool {
	likely := a.embedsNop || a.hasPoint || a.usesHookTypes
	if !likely && m.checkHeld(c, out) || !tagged && !likely {
		return false
	}
	missing := a.missing
	if !likely {
		missing = nil
	}
	m.field(out, plan.NoHook(m.relative(out.Type, c.Pkg.Types), missing, types.IsInterface(out.Type)))
	return false
}

func isType(t types.Type, pkg, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == pkg && n.Obj().Name() == name
}

// relative writes a type for people: types of other packages with the name of their package.
func (m *Model) relative(t types.Type, from *types.Package) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == from {
			return ""
		}
		return p.Name()
	})
}
