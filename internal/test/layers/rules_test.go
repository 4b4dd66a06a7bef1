package layers

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// finding is one breach: where is what an exception in the table must name.
type finding struct{ rule, where, what string }

func (f finding) String() string { return fmt.Sprintf("%s: %s: %s", f.rule, f.where, f.what) }

// rule finds all breaches of one kind.
type rule struct {
	id, reason string
	find       func(files []file) []finding
}

var rules = []rule{
	{"imports", "DESIGN.md, layout and layers", findImports},
	{"heavy", "a library that weighs megabytes belongs to one package", findHeavy},
	{"conffile", "configuration may be a pipe, a device, a link or without end: only one reader bounds it", each(findReaders)},
	{"testify", "one way to write a check", findTestify},
	{"leaves", "a leaf can be taken out or used alone: only the assembly, programs and tests know it", findLeafImports},
	{"package-name", "a package is named after what it has, not after its being shared", findNames},
	{"no-init", "nothing happens before main", each(findInit)},
	{"no-options", "options are a struct; nil is allowed", each(findOptions)},
	{"skip", "make test says what did not run only if package needs knows", findSkips},
	{"trimpath", "without -trimpath the go command compiles every package a second time", findUntrimmed},
	{"terminal", "what others say reaches a terminal through internal/screen only", each(findRawWrites)},
	{"goleak", "a package that starts goroutines proves that they end", findUnwatched},
}

// each applies find to every file that people write and that is no test.
func each(find func(f file) []finding) func([]file) []finding {
	return func(files []file) []finding {
		var out []finding
		for _, f := range files {
			if !f.test && !f.generated {
				out = append(out, find(f)...)
			}
		}
		return out
	}
}

func findImports(files []file) []finding {
	var out []finding
	unknown := map[string]bool{}
	for _, f := range files {
		if f.test {
			continue
		}
		l, ok := layerOf(f.pkg)
		if !ok {
			if !unknown[f.pkg] {
				out = append(out, finding{"imports", f.pkg, "no row in the table of layers"})
			}
			unknown[f.pkg] = true
			continue
		}
		for _, path := range f.imports() {
			if !l.allows(f, path) {
				out = append(out, finding{"imports", f.name, fmt.Sprintf("imports %s; %s: %s", path, l.pkgs, l.reason)})
			}
		}
	}
	return out
}

// allows reports whether the file may import the path.
func (l layer) allows(f file, path string) bool {
	if to, ok := inside(path); ok {
		may := l.may
		if f.generated {
			may = slices.Concat(l.may, l.generated)
		}
		if matches(harness, to) && !matches(harness, f.pkg) {
			return false
		}
		if slices.Contains(leaf, to) {
			return f.pkg != "hook" && f.pkg != "hook/hooktest"
		}
		return l.own(f.pkg, to) || slices.ContainsFunc(may, func(p string) bool { return matches(p, to) || p == floor(to) })
	}
	if path == "C" {
		return false
	}
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
		return true // the standard library
	}
	return slices.ContainsFunc(l.outside, func(p string) bool { return p == "*" || strings.HasPrefix(path, p) })
}

func findHeavy(files []file) []finding {
	var out []finding
	for _, f := range files {
		for _, path := range f.imports() {
			for library, may := range heavy {
				if !f.test && strings.HasPrefix(path, library) && !slices.Contains(may, f.pkg) {
					out = append(out, finding{"heavy", f.name, fmt.Sprintf("imports %s, which only %s may", path, strings.Join(may, ", "))})
				}
			}
		}
	}
	return out
}

// unbounded are functions that read a file, or parse YAML, without a bound.
var unbounded = map[string][]string{
	"os":                 {"Open", "ReadFile", "DirFS"},
	"io/ioutil":          {"ReadFile"},
	"go.yaml.in/yaml/v3": {"Unmarshal", "NewDecoder"},
}

// bounded are the packages that bound what they read for the program, and those that are
// no part of it: the generator, what is for tests, and programs for contributors.
var bounded = []string{
	"internal/conffile", "internal/yamldoc", "gen/...", "cmd/hookgen", "cmd/hookvet", "bench/...", "hook/hooktest",
	"internal/origin", "gen/internal/pointgen", "internal/test/...",
}

