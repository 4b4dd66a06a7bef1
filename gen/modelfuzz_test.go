package gen_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

var (
	modelSeed     = flag.Uint64("model.seed", 0, "the seed of random composites; 0 is that of all drawn tests")
	modelPackages = flag.Int("model.packages", 5, "how many packages with random composites")
)

// Random composites, printed as Go, generated and built, do what the dynamic composite over the same struct does: mix-ins at
// several depths, pointers and values, prefixes, orders, policies, interface fields, groups, nesting.
func TestRandomComposites(t *testing.T) {
	needs.Proof(t)
	t.Parallel()
	seed := *modelSeed
	if seed == 0 {
		seed = needs.Seed(t)
	}
	t.Logf("go test ./gen -run TestRandomComposites -model.seed %d -model.packages %d", seed, *modelPackages)
	const path = "github.com/grapnel-go/grapnel/fuzzed" // below the module, for its internal packages
	dir := newModuleNamed(t, path)
	forwards := memberMethods(t)
	main := "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\n"
	calls := ""
	for i := range *modelPackages {
		name := fmt.Sprintf("p%02d", i)
		p := &randomPackage{r: rand.New(rand.NewPCG(seed, uint64(i))), forwards: forwards}
		write(t, dir, name+"/p.go", p.source(name))
		main += fmt.Sprintf("\t%q\n", path+"/"+name)
		calls += fmt.Sprintf("\tfor seed := range uint64(200) {\n\t\tif s := %s.Compare(seed); s != \"\" {\n\t\t\tfmt.Println(%q, seed, s)\n\t\t\tos.Exit(1)\n\t\t}\n\t}\n", name, name)
	}
	write(t, dir, "main.go", main+")\n\nfunc main() {\n"+calls+"}\n")
	result, stderr := run(t, dir, false, "./...")
	require.False(t, diag.HasErrors(result.Problems), "%s", stderr)
	require.Len(t, result.Changes, *modelPackages)
	program := filepath.Join(t.TempDir(), "fuzzed") // go run would keep it in the build cache
	t.Cleanup(func() { uncache(t, dir) })
	out, err := command(t.Context(), dir, "go", "build", "-ldflags=-s -w", "-o", program, ".")
	require.NoError(t, err, "%s", out)
	out, err = command(t.Context(), dir, program)
	require.NoError(t, err, "%s", out)
}

// uncache takes out of the build cache what the module's packages were compiled to, some 40 MB: they will never be seen again, and
// the go command keeps what it has for five days.
func uncache(t *testing.T, dir string) {
	t.Helper()
	out, err := command(context.Background(), dir, "go", "list", "-e", "-export", "-f", "{{.Export}}", "./...")
	require.NoError(t, err, "%s", out)
	for _, file := range strings.Fields(out) {
		assert.NoError(t, os.Remove(file))
	}
}

// method is one that a random type can have.
type method struct {
	name, signature, call string
	point                 bool
}

// memberMethods returns the methods of differential.Member as methods that forward to it.
func memberMethods(t *testing.T) []method {
	t.Helper()
	fset := token.NewFileSet()
	var decls []ast.Decl
	for _, name := range []string{"member.go", "point_gen.go"} {
		file, err := parser.ParseFile(fset, "../internal/test/differential/"+name, nil, 0)
		require.NoError(t, err)
		decls = append(decls, file.Decls...)
	}
	var out []method
	for _, d := range decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || !f.Name.IsExported() {
			continue
		}
		if recv, ok := f.Recv.List[0].Type.(*ast.StarExpr); !ok || recv.X.(*ast.Ident).Name != "Member" {
			continue
		}
		var args []string
		for _, field := range f.Type.Params.List {
			if field.Names == nil {
				field.Names = make([]*ast.Ident, 1)
			}
			for i := range field.Names {
				field.Names[i] = ast.NewIdent(fmt.Sprintf("a%d", len(args)))
				args = append(args, field.Names[i].Name)
			}
		}
		var text bytes.Buffer
		require.NoError(t, printer.Fprint(&text, fset, f.Type))
		call := fmt.Sprintf("x.M.%s(%s)", f.Name.Name, strings.Join(args, ", "))
		if f.Type.Results != nil {
			call = "return " + call
		}
		out = append(out, method{f.Name.Name, strings.TrimPrefix(text.String(), "func"), call, true})
	}
	require.Greater(t, len(out), 15)
	return out
}

// randomPackage prints one package with types, mix-ins and composites.
type randomPackage struct {
	r        *rand.Rand
	forwards []method
	out      strings.Builder
	// mixins are types to embed, each with the points that it has so far.
	mixins []mixin
	// parts are subsystem types, composites the composites so far.
	parts      []mixin
	composites []string
	late       int
	// tools are the public names of all tools, for the programs.
	tools []string
}

