package layers

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// limit bounds a figure of every package, type or function. Where the figure lies above it, ceilings has the figure as it is.
type limit struct {
	id, reason string
	max        int
	// named are the limits of single places.
	named map[string]int
	// figures returns what is counted, by place.
	figures func(files []file) map[string]int
}

var limits = []limit{
	{"package-size", "who changes a package has to know it", 1800, nil, packageSizes},
	{"exported-names", "who uses a package has to know them", 60,
		map[string]int{"hook": 220, "hook/message": 140, "hook/event": 100, "runtime/store": 75}, exportedNames},
	{"function-length", "longer functions wait to be several", 63, nil, functionLengths},
	{"file-length", "longer files wait to be several", 600, nil, fileLengths},
	{"chain", "a change at the bottom must not travel far", 6, nil, chains},
	{"struct-fields", "state that many functions share hides what depends on what, embedded or not", 20, nil, structFields},
	{"methods", "who changes a type has to know all that it does", 60, nil, methods},
	{"chance", "a test that blocks a merge depends neither on luck nor on a clock: see chances", 0, nil, chances},
	{"public-packages", "every public package is a promise", 24, nil, publicPackages},
	{"package-variables", "what anybody may change nobody knows", 0, nil, packageVariables},
}

// at is the limit of the place.
func (l limit) at(where string) int {
	if n, ok := l.named[where]; ok {
		return n
	}
	return l.max
}

// breaches are the figures above the limit that have no ceiling or are above it, and the ceilings above their figure: a ceiling only
// falls. One above 1,000 need not fall with every line: a fiftieth may lie between.
func (l limit) breaches(files []file, ceilings map[string]ceiling) []finding {
	var out []finding
	figures := l.figures(files)
	for _, where := range slices.Sorted(maps.Keys(figures)) {
		n, c, limit := figures[where], ceilings[where], l.at(where)
		switch {
		case c.max == 0 && n > limit:
			out = append(out, finding{l.id, where, fmt.Sprintf("%d, more than %d", n, limit)})
		case c.max > 0 && n > c.max:
			out = append(out, finding{l.id, where, fmt.Sprintf("%d, more than its ceiling of %d", n, c.max)})
		case n < c.max && (c.max <= 1000 || n < c.max-c.max/50):
			out = append(out, finding{l.id, where, fmt.Sprintf("%d, less than its ceiling of %d: lower the ceiling, or drop it at %d", n, c.max, limit)})
		}
	}
	for _, where := range slices.Sorted(maps.Keys(ceilings)) {
		if _, ok := figures[where]; !ok || ceilings[where].max <= l.at(where) {
			out = append(out, finding{l.id, where, "has a ceiling and needs none"})
		}
	}
	return out
}

func TestLimits(t *testing.T) {
	files := moduleFiles(t)
	for _, l := range limits {
		t.Run(l.id, func(t *testing.T) {
			for _, f := range l.breaches(files, ceilings[l.id]) {
				t.Errorf("%v\n\twhy: %s", f, l.reason)
			}
			for where, c := range ceilings[l.id] {
				assert.NotEmpty(t, c.reason, "the ceiling of %s has no reason", where)
			}
		})
	}
	assert.Subset(t, slices.Collect(func(yield func(string) bool) {
		for _, l := range limits {
			if !yield(l.id) {
				return
			}
		}
	}), slices.Collect(maps.Keys(ceilings)), "ceilings of no limit")
}

// public reports whether other modules can import the package.
func public(f file) bool {
	return f.syntax.Name.Name != "main" && !strings.HasPrefix(f.pkg, "internal/") && !strings.Contains(f.pkg, "/internal") && !strings.HasPrefix(f.pkg, "examples/")
}

// shared are packages of a leaf family's directory that its leaves build on: they are no leaves.
var shared = []string{"runtime/provider/catalog"}

// leafOf returns the family of which the package is a leaf or a part of one, "" for none: runtime/store, its internal rooms and
// what is shared are none.
func leafOf(pkg string) (family, name string) {
	for _, family := range []string{"subsystems", "runtime/provider", "runtime/store"} {
		if rest, ok := strings.CutPrefix(pkg, family+"/"); ok {
			if name, _, _ := strings.Cut(rest, "/"); name != "internal" && !slices.Contains(shared, pkg) {
				return family, name
			}
		}
	}
	return "", ""
}

