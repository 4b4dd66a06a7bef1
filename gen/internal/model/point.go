package model

import (
	"cmp"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/directive"
)

// Point is a method of hook.Hook or a one-method interface of package hook.
type Point struct {
	Name, Kind, Combine string
	Reverse, Bracket    bool
	Closed              bool
	// Timeout is the default timeout; 0 is none.
	Timeout time.Duration
	// Facade: a method of hook.Hook itself.
	Facade bool
	// Pkg is the path of the package that declares it.
	Pkg       string
	Signature *types.Signature
	Pos       token.Pos
}

func (m *Model) readPoints(p *Package) {
	var beside []*Point
	for _, f := range p.Files {
		found, _ := directive.Scan(m.source.FileSet(), f)
		for _, d := range found {
			if d.Point == nil {
				continue
			}
			if pt := m.point(p, d); pt != nil && pt.Facade {
				m.Points = append(m.Points, pt)
			} else if pt != nil {
				beside = append(beside, pt)
			}
		}
	}
	m.checkFacade(p)
	byPlace := func(a, b *Point) int {
		x, y := m.Position(a.Pos), m.Position(b.Pos)
		return cmp.Or(cmp.Compare(x.Filename, y.Filename), cmp.Compare(x.Line, y.Line))
	}
	slices.SortStableFunc(m.Points, byPlace)
	slices.SortStableFunc(beside, byPlace)
	m.Points = append(m.Points, beside...)
}

func (m *Model) point(p *Package, d directive.Found) *Point {
	pt := &Point{
		Kind: d.Point.Kind, Combine: d.Point.Combine, Reverse: d.Point.Reverse, Bracket: d.Point.Bracket,
		Closed: d.Point.FailClosed, Timeout: d.Point.Timeout,
	}
	var name *ast.Ident
	switch n := d.Node.(type) {
	case *ast.TypeSpec:
		name = n.Name
		pt.Signature = onlyMethod(p, n)
	case *ast.Field:
		if len(n.Names) == 1 {
			name, pt.Facade = n.Names[0], true
			if f, ok := p.Info.Defs[name].(*types.Func); ok {
				pt.Signature = f.Signature()
			}
		}
	}
	if name == nil || pt.Signature == nil {
		m.add(diag.PointShape, d.Pos, p.Path)
		return nil
	}
	pt.Name, pt.Pos, pt.Pkg = name.Name, name.Pos(), p.Path
	return pt
}

// onlyMethod returns the signature of an interface's only method if both have the same name, else nil.
func onlyMethod(p *Package, spec *ast.TypeSpec) *types.Signature {
	obj := p.Info.Defs[spec.Name]
	if obj == nil {
		return nil
	}
	i, ok := obj.Type().Underlying().(*types.Interface)
	if !ok || i.NumMethods() != 1 || i.Method(0).Name() != spec.Name.Name {
		return nil
	}
	return i.Method(0).Signature()
}

func (m *Model) checkFacade(p *Package) {
	hook, ok := p.Types.Scope().Lookup("Hook").(*types.TypeName)
	if !ok {
		return
	}
	i, ok := hook.Type().Underlying().(*types.Interface)
	if !ok {
		return
	}
	for f := range i.Methods() {
		if !slices.ContainsFunc(m.Points, func(pt *Point) bool { return pt.Name == f.Name() }) {
			m.addMethod(diag.MissingPoint, f.Pos(), "Hook", f.Name())
		}
	}
}

// Place returns the name of the type of the point's place (Turn, ToolCall); "" for none. It is the first parameter after the context,
// unless that is an interface.
func (p *Point) Place() string {
	params := p.Signature.Params()
	for i := range min(params.Len(), 2) {
		t := params.At(i).Type()
		if isType(t, "context", "Context") || types.IsInterface(t) {
			continue
		}
		if named := namedOf(t); named != nil && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == p.Pkg {
			return named.Obj().Name()
		}
		return ""
	}
	return ""
}

// Planned returns the point for the planner.
func (p *Point) Planned() plan.Point {
	return plan.Point{Name: p.Name, Kind: p.Kind, Combine: p.Combine, Reverse: p.Reverse, Bracket: p.Bracket, Closed: p.Closed, Timeout: p.Timeout, Place: p.Place()}
}

func (m *Model) planned() []plan.Point {
	out := make([]plan.Point, len(m.Points))
	for i, p := range m.Points {
		out[i] = p.Planned()
	}
	return out
}

func (m *Model) reserved() []string {
	c, ok := m.hookPkg.Scope().Lookup("ReservedTools").(*types.Const)
	if !ok || c.Val().Kind() != constant.String {
		return nil
	}
	return strings.Fields(constant.StringVal(c.Val()))
}

func (m *Model) Point(name string) *Point {
	i := slices.IndexFunc(m.Points, func(p *Point) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return m.Points[i]
}

// HookPackage returns package hook.
func (m *Model) HookPackage() *types.Package { return m.hookPkg }

// PointNames returns the names of all points.
func (m *Model) PointNames() []string {
	var out []string
	for _, p := range m.Points {
		out = append(out, p.Name)
	}
	return out
}
