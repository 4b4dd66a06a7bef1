// Command pointgen generates point_gen.go from the declarations of points in package hook. Each template in this directory is for one
// package. go generate runs pointgen in that package, with the name of the template and the directory of package hook.
package main

import (
	"bytes"
	"embed"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"unicode"

	"github.com/grapnel-go/grapnel/gen/internal/directive"
)

//go:embed *.tmpl
var templates embed.FS

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("pointgen: run it as pointgen PACKAGE HOOK: the name of a template, and the directory of package hook")
	}
	src, err := generate(os.Args[1], os.Args[2])
	if err == nil {
		err = os.WriteFile("point_gen.go", src, 0o644)
	}
	if err != nil {
		log.Fatal("pointgen: ", err)
	}
}

// generate returns the source of point_gen.go for the package of this name; dir is that
// of package hook.
func generate(name, dir string) ([]byte, error) {
	points, err := read(dir)
	if err != nil {
		return nil, err
	}
	t, err := template.ParseFS(templates, name+".tmpl")
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := t.Execute(&text, points); err != nil {
		return nil, err
	}
	return format.Source(withoutUnused(text.Bytes()))
}

var imported = regexp.MustCompile(`(?m)^\t"(?:[^"]*/)?(\w+)"\n`)

// withoutUnused removes the unused imports of a template.
func withoutUnused(src []byte) []byte {
	return imported.ReplaceAllFunc(src, func(line []byte) []byte {
		if name := imported.FindSubmatch(line)[1]; !bytes.Contains(src, append(slices.Clone(name), '.')) {
			return nil
		}
		return line
	})
}

// point is a point with its method.
type point struct {
	Name, Kind, Combine string
	// Bracket: one end of a pair.
	Reverse, Bracket, Closed bool
	// Timeout is the default timeout in milliseconds; 0 for none.
	Timeout int64
	// Failed is the answer of the closed fail policy; "" for none.
	Failed string
	// Facade: a method of hook.Hook itself.
	Facade bool
	Params []param
	// Results are the types of the results.
	Results []string
	// Place is the name of the type of the point's place; "" for none.
	Place string
	// Answers are the constructors of a decision, in the order of their declaration.
	Answers []answer
}

// answer is a constructor of a decision: its name and the types of its parameters.
type answer struct {
	Name   string
	Params []string
}

// param is a parameter after the context.
type param struct{ Name, Type string }

// Field is the name of the point's list.
func (p point) Field() string {
	name := []rune(p.Name)
	name[0] = unicode.ToLower(name[0])
	return string(name)
}

// Iface is the interface that has the method.
func (p point) Iface() string {
	if p.Facade {
		return "hook.Hook"
	}
	return "hook." + p.Name
}

// Walk is the function of the point's kind; "" if its methods are written by hand.
func (p point) Walk() string {
	switch {
	case p.Facade, p.Kind == "wrap", p.Bracket:
		return ""
	}
	return p.Kind
}

// Nil reports whether the error is always nil.
func (p point) Nil() bool { return p.Kind == "decide" }

// Signature returns the parameters with their names.
func (p point) Signature() string {
	out := []string{"ctx context.Context"}
	for _, q := range p.Params {
		out = append(out, q.Name+" "+q.Type)
	}
	return strings.Join(out, ", ")
}

// Returns returns the results as in a signature.
func (p point) Returns() string {
	switch len(p.Results) {
	case 0:
		return ""
	case 1:
		return p.Results[0]
	}
	return "(" + strings.Join(p.Results, ", ") + ")"
}

// Names returns the names of the parameters, the context's first.
func (p point) Names() string {
	out := []string{"ctx"}
	for _, q := range p.Params {
		out = append(out, q.Name)
	}
	return strings.Join(out, ", ")
}

// Last is the name of the last parameter: the value that a rewriter gets and returns.
func (p point) Last() string { return p.Params[len(p.Params)-1].Name }

// Element is the element type of a contributor's result.
func (p point) Element() string { return strings.TrimPrefix(p.Results[0], "[]") }

// Args returns the place and the value that the walk passes on. A contributor has no value.
func (p point) Args() string {
	var out []string
	for _, q := range p.Params {
		out = append(out, q.Name)
	}
	if p.Bare() {
		out = append(out, "none{}")
	}
	return strings.Join(out, ", ")
}

// Bare reports whether the walk passes a value that the point does not have.
func (p point) Bare() bool { return len(p.Params) == 1 && p.Kind != "contribute" }