// codeLines are the lines of the file that are neither blank nor nothing but a comment.
func (f file) codeLines() int {
	comment := map[int]bool{}
	for _, g := range f.syntax.Comments {
		for _, c := range g.List {
			for l := f.line(c.Pos()); l <= f.line(c.End()); l++ {
				comment[l] = true
			}
		}
	}
	code := map[int]bool{}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case nil, *ast.Comment, *ast.CommentGroup:
			return false
		case *ast.BasicLit: // text over several lines
			for l := f.line(n.Pos()); l <= f.line(n.End()); l++ {
				code[l] = true
			}
		default:
			code[f.line(n.Pos())], code[f.line(n.End()-1)] = true, true
		}
		return true
	})
	return len(code)
}

// counted calls count for every file that people write and that is no test; internal/test and examples are none.
func counted(files []file, count func(f file)) {
	for _, f := range files {
		if !f.test && !f.generated && !matches(harness, f.pkg) {
			count(f)
		}
	}
}

func functionLengths(files []file) map[string]int {
	out := map[string]int{}
	for _, f := range files {
		for _, fn := range f.functions() {
			if !f.test && !f.generated {
				out[f.at(fn)] = f.line(fn.End()) - f.line(fn.Pos()) + 1
			}
		}
	}
	return out
}

func fileLengths(files []file) map[string]int {
	out := map[string]int{}
	for _, f := range files {
		if !f.test && !f.generated {
			out[f.name] = f.lines
		}
	}
	return out
}

func packageSizes(files []file) map[string]int {
	out := map[string]int{}
	counted(files, func(f file) { out[f.pkg] += f.codeLines() })
	return out
}

// exportedNames are those of types, functions, constants and variables.
func exportedNames(files []file) map[string]int {
	out := map[string]int{}
	for _, f := range files {
		if f.test || !public(f) || f.generated {
			continue
		}
		if family, _ := leafOf(f.pkg); family != "" {
			continue
		}
		for _, d := range f.syntax.Decls {
			out[f.pkg] += exported(d)
		}
	}
	return out
}

func exported(d ast.Decl) (n int) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.IsExported() {
			n++
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					n++
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() {
						n++
					}
				}
			}
		}
	}
	return n
}

// fields are those of a struct, but for one of a wire or file format, which has json tags.
func fields(s *ast.StructType) (n int) {
	for _, f := range s.Fields.List {
		if f.Tag != nil && strings.Contains(f.Tag.Value, "json:") {
			return 0
		}
		n += max(1, len(f.Names))
	}
	return n
}

func publicPackages(files []file) map[string]int {
	seen := map[string]bool{}
	for _, f := range files {
		if family, _ := leafOf(f.pkg); family == "" && !f.test && public(f) {
			seen[f.pkg] = true
		}
	}
	return map[string]int{"the module": len(seen)}
}

// packageVariables are the package variables that a function of the package assigns to, or takes the address of.
func packageVariables(files []file) map[string]int {
	vars, out := map[string]map[string]bool{}, map[string]int{}
	counted(files, func(f file) {
		for _, d := range f.syntax.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
				for _, s := range g.Specs {
					for _, name := range s.(*ast.ValueSpec).Names {
						if vars[f.pkg] == nil {
							vars[f.pkg] = map[string]bool{}
						}
						vars[f.pkg][name.Name] = name.Name != "_"
					}
				}
			}
		}
	})
	counted(files, func(f file) {
		for _, fn := range f.functions() {
			for name := range changed(fn) {
				if vars[f.pkg][name] {
					out[f.pkg+" "+name] = 1
				}
			}
		}
	})
	return out
}

// changed are the names that the function assigns to, element or field included, and does not declare.
func changed(fn *ast.FuncDecl) map[string]bool {
	out, local := map[string]bool{}, map[string]bool{}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				local[name.Name] = true
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				local[name.Name] = true
			}
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				if id := root(x); id != "" && n.Tok == token.DEFINE {
					local[id] = true
				} else {
					out[id] = true
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				for _, x := range []ast.Expr{n.Key, n.Value} {
					local[root(x)] = true
				}
			}
		case *ast.IncDecStmt:
			out[root(n.X)] = true
		}
		return true
	})
	maps.DeleteFunc(out, func(name string, _ bool) bool { return local[name] })
	return out
}

