package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/gen/diag"
	"github.com/grapnel-go/grapnel/gen/load"
)

// inline reports what a tool that says inline waits for: it runs on the goroutine of its turn, which cannot leave it behind. Only
// the method itself is looked into, without what it calls. n is its body, or a statement in it.
func (u *misuser) inline(tool *ast.FuncDecl, n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			return false
		case *ast.SelectStmt:
			u.selects(tool, n)
			return false
		case *ast.SendStmt:
			u.lingers(tool, n, "sends on a channel")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				u.lingers(tool, n, "receives from a channel")
			}
		case *ast.RangeStmt:
			if t := u.typeOf(n.X); t != nil {
				if _, ok := t.Underlying().(*types.Chan); ok {
					u.lingers(tool, n, "receives from a channel")
				}
			}
		case *ast.CallExpr:
			if fn := u.callee(n); fn != nil && waiting(fn) {
				u.lingers(tool, n, "calls "+types.ExprString(n.Fun))
			}
		}
		return true
	})
}

// selects looks into a select: what it sends or receives waits only if there is no default.
func (u *misuser) selects(tool *ast.FuncDecl, s *ast.SelectStmt) {
	out := false
	for _, clause := range s.Body.List {
		clause := clause.(*ast.CommClause)
		out = out || clause.Comm == nil
		for _, stmt := range clause.Body {
			u.inline(tool, stmt)
		}
	}
	if !out {
		u.lingers(tool, s, "selects without a default")
	}
}

func (u *misuser) lingers(tool *ast.FuncDecl, n ast.Node, what string) {
	u.add("HG089", diag.Warning, n.Pos(), "drop inline from its //hook:tool",
		"%s is inline and %s: its turn waits with it, and cannot be cancelled meanwhile", tool.Name.Name, what)
}

// waiting tells whether a function is one that waits: for a time, for others, for a file, a process or the network. Of the
// packages that reach out, these are the functions that can fail, but for those that only read their arguments.
func waiting(fn *types.Func) bool {
	switch fn.FullName() {
	case "time.Sleep", "(*sync.WaitGroup).Wait", "(*sync.Cond).Wait",
		"(" + load.HookPath + ".Host).Ask", "(" + load.HookPath + ".Host).RunAgent", "(" + load.HookPath + ".Host).CallModel":
		return true
	}
	if fn.Pkg() == nil || !slices.Contains([]string{"database/sql", "net", "net/http", "os", "os/exec"}, fn.Pkg().Path()) {
		return false
	}
	if strings.HasPrefix(fn.Name(), "Parse") || strings.HasPrefix(fn.Name(), "New") {
		return false
	}
	results := fn.Signature().Results()
	return results.Len() > 0 && types.Identical(results.At(results.Len()-1).Type(), types.Universe.Lookup("error").Type())
}