func findReaders(f file) []finding {
	if slices.ContainsFunc(bounded, func(p string) bool { return matches(p, f.pkg) }) {
		return nil
	}
	names := f.importNames()
	var out []finding
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(unbounded[names[x.Name]], sel.Sel.Name) {
			what := x.Name + "." + sel.Sel.Name
			out = append(out, finding{"conffile", f.name + " " + what, "reads without a bound; use internal/conffile or internal/yamldoc"})
		}
		return true
	})
	return out
}

// importNames are the import paths by the names that they have in the file.
func (f file) importNames() map[string]string {
	out := map[string]string{}
	for _, spec := range f.syntax.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(p)
		if len(name) == 2 && name[0] == 'v' { // math/rand/v2
			name = path.Base(path.Dir(p))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		out[name] = p
	}
	return out
}

func findTestify(files []file) []finding {
	const testify = "github.com/stretchr/testify/"
	var out []finding
	for _, f := range files {
		for _, path := range f.imports() {
			if name, ok := strings.CutPrefix(path, testify); ok && name != "require" && name != "assert" {
				out = append(out, finding{"testify", f.name, "imports testify/" + name + "; only require and assert are used here"})
			}
		}
	}
	return out
}

// floor is the package, or the one with which it counts as one: the contract is hook with message, event and point, composite has
// plan, args and the markers of guard, and a package has its internal rooms.
func floor(pkg string) string {
	switch pkg {
	case "hook/message", "hook/event", "hook/point":
		return "hook"
	case "composite/plan", "composite/args", "composite/guard":
		return "composite"
	}
	room, _, _ := strings.Cut(pkg+"/", "/internal/")
	return strings.TrimSuffix(room, "/")
}

// chains are the longest chains of imports, from each package down to one that imports none of the module.
func chains(files []file) map[string]int {
	below := map[string]map[string]bool{}
	for _, f := range files {
		from := floor(f.pkg)
		if below[from] == nil {
			below[from] = map[string]bool{}
		}
		for _, path := range f.imports() {
			if to, ok := inside(path); ok && !f.test && floor(to) != from {
				below[from][floor(to)] = true
			}
		}
	}
	longest := map[string][]string{}
	var chain func(pkg string) []string
	chain = func(pkg string) []string {
		if c, ok := longest[pkg]; ok {
			return c
		}
		longest[pkg] = []string{pkg} // a cycle does not compile; do not follow it
		best := []string{}
		for _, to := range slices.Sorted(maps.Keys(below[pkg])) {
			if c := chain(to); len(c) > len(best) {
				best = c
			}
		}
		longest[pkg] = append([]string{pkg}, best...)
		return longest[pkg]
	}
	out := map[string]int{}
	for pkg := range below {
		c := chain(pkg)
		out[strings.Join(c, " > ")] = len(c) - 1
	}
	return out
}

// findLeafImports finds who imports a leaf of subsystems, runtime/provider or runtime/store and is neither a part of it nor the
// assembly, a program or a test.
func findLeafImports(files []file) []finding {
	found := map[string]bool{}
	for _, f := range files {
		if f.test || slices.ContainsFunc([]string{"internal/app", "internal/models", "cmd/...", "examples/...", harness}, func(p string) bool { return matches(p, f.pkg) }) {
			continue
		}
		own, me := leafOf(f.pkg)
		for _, path := range f.imports() {
			to, _ := inside(path)
			if family, name := leafOf(to); family != "" && (family != own || name != me) {
				found[f.pkg+" "+to] = true
			}
		}
	}
	var out []finding
	for _, where := range slices.Sorted(maps.Keys(found)) {
		out = append(out, finding{"leaves", where, "imports a leaf"})
	}
	return out
}

func findNames(files []file) []finding {
	var out []finding
	seen := map[string]bool{}
	for _, f := range files {
		name := strings.TrimSuffix(f.syntax.Name.Name, "_test")
		if seen[f.pkg] {
			continue
		}
		seen[f.pkg] = true
		switch strings.TrimSuffix(name, "s") {
		case "util", "common", "type", "base", "helper", "misc", "shared":
			out = append(out, finding{"package-name", f.pkg, "is named " + name})
		}
	}
	return out
}