type mixin struct {
	name   string
	points map[string]bool
	tools  []string
}

func (p *randomPackage) chance(n int) bool { return p.r.IntN(n) == 0 }

func (p *randomPackage) printf(format string, args ...any) { fmt.Fprintf(&p.out, format, args...) }

func (p *randomPackage) source(name string) string {
	p.printf(randomHead, name)
	p.mixins = []mixin{{name: "Base", points: map[string]bool{}}}
	for i := range 1 + p.r.IntN(4) {
		p.mixins = append(p.mixins, p.typ(fmt.Sprintf("Mixin%d", i), ""))
	}
	for i := range 2 + p.r.IntN(4) {
		p.parts = append(p.parts, p.subsystem(i))
	}
	for i := range 1 + p.r.IntN(3) {
		p.composite(fmt.Sprintf("C%d", i))
	}
	last := p.composites[len(p.composites)-1]
	p.printf("\n// Compare runs one random program on both kinds of composite.\nfunc Compare(seed uint64) string {\n\treturn compare(seed, %#v, func(mk maker) differential.Facade { return New%s(mk).Compose() }, func(mk maker) (differential.Facade, error) { return composite.New(New%s(mk)) })\n}\n", append(p.tools, "nobody", "all"), last, last)
	p.printf("%s", randomTail)
	return p.out.String()
}

// typ prints a type that embeds a mix-in and has some points of its own.
func (p *randomPackage) typ(name, directive string) mixin {
	from := p.mixins[p.r.IntN(len(p.mixins))]
	out := mixin{name: name, points: map[string]bool{}}
	for point := range from.points {
		out.points[point] = true
	}
	p.printf("\n// %s is random.\n%stype %s struct{ %s }\n", name, directive, name, from.name)
	for _, m := range p.forwards {
		if p.chance(4) {
			p.printf("\n// %s implements the point.\nfunc (x *%s) %s%s { %s }\n", m.name, name, m.name, m.signature, m.call)
			out.points[m.name] = true
		}
	}
	return out
}

// subsystem prints a type with up to three tools.
func (p *randomPackage) subsystem(i int) mixin {
	name := fmt.Sprintf("Part%d", i)
	directive := ""
	if p.chance(2) {
		directive = "//\n//hook:subsystem\n"
	}
	out := p.typ(name, directive)
	for j := range p.r.IntN(4) {
		tool := fmt.Sprintf("t%d_%d", i, j)
		p.printf("\n// T%d does.\n//\n//hook:tool name=%s\nfunc (x *%s) T%d(context.Context, Input) (string, error) { return x.M.Name + \" did %s\", nil }\n", j, tool, name, j, tool)
		out.tools = append(out.tools, tool)
	}
	return out
}

// composite prints a struct with random members, and what makes one.
func (p *randomPackage) composite(name string) {
	n := 1 + p.r.IntN(6)
	rank := p.r.Perm(n)
	var fields, body strings.Builder
	seen := map[string]int{}
	for i := range n {
		field := fmt.Sprintf("F%d", i)
		typ, value, points, tools := p.member(field)
		plainType := strings.TrimPrefix(typ, "*")
		seen[plainType]++
		var words []string
		prefix := ""
		if len(tools) > 0 && (seen[plainType] > 1 || strings.Contains(typ, "differential") || strings.HasPrefix(plainType, "C") || p.chance(3)) {
			prefix = strings.ToLower(name) + field + "_"
			words = append(words, "prefix="+prefix)
		}
		for _, tool := range tools {
			p.tools = append(p.tools, prefix+tool)
		}
		optional := strings.HasPrefix(typ, "*") && p.chance(3)
		if optional {
			words = append(words, "optional")
		}
		if p.chance(4) {
			words = append(words, fmt.Sprintf("order=%d", 10*rank[i]))
		}
		for j := range n {
			if j != i && rank[i] < rank[j] && p.chance(5) && !strings.Contains(strings.Join(words, ","), "order") {
				words = append(words, fmt.Sprintf("after=F%d", j))
			}
		}
		if strings.HasSuffix(typ, ".Late") {
			words = append(words, "dynamic") // its directive is a comment, which the dynamic composite cannot read
		}
		tag := strings.Join(words, ",")
		for _, point := range points {
			if policied[point] && p.chance(6) {
				tag += fmt.Sprintf("; %s: %s", point, []string{"failopen", "failclosed"}[p.r.IntN(2)])
			}
		}
		if tag = strings.TrimPrefix(tag, "; "); tag != "" {
			tag = " `hook:\"" + tag + "\"`"
		}
		fmt.Fprintf(&fields, "\t%s %s%s\n", field, typ, tag)
		set := fmt.Sprintf("\tc.%s = %s\n", field, value)
		if optional {
			set = fmt.Sprintf("\tif !mk(%q).Absent {\n\t%s\t}\n", field, set)
		}
		body.WriteString(set)
	}
	p.printf("\n// %s is random.\n//\n//hook:composite\ntype %s struct {\n%s}\n", name, name, &fields)
	p.printf("\n// New%s makes one.\nfunc New%s(mk maker) *%s {\n\tc := new(%s)\n%s\treturn c\n}\n", name, name, name, name, &body)
	p.composites = append(p.composites, name)
}

