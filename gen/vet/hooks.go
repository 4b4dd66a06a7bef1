package vet

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/load"
	"github.com/grapnel-go/grapnel/gen/internal/model"
)

// hookMethod is a method that the runtime calls: a point or a tool.
type hookMethod struct {
	decl *ast.FuncDecl
	// point is nil for a tool.
	point *model.Point
	// of is the receiver's type as typeName writes it.
	of string
}

func (u *misuseChecker) checkHooks() {
	tools := map[*ast.FuncDecl]*model.Tool{}
	for _, s := range u.p.Subsystems {
		for _, t := range s.Tools {
			tools[t.Decl] = t
		}
	}
	for _, f := range u.pkg.Files {
		for _, d := range f.Decls {
			decl, ok := d.(*ast.FuncDecl)
			if !ok || decl.Recv == nil || decl.Body == nil {
				continue
			}
			fn, ok := u.pass.TypesInfo.Defs[decl.Name].(*types.Func)
			if !ok {
				continue
			}
			h := hookMethod{decl: decl, point: u.pointOf(fn), of: typeName(fn.Signature().Recv().Type())}
			tool := tools[decl]
			if h.point == nil && tool == nil {
				continue
			}
			u.checkKept(h)
			u.checkReentry(h)
			if h.point != nil && h.point.Name == "OnEvent" {
				u.checkWaits(h)
			}
		}
	}
}

func (u *misuseChecker) pointOf(fn *types.Func) *model.Point {
	p := u.m.Point(fn.Name())
	if p == nil || !types.Identical(fn.Signature(), p.Signature) {
		return nil
	}
	return p
}

// checkKept reports a hook that keeps its *ToolCall, *Turn or *Env after it returns: in a field, in a package variable, or in a
// channel.
func (u *misuseChecker) checkKept(h hookMethod) {
	borrowed := u.borrowedParameters(h.decl)
	if len(borrowed) == 0 {
		return
	}
	outlives := u.outlivesCall(h.decl)
	ast.Inspect(h.decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if len(n.Lhs) != len(n.Rhs) {
				return true
			}
			for i, e := range n.Rhs {
				if obj := u.borrowedIn(e, borrowed); obj != nil && outlives(n.Lhs[i]) {
					u.reportKept(diag.KeptStored, e.Pos(), h, obj)
				}
			}
		case *ast.SendStmt:
			if obj := u.borrowedIn(n.Value, borrowed); obj != nil && outlives(n.Chan) {
				u.reportKept(diag.KeptSent, n.Value.Pos(), h, obj)
			}
		}
		return true
	})
}

func (u *misuseChecker) reportKept(cause diag.Cause, pos token.Pos, h hookMethod, obj *types.Var) {
	u.addMethod(cause, pos, types.TypeString(obj.Type(), (*types.Package).Name), h.decl.Name.Name)
}

// borrowedParameters returns the parameters that a method must not keep.
func (u *misuseChecker) borrowedParameters(decl *ast.FuncDecl) map[types.Object]bool {
	out := map[types.Object]bool{}
	for _, field := range decl.Type.Params.List {
		for _, name := range field.Names {
			switch typeName(u.typeOf(field.Type)) {
			case load.HookPath + ".ToolCall", load.HookPath + ".Turn", load.HookPath + ".Env":
				if _, ok := u.typeOf(field.Type).(*types.Pointer); ok {
					out[u.pass.TypesInfo.Defs[name]] = true
				}
			}
		}
	}
	return out
}

// borrowedIn returns the borrowed parameter that an expression is or contains as an element.
func (u *misuseChecker) borrowedIn(e ast.Expr, borrowed map[types.Object]bool) *types.Var {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if obj := u.pass.TypesInfo.Uses[e]; borrowed[obj] {
			return obj.(*types.Var)
		}
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return u.borrowedIn(e.X, borrowed)
		}
	case *ast.CompositeLit:
		for _, elem := range e.Elts {
			if kv, ok := elem.(*ast.KeyValueExpr); ok {
				elem = kv.Value
			}
			if obj := u.borrowedIn(elem, borrowed); obj != nil {
				return obj
			}
		}
	case *ast.CallExpr:
		if id, ok := ast.Unparen(e.Fun).(*ast.Ident); ok && id.Name == "append" && u.pass.TypesInfo.Types[e.Fun].IsBuiltin() {
			for _, arg := range e.Args[1:] {
				if obj := u.borrowedIn(arg, borrowed); obj != nil {
					return obj
				}
			}
		}
	}
	return nil
}