// functions yields the top-level functions of the file.
func (f file) functions() []*ast.FuncDecl {
	var out []*ast.FuncDecl
	for _, d := range f.syntax.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			out = append(out, fn)
		}
	}
	return out
}

// at names a function for people and for the table of exceptions.
func (f file) at(fn *ast.FuncDecl) string { return f.name + " " + fn.Name.Name }

func findInit(f file) []finding {
	var out []finding
	for _, fn := range f.functions() {
		if fn.Recv == nil && fn.Name.Name == "init" {
			out = append(out, finding{"no-init", f.name, "has an init function"})
		}
	}
	return out
}

func findOptions(f file) []finding {
	var out []finding
	for _, fn := range f.functions() {
		rest, with := strings.CutPrefix(fn.Name.Name, "With")
		if fn.Recv == nil && with && rest != "" && rest[0] <= 'Z' {
			out = append(out, finding{"no-options", f.at(fn), "looks like a functional option"})
		}
	}
	return out
}

func (f file) line(pos token.Pos) int { return f.fset.Position(pos).Line }

// findSkips finds tests that skip themselves. A fuzz target may pass over an
// input.
func findSkips(files []file) []finding {
	var out []finding
	for _, f := range files {
		if f.pkg == "internal/test/needs" {
			continue
		}
		for _, fn := range f.functions() {
			if f.test && !strings.HasPrefix(fn.Name.Name, "Fuzz") && skips(fn) {
				out = append(out, finding{"skip", f.at(fn), "skips; internal/test/needs does that"})
			}
		}
	}
	return out
}

// skips reports whether the function calls Skip, Skipf or SkipNow of a test.
func skips(fn *ast.FuncDecl) bool {
	found := false
	ast.Inspect(fn, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, s.Sel.Name) {
				x, ok := s.X.(*ast.Ident)
				found = found || ok && slices.Contains([]string{"t", "b", "tb"}, x.Name)
			}
		}
		return true
	})
	return found
}

// findUntrimmed finds tests that give the go command flags without -trimpath.
func findUntrimmed(files []file) []finding {
	var out []finding
	for _, f := range files {
		if f.test && untrimmed(f.syntax) {
			out = append(out, finding{"trimpath", f.name, "sets GOFLAGS without -trimpath"})
		}
	}
	return out
}

// untrimmed reports whether a call or a literal gives the variable such a value. Keys of maps are left out: they are commands to judge.
func untrimmed(syntax ast.Node) bool {
	found := false
	assigned := func(name string, value ast.Expr) {
		_, literal := value.(*ast.BasicLit)
		found = found || name == "GOFLAGS" && literal && !strings.Contains(text(value), "-trimpath")
	}
	elements := func(all []ast.Expr) {
		for _, e := range all {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				assigned(text(kv.Key), kv.Value)
			}
			if name, _, ok := strings.Cut(text(e), "="); ok {
				assigned(name, e)
			}
		}
	}
	ast.Inspect(syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if elements(n.Args); len(n.Args) == 2 {
				assigned(text(n.Args[0]), n.Args[1])
			}
		case *ast.CompositeLit:
			elements(n.Elts)
		}
		return !found
	})
	return found
}

// text returns what a literal string says, "" for any other expression.
func text(e ast.Expr) string {
	if lit, ok := e.(*ast.BasicLit); ok {
		s, _ := strconv.Unquote(lit.Value)
		return s
	}
	return ""
}

func findUnwatched(files []file) []finding {
	starts, watched := map[string]string{}, map[string]bool{}
	for _, f := range files {
		if f.test {
			watched[f.pkg] = watched[f.pkg] || slices.Contains(f.imports(), "go.uber.org/goleak")
		} else if f.startsGoroutine() {
			starts[f.pkg] = f.name
		}
	}
	var out []finding
	for _, pkg := range slices.Sorted(maps.Keys(starts)) {
		if !watched[pkg] {
			out = append(out, finding{"goleak", pkg, starts[pkg] + " starts goroutines and no test of the package uses goleak"})
		}
	}
	return out
}

// startsGoroutine reports whether the file has a go statement, or calls a method
// Go, as wait groups and pools have it.
func (f file) startsGoroutine() bool {
	found := false
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			found = found || ok && sel.Sel.Name == "Go"
		}
		return !found
	})
	return found
}