// Call returns the method expression that calls a member.
func (p point) Call() string {
	if !p.Bare() {
		return p.Iface() + "." + p.Name
	}
	at := p.Params[0]
	body := "h." + p.Name + "(ctx, " + at.Name + ")"
	if p.Results != nil {
		body = "return " + body
	}
	return fmt.Sprintf("func(h %s, ctx context.Context, %s %s, _ none) %s { %s }", p.Iface(), at.Name, at.Type, p.Returns(), body)
}

// View returns the argument that encodes the parameters of an observer for a job.
func (p point) View() string {
	if p.Kind != "observe" || p.Bracket {
		return ""
	}
	return ", view.Of"
}

// Ready returns the argument that reads the contributions of a fallback.
func (p point) Ready() string {
	if p.Kind != "contribute" {
		return ""
	}
	return fmt.Sprintf(", func(f hook.Contributions) %s { return f.%s }", p.Returns()[1:strings.Index(p.Returns(), ",")], p.Name)
}

// read returns the points that package hook declares: the methods of Hook, then the one-method interfaces.
func read(dir string) ([]point, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	fset, interfaces, answers := token.NewFileSet(), map[string]bool{}, map[string][]answer{}
	var facade, beside []point
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		found, problems := directive.Scan(fset, f)
		if len(problems) > 0 {
			return nil, fmt.Errorf("%v: %s", problems[0].Pos, problems[0].Message())
		}
		for _, d := range found {
			switch p, ok := declared(d); {
			case !ok:
			case p.Facade:
				facade = append(facade, p)
			default:
				beside = append(beside, p)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				_, interfaces["hook."+n.Name.Name] = n.Type.(*ast.InterfaceType)
			case *ast.FuncDecl:
				if of, a := constructed(n); of != "" {
					answers[of] = append(answers[of], a)
				}
			}
			return true
		})
	}
	all := append(facade, beside...)
	for i, p := range all {
		all[i].Place = p.place(interfaces)
		if p.Kind == "decide" {
			all[i].Answers = answers[p.Results[0]]
		}
	}
	return all, nil
}

// constructed returns the result type of an exported constructor, and how to call it; "" for any other function.
func constructed(f *ast.FuncDecl) (of string, a answer) {
	if f.Recv != nil || !f.Name.IsExported() || f.Type.TypeParams != nil {
		return "", a
	}
	m := method(f.Type)
	if len(m.Results) != 1 {
		return "", a
	}
	a.Name = f.Name.Name
	for _, q := range m.Params {
		a.Params = append(a.Params, q.Type)
	}
	return m.Results[0], a
}

func declared(d directive.Found) (point, bool) {
	if d.Point == nil {
		return point{}, false
	}
	field, facade := d.Node.(*ast.Field)
	if t, ok := d.Node.(*ast.TypeSpec); ok {
		field = t.Type.(*ast.InterfaceType).Methods.List[0]
	}
	p := method(field.Type.(*ast.FuncType))
	p.Name, p.Kind, p.Combine, p.Facade = field.Names[0].Name, d.Point.Kind, d.Point.Combine, facade
	p.Reverse, p.Bracket, p.Closed = d.Point.Reverse, d.Point.Bracket, d.Point.FailClosed
	p.Failed = d.Point.Answer
	p.Timeout = d.Point.Timeout.Milliseconds()
	return p, true
}

// place is the name of the first parameter's type, unless that is an interface: the Host of OnOpen is no place.
func (p point) place(interfaces map[string]bool) string {
	if len(p.Params) == 0 {
		return ""
	}
	name, ok := strings.CutPrefix(strings.TrimPrefix(p.Params[0].Type, "*"), "hook.")
	if !ok || interfaces["hook."+name] {
		return ""
	}
	return name
}

func method(t *ast.FuncType) point {
	var p point
	for _, f := range t.Params.List {
		for _, n := range f.Names {
			if typ := qualified(f.Type); typ != "context.Context" {
				p.Params = append(p.Params, param{n.Name, typ})
			}
		}
	}
	if t.Results != nil {
		for _, f := range t.Results.List {
			p.Results = append(p.Results, qualified(f.Type))
		}
	}
	return p
}

func qualified(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		if e.IsExported() {
			return "hook." + e.Name
		}
		return e.Name
	case *ast.SelectorExpr:
		return e.X.(*ast.Ident).Name + "." + e.Sel.Name
	case *ast.StarExpr:
		return "*" + qualified(e.X)
	case *ast.ArrayType:
		return "[]" + qualified(e.Elt)
	case *ast.Ellipsis:
		return "..." + qualified(e.Elt)
	case *ast.IndexExpr:
		return qualified(e.X) + "[" + qualified(e.Index) + "]"
	}
	return fmt.Sprintf("/* %T */", e)
}