// outlivesCall returns a function that reports whether an expression is, or lies in, a field of the receiver or a package variable.
func (u *misuseChecker) outlivesCall(decl *ast.FuncDecl) func(e ast.Expr) bool {
	var recv types.Object
	if names := decl.Recv.List[0].Names; len(names) == 1 {
		recv = u.pass.TypesInfo.Defs[names[0]]
	}
	return func(e ast.Expr) bool {
		inside := false
		for {
			switch x := ast.Unparen(e).(type) {
			case *ast.SelectorExpr:
				if v, ok := u.pass.TypesInfo.Uses[x.Sel].(*types.Var); ok && isGlobal(v) {
					return true
				}
				e, inside = x.X, true
			case *ast.IndexExpr:
				e, inside = x.X, true
			case *ast.StarExpr:
				e, inside = x.X, true
			case *ast.Ident:
				obj, ok := u.pass.TypesInfo.ObjectOf(x).(*types.Var)
				return ok && (isGlobal(obj) || inside && recv != nil && obj == recv)
			default:
				return false
			}
		}
	}
}

func isGlobal(v *types.Var) bool { return v.Pkg() != nil && v.Parent() == v.Pkg().Scope() }

// checkReentry reports a hook that calls a point of a composite of which it is a member: the composite calls the hook again.
func (u *misuseChecker) checkReentry(h hookMethod) {
	inspectCalls(h.decl.Body, func(call *ast.CallExpr, sel *ast.SelectorExpr) {
		t := u.typeOf(sel.X)
		if t == nil || u.m.Point(sel.Sel.Name) == nil {
			return
		}
		c := u.composites[typeName(t)]
		if c == nil || typeName(c.Named) == h.of {
			return
		}
		for _, member := range c.Members {
			if typeName(member.Type) == h.of && member.Has(sel.Sel.Name) {
				u.addMethod(diag.ReenteredComposite, call.Pos(), c.Name, h.decl.Name.Name, sel.Sel.Name, member.Field)
				return
			}
		}
	})
}

func inspectCalls(body ast.Node, yield func(*ast.CallExpr, *ast.SelectorExpr)) {
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
				yield(call, sel)
			}
		}
		return true
	})
}

// checkWaits reports an OnEvent that sleeps or blocks in a send: it holds up the conversation and all other observers.
func (u *misuseChecker) checkWaits(h hookMethod) {
	ast.Inspect(h.decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.GoStmt:
			return false
		case *ast.SelectStmt:
			u.checkSelect(h, n)
			return false
		case *ast.SendStmt:
			u.reportSend(h, n)
		case *ast.CallExpr:
			if fn := u.callee(n); fn != nil && fn.FullName() == "time.Sleep" {
				u.addMethod(diag.SleepingObserver, n.Pos(), h.of, "OnEvent")
			}
		}
		return true
	})
}

func (u *misuseChecker) reportSend(h hookMethod, n *ast.SendStmt) {
	u.addMethod(diag.BlockingSend, n.Pos(), h.of, "OnEvent", types.ExprString(n.Chan))
}

// checkSelect reports the sends of a select without an alternative.
func (u *misuseChecker) checkSelect(h hookMethod, s *ast.SelectStmt) {
	out := false
	for _, c := range s.Body.List {
		clause := c.(*ast.CommClause)
		if _, send := clause.Comm.(*ast.SendStmt); clause.Comm == nil || !send {
			out = true
		}
	}
	for _, c := range s.Body.List {
		if send, ok := c.(*ast.CommClause).Comm.(*ast.SendStmt); ok && !out {
			u.reportSend(h, send)
		}
	}
}

func (u *misuseChecker) callee(call *ast.CallExpr) *types.Func {
	var id *ast.Ident
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	default:
		return nil
	}
	fn, _ := u.pass.TypesInfo.Uses[id].(*types.Func)
	return fn
}