// policied are points that have a fail policy.
var policied = map[string]bool{
	"BeforeTool": true, "RewriteArgs": true, "RewriteResult": true, "AfterTool": true, "BeforeModel": true, "AfterModel": true,
	"RewriteRequest": true, "RewriteReply": true, "WrapTool": true, "WrapModel": true,
}

// member returns the type of a field, the expression that makes its value, the points whose policy can be set, and the names of
// its tools.
func (p *randomPackage) member(field string) (typ, value string, points, tools []string) {
	everything := make([]string, len(p.forwards))
	for i, m := range p.forwards {
		everything[i] = m.name
	}
	switch k := p.r.IntN(10); {
	case k == 0:
		return "[]hook.Hook", fmt.Sprintf("[]hook.Hook{&mk(%[1]q + \"a\").Member, nil, &mk(%[1]q + \"b\").Member}", field), nil, nil
	case k == 1:
		return "hook.Hook", fmt.Sprintf("&mk(%q).Member", field), nil, nil
	case k == 2:
		return "*differential.Notes", fmt.Sprintf("&differential.Notes{Member: mk(%q).Member}", field), everything, []string{"add"}
	case k == 3:
		p.late++ // two owners of one tool that is known at run time are an error of their own
		return "*differential.Late", fmt.Sprintf("&differential.Late{Member: mk(%q).Member, Names: []string{\"late%d\"}}", field, p.late), nil, nil
	case k <= 5 && len(p.composites) > 0:
		nested := p.composites[p.r.IntN(len(p.composites))]
		made := fmt.Sprintf("New%s(mk.in(%q))", nested, field)
		if p.chance(2) {
			return nested, "*" + made, nil, []string{"x"}
		}
		return "*" + nested, made, nil, []string{"x"}
	}
	part := p.parts[p.r.IntN(len(p.parts))]
	for point := range part.points {
		points = append(points, point)
	}
	slices.Sort(points)
	made := fmt.Sprintf("func() *%s { x := new(%s); x.M = &mk(%q).Member; return x }()", part.name, part.name, field)
	if p.chance(2) {
		return part.name, "*" + made, points, part.tools
	}
	return "*" + part.name, made, points, part.tools
}

const randomHead = `// Package %s is random.
package %[1]s

import (
	"context"
	"math/rand/v2"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/differential"
)

var _ message.JSON

// Base is what every type embeds, at some depth.
type Base struct {
	hook.Nop
	M *differential.Member
}

// Input is the input of every tool.
type Input struct {
	// Path is any.
	Path string ` + "`json:\"path\"`" + `
}
`

const randomTail = `
// made is what one member is like.
type made struct {
	differential.Member
	Absent bool
}

type maker func(name string) *made

func (mk maker) in(field string) maker { return func(name string) *made { return mk(field + "." + name) } }

// makerOf makes members that do, by their names, the same at every call with one seed.
func makerOf(seed uint64, log *differential.Log) maker {
	return func(name string) *made {
		sum := seed
		for _, c := range []byte(name) {
			sum = sum*31 + uint64(c)
		}
		r := rand.New(rand.NewPCG(sum, 1))
		m := &made{differential.Member{Name: name, Log: log, Say: r.IntN(30), Do: map[hook.Point]differential.Mode{}}, r.IntN(3) == 0}
		for p := range point.All() {
			if r.IntN(4) == 0 {
				m.Do[p] = []differential.Mode{differential.Answers, differential.Answers, differential.Fails, differential.Panics}[r.IntN(4)]
			}
		}
		return m
	}
}

func compare(seed uint64, args []string, generated func(maker) differential.Facade, dynamic func(maker) (differential.Facade, error)) string {
	a := differential.World{Log: new(differential.Log), Host: new(differential.Recorder)}
	b := differential.World{Log: new(differential.Log), Host: new(differential.Recorder)}
	var err error
	if b.F, err = dynamic(makerOf(seed, b.Log)); err != nil {
		return err.Error()
	}
	a.F = generated(makerOf(seed, a.Log))
	r, ops := rand.New(rand.NewPCG(seed, 2)), differential.Ops()
	for range 20 {
		o, arg := ops[r.IntN(len(ops))], args[r.IntN(len(args))]
		if !o.In(a.F.Points()) {
			continue
		}
		if s := differential.Differ(o, arg, b, a); s != "" {
			return s
		}
	}
	return ""
}
`
