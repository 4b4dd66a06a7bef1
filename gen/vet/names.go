package vet

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/load"
	"github.com/grapnel-go/grapnel/gen/internal/model"
)

// checkDispatchCalls reports calls of Dispatch with the literal name of a tool that the hook lacks, if all its tools are known.
func (u *misuseChecker) checkDispatchCalls(f *ast.File) {
	for _, d := range f.Decls {
		values := map[types.Object]ast.Expr{}
		ast.Inspect(d, func(n ast.Node) bool {
			u.noteDefinition(n, values)
			return true
		})
		inspectCalls(d, func(call *ast.CallExpr, sel *ast.SelectorExpr) {
			if sel.Sel.Name != "Dispatch" || len(call.Args) != 2 || u.typeOf(sel.X) == nil {
				return
			}
			tools, ok := u.tools(u.typeOf(sel.X))
			name := u.toolOf(call.Args[1], values)
			if !ok || name == nil || slices.Contains(tools, constant.StringVal(name.value)) {
				return
			}
			want := constant.StringVal(name.value)
			u.add(diag.UnknownTool, name.at.Pos(), types.TypeString(u.typeOf(sel.X), types.RelativeTo(u.pass.Pkg)),
				want, diag.DidYouMean(want, tools, `"`))
		})
	}
}

// noteDefinition records the expression that defines a variable; a variable that is assigned again is unknown.
func (u *misuseChecker) noteDefinition(n ast.Node, values map[types.Object]ast.Expr) {
	assign, ok := n.(*ast.AssignStmt)
	if !ok || len(assign.Lhs) != len(assign.Rhs) {
		return
	}
	for i, e := range assign.Lhs {
		id, ok := e.(*ast.Ident)
		if !ok {
			continue
		}
		obj := u.pass.TypesInfo.ObjectOf(id)
		if _, again := values[obj]; again || u.pass.TypesInfo.Defs[id] == nil {
			values[obj] = nil
			continue
		}
		values[obj] = assign.Rhs[i]
	}
}

// literal is a constant string and its place.
type literal struct {
	value constant.Value
	at    ast.Expr
}

// toolOf returns the literal name of the called tool: in hook.NewToolCall, call.As, or a variable that was defined as one of these;
// else nil.
func (u *misuseChecker) toolOf(e ast.Expr, values map[types.Object]ast.Expr) *literal {
	e = ast.Unparen(e)
	if id, ok := e.(*ast.Ident); ok {
		defined := values[u.pass.TypesInfo.Uses[id]]
		if defined == nil {
			return nil
		}
		e = ast.Unparen(defined)
	}
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return nil
	}
	fn := u.callee(call)
	switch {
	case fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != load.HookPath:
		return nil
	case fn.Name() == "As":
		return u.literal(call.Args[0])
	case fn.Name() == "NewToolCall":
		return u.literal(fieldOf(fieldOf(call.Args[0], "Tool"), "Name"))
	}
	return nil
}

func (u *misuseChecker) literal(e ast.Expr) *literal {
	if e == nil {
		return nil
	}
	tv := u.pass.TypesInfo.Types[e]
	if tv.Value == nil || tv.Value.Kind() != constant.String {
		return nil
	}
	return &literal{tv.Value, e}
}

func fieldOf(e ast.Expr, name string) ast.Expr {
	lit, ok := e.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	for _, elem := range lit.Elts {
		if kv, ok := elem.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok && id.Name == name {
				return kv.Value
			}
		}
	}
	return nil
}

// tools returns the tools of a composite or subsystem; ok is false if it may have others.
func (u *misuseChecker) tools(t types.Type) (names []string, ok bool) {
	if c := u.composites[typeName(t)]; c != nil {
		for _, member := range c.Members {
			if member.Dynamic {
				return nil, false
			}
			for _, tool := range member.Tools {
				names = append(names, member.Tag.Prefix+tool.Local())
			}
		}
		return names, !c.Own["Dispatch"]
	}
	for _, s := range u.m.Subsystems() {
		if typeName(s.Named) != typeName(t) {
			continue
		}
		names = slices.Clone(s.Names)
		for _, tool := range s.Tools {
			names = append(names, tool.Name)
		}
		return names, len(names) > 0 && !s.Options.Dynamic
	}
	return nil, false
}

// checkSchemas reports a hand-written Schema whose tools no directive names: a composite then asks the member for every tool that
// no other member has.
func (u *misuseChecker) checkSchemas() {
	point := u.m.Point("Schema")
	for _, f := range u.p.Files {
		for _, d := range f.Decls {
			decl, ok := d.(*ast.FuncDecl)
			if !ok || decl.Recv == nil || decl.Name.Name != "Schema" || point == nil {
				continue
			}
			fn, ok := u.p.Info.Defs[decl.Name].(*types.Func)
			if !ok || !types.Identical(fn.Signature(), point.Signature) {
				continue
			}
			name := typeName(fn.Signature().Recv().Type())
			if name == "" || u.composites[name] != nil || u.declaresTools(name) {
				continue
			}
			u.add(diag.UnlistedNames, decl.Name.Pos(), types.TypeString(fn.Signature().Recv().Type(), (*types.Package).Name))
		}
	}
}

// declaresTools reports whether directives name the tools of a type.
func (u *misuseChecker) declaresTools(name string) bool {
	return slices.ContainsFunc(u.p.Subsystems, func(s *model.Subsystem) bool {
		return typeName(s.Named) == name && (s.Options.Dynamic || len(s.Names) > 0 || len(s.Tools) > 0)
	})
}
