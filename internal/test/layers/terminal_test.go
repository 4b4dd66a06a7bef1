package layers

import (
	"go/ast"
	"slices"
	"strings"
)

// shows are the packages that write to a terminal or to what stands in its place.
var shows = []string{"cmd/grapnel", "internal/daemon", "internal/demo", "internal/explain", "internal/term", "internal/term/chat", "internal/term/console", "internal/term/remote"}

// findRawWrites finds what could write past package screen: in the packages that
// show something every write, elsewhere the standard streams.
func findRawWrites(f file) []finding {
	if strings.HasPrefix(f.pkg, "cmd/") && f.pkg != "cmd/grapnel" || strings.HasPrefix(f.pkg, "examples/") || strings.HasPrefix(f.pkg, "bench/") ||
		strings.HasPrefix(f.pkg, "gen/") || slices.Contains([]string{"internal/test/features", "internal/test/prove", "internal/test/run", "internal/test/size", "internal/test/escape/attacker"}, f.pkg) {
		return nil // programs for developers
	}
	var out []finding
	for _, fn := range f.functions() {
		ast.Inspect(fn, func(n ast.Node) bool {
			if what := rawWrite(n, slices.Contains(shows, f.pkg)); what != "" {
				out = append(out, finding{"terminal", f.at(fn), what})
			}
			return true
		})
	}
	return out
}

// rawWrite says what of a node writes past package screen.
func rawWrite(n ast.Node, strict bool) string {
	if sel, ok := n.(*ast.SelectorExpr); ok {
		switch name := qualified(sel); name {
		case "os.Stdout", "os.Stderr", "fmt.Print", "fmt.Println", "fmt.Printf":
			return "uses " + name
		}
		return ""
	}
	call, ok := n.(*ast.CallExpr)
	if !ok || !strict {
		return ""
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	name := qualified(sel)
	switch {
	case strings.HasPrefix(name, "fmt.Fprint"), name == "io.WriteString", name == "io.Copy", name == "json.NewEncoder":
		if len(call.Args) > 0 && safe(call.Args[0]) {
			return ""
		}
		return "calls " + name + " with a writer that is none of package screen"
	case (sel.Sel.Name == "Write" || sel.Sel.Name == "WriteString") && len(call.Args) == 1:
		return "calls " + name
	}
	return ""
}

// safe reports whether a writer is a local buffer or comes from package screen.
func safe(w ast.Expr) bool {
	switch w := w.(type) {
	case *ast.UnaryExpr: // the address of a variable, which is no file
		return true
	case *ast.CallExpr:
		sel, ok := w.Fun.(*ast.SelectorExpr)
		return ok && strings.HasPrefix(qualified(sel), "screen.")
	}
	return false
}

func qualified(sel *ast.SelectorExpr) string {
	if id, ok := sel.X.(*ast.Ident); ok {
		return id.Name + "." + sel.Sel.Name
	}
	return "…." + sel.Sel.Name
}
