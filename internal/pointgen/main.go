// Command pointgen writes what the declarations of points in package hook imply for
// other packages: point_gen.go in composite and composite/guard. It is run by go generate
// there, in the directory of the package that its argument names.
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
	"strings"
	"text/template"
	"unicode"

	"github.com/grapnel-go/grapnel/hook"
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
	methods, err := read(dir)
	if err != nil {
		return nil, err
	}
	var points []point
	for p, info := range hook.Points() {
		m, ok := methods[info.Name]
		if !ok {
			return nil, fmt.Errorf("%s declares no method %s; run go generate in package hook", dir, info.Name)
		}
		m.PointInfo, m.Facade = p.Info(), info.Kind == "facade"
		points = append(points, m)
	}
	t, err := template.ParseFS(templates, name+".tmpl")
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := t.Execute(&text, points); err != nil {
		return nil, err
	}
	return format.Source(text.Bytes())
}

// point is a point with its method.
type point struct {
	hook.PointInfo
	Facade bool
	Params []param
	// Results are the types of the results.
	Results []string
}

// param is a parameter behind the context.
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
	case p.Facade, p.Kind == "wrap", p.Combine == "open", p.Combine == "close":
		return ""
	}
	return p.Kind
}

// Nil reports whether the error is always nil.
func (p point) Nil() bool { return p.Kind == "decide" }

// Signature are the parameters with their names.
func (p point) Signature() string {
	out := []string{"ctx context.Context"}
	for _, q := range p.Params {
		out = append(out, q.Name+" "+q.Type)
	}
	return strings.Join(out, ", ")
}

// Returns are the results as a signature has them.
func (p point) Returns() string {
	switch len(p.Results) {
	case 0:
		return ""
	case 1:
		return p.Results[0]
	}
	return "(" + strings.Join(p.Results, ", ") + ")"
}

// Args are the place and the value that the walk hands on. A contributor has no value.
func (p point) Args() string {
	var out []string
	for _, q := range p.Params {
		out = append(out, q.Name)
	}
	if p.bare() {
		out = append(out, "none{}")
	}
	return strings.Join(out, ", ")
}

// bare reports whether the walk hands on a value, and the point has none.
func (p point) bare() bool { return len(p.Params) == 1 && p.Kind != "contribute" }

// Call is what calls a member: the method expression.
func (p point) Call() string {
	if !p.bare() {
		return p.Iface() + "." + p.Name
	}
	at := p.Params[0]
	body := "h." + p.Name + "(ctx, " + at.Name + ")"
	if p.Results != nil {
		body = "return " + body
	}
	return fmt.Sprintf("func(h %s, ctx context.Context, %s %s, _ none) %s { %s }", p.Iface(), at.Name, at.Type, p.Returns(), body)
}

// View is what an observer that is told in the background is handed.
func (p point) View() string {
	switch {
	case p.Kind != "observe":
		return ""
	case p.bare():
		return fmt.Sprintf(", func(%s %s, _ none) hook.Job { return view.%s(%[1]s) }", p.Params[0].Name, p.Params[0].Type, p.Name)
	}
	return ", view." + p.Name
}

// read returns the methods of package hook's interfaces that are declared as points.
func read(dir string) (map[string]point, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	fset, out := token.NewFileSet(), map[string]point{}
	for _, name := range names {
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if i, ok := n.(*ast.InterfaceType); ok {
				for _, m := range i.Methods.List {
					if t, ok := m.Type.(*ast.FuncType); ok && len(m.Names) == 1 {
						out[m.Names[0].Name] = method(t)
					}
				}
			}
			return true
		})
	}
	return out, nil
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

// qualified is the type as other packages write it.
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
