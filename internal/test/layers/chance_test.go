package layers

import (
	"go/ast"
	"slices"
	"strings"
)

// chances counts, by directory, where tests sleep, read how long something took, or draw from a source whose seed is not written
// down. Tests that begin with needs.Proof and benchmarks block no merge; in a bubble of synctest the clock is not that of the wall.
// What only syntax shows is found: a seed that comes from elsewhere is not.
func chances(files []file) map[string]int {
	out := map[string]int{}
	for _, f := range files {
		if !f.test || onlyProofs(f) {
			continue
		}
		names := f.importNames()
		for _, fn := range f.functions() {
			if n := draws(fn, names); n > 0 && !proof(fn) && !strings.HasPrefix(fn.Name.Name, "Benchmark") {
				out[f.pkg] += n
			}
		}
	}
	return out
}

// onlyProofs reports whether the file has tests and all of them are for make prove.
func onlyProofs(f file) bool {
	tests := slices.DeleteFunc(f.functions(), func(fn *ast.FuncDecl) bool {
		return !strings.HasPrefix(fn.Name.Name, "Test") && !strings.HasPrefix(fn.Name.Name, "Fuzz")
	})
	return len(tests) > 0 && !slices.ContainsFunc(tests, func(fn *ast.FuncDecl) bool { return !proof(fn) })
}

// proof reports whether the function begins with needs.Proof.
func proof(fn *ast.FuncDecl) bool {
	if fn.Body == nil || len(fn.Body.List) == 0 {
		return false
	}
	x, ok := fn.Body.List[0].(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := x.X.(*ast.CallExpr)
	return ok && callee(call) == "needs.Proof"
}

func draws(fn *ast.FuncDecl, names map[string]string) (n int) {
	ast.Inspect(fn, func(x ast.Node) bool {
		call, ok := x.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := callee(call)
		pkg, what, _ := strings.Cut(name, ".")
		switch {
		case name == "synctest.Test":
			return false
		case name == "time.Sleep", name == "time.Since":
			n++
		case strings.HasPrefix(names[pkg], "math/rand") && !strings.HasPrefix(what, "New"):
			n++
		case what == "Sub" || strings.HasPrefix(what, "Unix"): // of time.Now()
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
				of, ok := sel.X.(*ast.CallExpr)
				if ok && callee(of) == "time.Now" {
					n++
				}
			}
		}
		return true
	})
	return n
}

// callee is the name of what is called, as qualified has it.
func callee(call *ast.CallExpr) string {
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
		return qualified(sel)
	}
	return ""
}
