package vet

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/model"
)

// checkCopies reports copies of composites that contain a member as a value: the copy then has a member of its own. A composite of
// pointers may be copied.
func (u *misuseChecker) checkCopies(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, e := range n.Rhs {
				if len(n.Lhs) != len(n.Rhs) || !isBlank(n.Lhs[i]) {
					u.checkCopy(e, "assigned")
				}
			}
		case *ast.ValueSpec:
			for i, e := range n.Values {
				if len(n.Names) != len(n.Values) || n.Names[i].Name != "_" {
					u.checkCopy(e, "assigned")
				}
			}
		case *ast.CallExpr:
			u.checkArguments(n)
		case *ast.ReturnStmt:
			for _, e := range n.Results {
				u.checkCopy(e, "returned")
			}
		case *ast.CompositeLit:
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					e = kv.Value
				}
				u.checkCopy(e, "stored")
			}
		case *ast.SendStmt:
			u.checkCopy(n.Value, "sent")
		case *ast.RangeStmt:
			if n.Value != nil && !isBlank(n.Value) {
				u.checkCopyOf(n.Value, u.typeOf(n.Value), "copied by range")
			}
		case *ast.FuncDecl:
			u.checkParameters(n)
		}
		return true
	})
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

func (u *misuseChecker) checkArguments(call *ast.CallExpr) {
	if tv := u.pass.TypesInfo.Types[call.Fun]; tv.IsBuiltin() {
		if id, ok := ast.Unparen(call.Fun).(*ast.Ident); !ok || id.Name != "append" {
			return // len, new, unsafe.Sizeof and the like copy nothing
		}
	}
	for _, e := range call.Args {
		u.checkCopy(e, "passed")
	}
}

// checkParameters reports receivers and parameters that copy the composite at each call.
func (u *misuseChecker) checkParameters(fn *ast.FuncDecl) {
	for _, list := range []*ast.FieldList{fn.Recv, fn.Type.Params} {
		if list == nil {
			continue
		}
		for _, field := range list.List {
			u.checkCopyOf(field.Type, u.typeOf(field.Type), "taken as a value")
		}
	}
}

// checkCopy reports an expression that copies an existing value; literals and results of calls are new values.
func (u *misuseChecker) checkCopy(e ast.Expr, how string) {
	e = ast.Unparen(e)
	switch e.(type) {
	case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr, *ast.StarExpr:
	default:
		return
	}
	if tv, ok := u.pass.TypesInfo.Types[e]; ok && tv.IsValue() {
		u.checkCopyOf(e, tv.Type, how+" as a value")
	}
}

func (u *misuseChecker) checkCopyOf(at ast.Expr, t types.Type, how string) {
	c := u.composite(t)
	if c == nil {
		return
	}
	if field := inValue(c); field != "" {
		u.add(diag.CopiedComposite, at.Pos(), c.Name, how, field)
	}
}

// inValue returns the name of a stateful member that a copy of the composite duplicates, or "".
func inValue(c *model.Composite) string {
	for _, member := range c.Members {
		if member.Nested != nil && !member.Nilable {
			if field := inValue(member.Nested); field != "" {
				return member.Field + "." + field
			}
			continue
		}
		if st, ok := member.Type.Underlying().(*types.Struct); ok && hasState(st) {
			return member.Field
		}
	}
	return ""
}

func hasState(st *types.Struct) bool {
	for f := range st.Fields() {
		if inner, ok := f.Type().Underlying().(*types.Struct); !ok || hasState(inner) {
			return true
		}
	}
	return false
}

// checkLiterals reports composites that are made without a required member which no code of the package sets. Tests may leave
// members out.
func (u *misuseChecker) checkLiterals(f *ast.File) {
	if u.isTest(f) {
		return
	}
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || len(lit.Elts) == 0 {
			return true
		}
		c := u.composite(u.typeOf(lit))
		given := keys(lit)
		if c == nil || given == nil {
			return true
		}
		for _, member := range c.Members {
			if member.Nilable && !member.Tag.Optional && member.Kind != model.Group && !given[member.Field] && !u.assigns(c, member.Field) {
				u.add(diag.MissingMember, lit.Pos(), c.Name, member.Field)
			}
		}
		return true
	})
}

func (u *misuseChecker) isTest(f *ast.File) bool {
	for _, t := range u.tests {
		if t == f {
			return true
		}
	}
	return false
}

// keys returns the fields that a literal names; nil for a literal without names, which sets all.
func keys(lit *ast.CompositeLit) map[string]bool {
	out := map[string]bool{}
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return nil
		}
		if id, ok := kv.Key.(*ast.Ident); ok {
			out[id.Name] = true
		}
	}
	return out
}

// assigns reports whether code of the package assigns the field of a composite or takes its address.
func (u *misuseChecker) assigns(c *model.Composite, field string) bool {
	found := false
	is := func(e ast.Expr) {
		s, ok := ast.Unparen(e).(*ast.SelectorExpr)
		if ok && s.Sel.Name == field && u.typeOf(s.X) != nil && u.composites[typeName(u.typeOf(s.X))] == c {
			found = true
		}
	}
	for _, f := range u.written() {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, e := range n.Lhs {
					is(e)
				}
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					is(n.X)
				}
			}
			return !found
		})
	}
	return found
}
