package vet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/model"
)

// misuseChecker looks for code that compiles but does not work. It checks the package with generated code and tests. The model's
// types come from a second check of the package, so types are compared by name.
type misuseChecker struct {
	*source
	m          *model.Model
	p          *model.Package
	composites map[string]*model.Composite
}

func misuse(pass *analysis.Pass, src *source, m *model.Model, p *model.Package) {
	for _, f := range src.tests {
		m.Ignores(f)
	}
	u := &misuseChecker{source: src, m: m, p: p, composites: map[string]*model.Composite{}}
	for _, c := range m.Composites() {
		u.composites[typeName(c.Named)] = c
	}
	u.checkGenerated()
	u.checkSchemas()
	for _, f := range src.written() {
		u.checkCopies(f)
		u.checkLiterals(f)
		u.checkDispatchCalls(f)
	}
	u.checkHooks()
}

func (s *source) written() []*ast.File {
	return append(s.pkg.Files[:len(s.pkg.Files):len(s.pkg.Files)], s.tests...)
}

func (u *misuseChecker) add(cause diag.Cause, pos token.Pos, subject string, facts ...any) {
	u.addMethod(cause, pos, subject, "", facts...)
}

func (u *misuseChecker) addMethod(cause diag.Cause, pos token.Pos, subject, method string, facts ...any) {
	u.m.Add(diag.New(cause, u.Position(pos), subject, facts...).Of(method))
}

// typeName returns the path and name of the named type that t is or points to, the same in both checks of the package; "" for a
// type without a name.
func typeName(t types.Type) string {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return ""
	}
	return named.Obj().Pkg().Path() + "." + named.Obj().Name()
}

// composite returns the composite whose values have the type; nil for a pointer.
func (u *misuseChecker) composite(t types.Type) *model.Composite {
	if t == nil {
		return nil
	}
	if _, ok := types.Unalias(t).(*types.Pointer); ok {
		return nil
	}
	return u.composites[typeName(t)]
}

func (u *misuseChecker) typeOf(e ast.Expr) types.Type { return u.pass.TypesInfo.TypeOf(e) }