// root is the name of the variable in which the expression lies.
func root(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.IndexExpr:
		return root(x.X)
	case *ast.SelectorExpr:
		return root(x.X)
	case *ast.StarExpr:
		return root(x.X)
	}
	return ""
}

func TestLimitsFindWhatIsWrong(t *testing.T) {
	const m = module + "/"
	methodsOf := func(name string, n int) (out string) {
		for i := range n {
			out += fmt.Sprintf("func (%s) M%d() {}\n", name, i)
		}
		return out
	}
	lines := func(n int) string { return strings.Repeat("var _ = 1 // one\n", n) }
	names := func(n int) (out string) {
		for i := range n {
			out += fmt.Sprintf("const N%d = 1\n", i)
		}
		return out
	}
	packages := map[string]string{}
	for i := range 25 {
		packages[fmt.Sprintf("gen/p%d/a.go", i)] = "package p\n"
	}
	cases := []struct {
		name, limit string
		files       map[string]string
		ceilings    map[string]ceiling
		want        string
	}{
		{"1,800 lines", "package-size", map[string]string{"gen/a.go": "package gen\n" + lines(1799) + "\n// a comment\n"}, nil, ""},
		{"1,801 lines", "package-size", map[string]string{"gen/a.go": "package gen\n" + lines(1000), "gen/b.go": "package gen\n" + lines(799)}, nil,
			"package-size: gen: 1801, more than 1800"},
		{"generated lines", "package-size", map[string]string{"gen/a_gen.go": header + "package gen\n" + lines(1900)}, nil, ""},
		{"above its ceiling", "package-size", map[string]string{"gen/a.go": "package gen\n" + lines(1900)}, map[string]ceiling{"gen": {1900, "x"}},
			"package-size: gen: 1901, more than its ceiling of 1900"},
		{"below its ceiling", "package-size", map[string]string{"gen/a.go": "package gen\n" + lines(1900)}, map[string]ceiling{"gen": {1940, "x"}},
			"package-size: gen: 1901, less than its ceiling of 1940: lower the ceiling, or drop it at 1800"},
		{"a fiftieth below its ceiling", "package-size", map[string]string{"gen/a.go": "package gen\n" + lines(1900)}, map[string]ceiling{"gen": {1939, "x"}}, ""},
		{"a ceiling for nothing", "package-size", map[string]string{"gen/a.go": "package gen\n"}, map[string]ceiling{"hook": {1900, "x"}},
			"package-size: hook: has a ceiling and needs none"},
		{"64 lines", "function-length", map[string]string{"gen/a.go": long(64)}, nil, "function-length: gen/a.go f: 64, more than 63"},
		{"63 lines", "function-length", map[string]string{"gen/a.go": long(63)}, nil, ""},
		{"generated and test functions may be long", "function-length", map[string]string{"gen/hook_gen.go": header + long(700), "gen/a_test.go": long(700)}, nil, ""},
		{"601 lines", "file-length", map[string]string{"gen/a.go": "package x\n" + strings.Repeat("\n", 600)}, nil, "file-length: gen/a.go: 601, more than 600"},
		{"a chain over six floors", "chain", map[string]string{
			"gen/a.go": importing(m + "gen/b"), "gen/b/b.go": importing(m + "gen/c"), "gen/c/c.go": importing(m + "gen/d"),
			"gen/d/d.go": importing(m + "gen/e"), "gen/e/e.go": importing(m + "gen/f"), "gen/f/f.go": importing(m + "gen/g"),
			"gen/g/g.go": importing(m + "gen/h"),
		}, nil, "chain: gen > gen/b > gen/c > gen/d > gen/e > gen/f > gen/g > gen/h: 7, more than 6"},
		{"a long chain within one floor", "chain", map[string]string{
			"gen/a.go": importing(m + "gen/internal/b"), "gen/internal/b/b.go": importing(m + "gen/internal/c"), "gen/internal/c/c.go": importing(m + "gen/d"),
			"gen/d/d.go": importing(m + "gen/e"), "gen/e/e.go": importing(m + "gen/f"), "gen/f/f.go": importing(m + "gen/g"),
			"gen/g/g.go": importing(m + "gen/h"),
		}, nil, ""},
		{"ten fields, and eleven of another package", "struct-fields", map[string]string{
			"gen/b/b.go": "package b\ntype B struct { " + strings.Repeat("X int; ", 11) + "}\n",
			"gen/a.go":   importing() + "import \"" + m + "gen/b\"\ntype A struct { *b.B; " + strings.Repeat("X int; ", 10) + "}\n",
		}, nil, "struct-fields: gen A: 21, more than 20"},
		{"sixty methods, and one that is promoted", "methods", map[string]string{
			"gen/a.go": "package gen\ntype A struct { B[int] }\ntype B[T any] struct{}\nfunc (B[T]) M0() {}\nfunc (B[T]) N() {}\n" + methodsOf("A", 60),
		}, nil, "methods: gen A: 61, more than 60"},
		{"sleep, time and luck", "chance", map[string]string{
			"gen/a_test.go": "package gen\nimport \"math/rand/v2\"\nfunc TestA(t *testing.T) { time.Sleep(1); _ = time.Since(t0); _ = time.Now().Sub(t0); _ = rand.IntN(2) }\n",
			"gen/b_test.go": "package gen\nimport \"math/rand/v2\"\nvar seed = time.Now().UnixNano()\nfunc f() { rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)) }\n",
		}, nil, "chance: gen: 5, more than 0"},
		{"a seed that is written down, proofs, bubbles, benchmarks, other chance", "chance", map[string]string{
			"gen/a_test.go": "package gen\nimport \"math/rand/v2\"\nfunc TestA(t *testing.T) { rand.New(rand.NewPCG(1, 2)).IntN(2); synctest.Test(t, func(t *testing.T) { time.Sleep(1) }) }\n" +
				"func BenchmarkA(b *testing.B) { time.Sleep(1) }\nfunc TestB(t *testing.T) { needs.Proof(t); time.Sleep(1) }\n",
			"gen/b_test.go": "package gen\nfunc help() { time.Sleep(1) }\nfunc TestC(t *testing.T) { needs.Proof(t); help() }\n",
			"gen/c_test.go": "package gen\nimport \"crypto/rand\"\nfunc TestD(t *testing.T) { rand.Read(nil); d.Sub(t0) }\n",
		}, nil, ""},
		{"61 names", "exported-names", map[string]string{"gen/a.go": "package gen\n" + names(61)}, nil, "exported-names: gen: 61, more than 60"},
		{"of an internal package", "exported-names", map[string]string{"internal/a/a.go": "package a\n" + names(61)}, nil, ""},
		{"of a package with a limit of its own", "exported-names", map[string]string{"hook/event/a.go": "package event\n" + names(101)}, nil,
			"exported-names: hook/event: 101, more than 100"},
		{"of a format", "struct-fields", map[string]string{"gen/a.go": "package gen\ntype s struct { " + strings.Repeat("X int; ", 20) + "Q int `json:\"q\"` }\n"}, nil, ""},
		{"25 packages", "public-packages", packages, nil, "public-packages: the module: 25, more than 24"},
		{"a leaf", "public-packages", map[string]string{"subsystems/a/a.go": "package a\n"}, map[string]ceiling{"the module": {25, "x"}},
			"public-packages: the module: 0, less than its ceiling of 25: lower the ceiling, or drop it at 24"},
		{"a counter", "package-variables", map[string]string{"gen/a.go": "package gen\nvar n int\nfunc f() { n++ }\n"}, nil,
			"package-variables: gen n: 1, more than 0"},
		{"an element", "package-variables", map[string]string{"gen/a.go": "package gen\nvar m = map[int]int{}\nfunc f() { m[1] = 2 }\n"}, nil,
			"package-variables: gen m: 1, more than 0"},
		{"a local one of the same name", "package-variables", map[string]string{"gen/a.go": "package gen\nvar n int\nfunc f() { n := 1; n++ }\n"}, nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, l := range limits {
				if l.id == c.limit {
					for _, f := range l.breaches(fixture(t, c.files), c.ceilings) {
						got = append(got, f.String())
					}
				}
			}
			assert.Equal(t, c.want, strings.Join(got, "; "))
		})
	}
}
