package model

import (
	"go/token"
	"go/types"
	"slices"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/schema"
)

// analysis is which points a type overrides.
type analysis struct {
	// hook: the type has all methods of hook.Hook.
	hook bool
	// points are the overridden ones.
	points map[string]bool
	// missing are the methods of hook.Hook that it does not have.
	missing []string
	// embeds: some method comes from hook.Nop.
	embeds bool
	// fits: some point is there with its signature, so somebody means the type to be a hook. OnClose alone fits by chance.
	fits bool
	// speaks: some method has the name of a point and speaks of hooks.
	speaks bool
	// wrong is what is almost a point.
	wrong []diag.Problem
}

// analyze looks for every point in the method set of a field's type and reports what is almost one.
func (m *Model) analyze(t types.Type) analysis {
	a := m.inspect(t)
	if a.embeds || a.fits {
		m.invalidEmbedded(t)
	}
	if a.embeds || a.hook && a.fits || !a.hook && a.speaks {
		for _, w := range a.wrong {
			m.once(w)
		}
	}
	if a.embeds || a.fits && a.hook {
		m.nearMisses(t)
		m.nilNop(t)
	}
	return a
}

// nilNop reports a type that gets hook.Nop through a pointer.
func (m *Model) nilNop(t types.Type) {
	owner, v := m.nopByPointer(t)
	if v == nil {
		return
	}
	typ, cause := m.short(declaredType(owner)), diag.PointerToNop
	if named := namedOf(owner); named == nil || m.sourceOf(named) == nil {
		cause = diag.ForeignPointerToNop
	}
	out := m.quote(cause, v.Pos(), typ, plan.NilNop(typ))
	out.Edits = m.dropStar(v)
	m.once(out)
}

// nopByPointer is the embedded field through which a struct has *hook.Nop, and the type that declares it; nil if there is none.
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

// inspect is analyze without a report.
func (m *Model) inspect(t types.Type) analysis {
	a := analysis{points: map[string]bool{}}
	for _, p := range m.Points {
		found := m.find(t, p)
		a.embeds = a.embeds || found.nop
		switch {
		case found.problem != nil:
			a.wrong = append(a.wrong, *found.problem)
			a.speaks = a.speaks || found.speaks
		case !found.has:
			if p.Facade {
				a.missing = append(a.missing, p.Name)
			}
		case !found.nop:
			a.points[p.Name] = true
			a.fits = a.fits || p.Name != "OnClose"
		}
	}
	a.hook = len(a.missing) == 0
	return a
}

// finding is one point in one type.
type finding struct {
	has, nop, speaks bool
	problem          *diag.Problem
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
	wrong := m.quote(diag.WrongSignature, f.Pos(), m.typeName(recv), plan.Misfit(m.short(recv), p.Name, p.Facade)).Of(p.Name)
	wrong.Notes = diag.HaveWant(m.relative(f.Signature(), f.Pkg()), m.relative(p.Signature, nil))
	wrong.Edits = m.resign(f, p.Signature)
	return finding{has: true, speaks: m.speaksOfHooks(f.Signature()), problem: &wrong}
}

// ambiguous reports a point that two embedded fields promote.
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

// pointee is what a pointer points to, or the type itself: a problem of a type is the same for both.
func pointee(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// declaredType is the type as it is declared: what is wrong with it is the same for all its instances.
func declaredType(t types.Type) types.Type {
	if named := namedOf(t); named != nil {
		return named.Origin()
	}
	return pointee(t)
}

func (m *Model) short(t types.Type) string { return types.TypeString(t, (*types.Package).Name) }

// typeName is the name of the type that t is or points to, without type parameters: notes.Notes.
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

// once notes a problem of a type, however many fields have that type.
func (m *Model) once(p diag.Problem) {
	if !slices.ContainsFunc(m.problems, p.Same) {
		m.Add(p)
	}
}

// nearMisses reports exported methods whose names look like a point's.
func (m *Model) nearMisses(t types.Type) {
	set := types.NewMethodSet(addressable(t))
	for i := range set.Len() {
		f, ok := set.At(i).Obj().(*types.Func)
		if !ok || !f.Exported() || m.Point(f.Name()) != nil || f.Pkg() == m.hookPkg {
			continue
		}
		if p := m.nearest(f); p != nil {
			recv := f.Origin().Signature().Recv().Type()
			near := m.quote(diag.LooksLikePoint, f.Pos(), m.typeName(recv), plan.Near(m.short(recv), f.Name(), p.Name)).Of(f.Name())
			near.Edits = m.rename(f, p)
			m.once(near)
		}
	}
}

// nearest returns the point that somebody may have meant, or nil: a name that differs in case or little more, and the context that
// most points begin with.
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

// hookLike tells whether values of the type are meant to be hooks.
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
	return a.fits || a.embeds || a.speaks || m.pointOfFunc(t) != ""
}

// notHook handles a field whose type lacks methods of hook.Hook: no matter, unless somebody meant it to be one or it has hooks
// inside.
func (m *Model) notHook(c *Composite, out *Member, a analysis, tagged bool) bool {
	likely := a.embeds || a.fits || a.speaks
	if !likely && m.holds(c, out) || !tagged && !likely {
		return false
	}
	missing := a.missing
	if !likely {
		missing = nil
	}
	m.field(out, plan.NoHook(m.relative(out.Type, c.Pkg.Types), missing, types.IsInterface(out.Type)))
	return false
}

// isType tells whether t is the named type of a package.
func isType(t types.Type, pkg, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == pkg && n.Obj().Name() == name
}

// relative writes a type for people: names of other packages with the package's name.
func (m *Model) relative(t types.Type, from *types.Package) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == from {
			return ""
		}
		return p.Name()
	})
}
