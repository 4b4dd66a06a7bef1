// Package pointdoc writes the manual of the lifecycle from the declarations in
// package hook: a picture of all points and a page for each. Its test holds the
// pages to the declarations.
package pointdoc

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/format"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

// Source holds the declarations of package hook.
type Source struct {
	fset *token.FileSet
	// points are the interfaces with //hook:point, in their order.
	points []declared
	types  map[string]typ
	// answers are the constructors of each decision type.
	answers map[string][]Answer
	// prefix is the qualifier of the types in the current file: "" or "message.".
	prefix string
}

// declared is one declared point.
type declared struct {
	name, doc string
	method    *ast.FuncType
}

// typ is one type with its exported fields and methods.
type typ struct {
	doc     string
	members []member
}

type member struct{ name, doc string }

// Answer is a constructor of a decision.
type Answer struct{ Call, Kind, Doc string }

// Read parses package hook in dir, and package message below it.
func Read(dir string) (*Source, error) {
	s := &Source{fset: token.NewFileSet(), types: map[string]typ{}, answers: map[string][]Answer{}}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	messages, err := filepath.Glob(filepath.Join(dir, "message", "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range append(names, messages...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(s.fset, name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		s.prefix = ""
		if f.Name.Name == "message" {
			s.prefix = "message."
		}
		for _, d := range f.Decls {
			s.add(d)
		}
	}
	if len(s.points) == 0 {
		return nil, fmt.Errorf("%s declares no points", dir)
	}
	return s, nil
}

func (s *Source) add(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		s.addFunc(d)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if t, ok := spec.(*ast.TypeSpec); ok && t.Name.IsExported() {
				s.addType(d, t)
			}
		}
	}
}

func (s *Source) addType(d *ast.GenDecl, t *ast.TypeSpec) {
	own := s.types[s.prefix+t.Name.Name]
	own.doc = text(d.Doc)
	switch t := t.Type.(type) {
	case *ast.StructType:
		for _, f := range t.Fields.List {
			for _, n := range f.Names {
				if n.IsExported() {
					own.members = append(own.members, member{n.Name, fieldDoc(f)})
				}
			}
		}
	case *ast.InterfaceType:
		if m := t.Methods.List[0]; declares(d.Doc) {
			s.points = append(s.points, declared{m.Names[0].Name, own.doc, m.Type.(*ast.FuncType)})
		} else if len(t.Methods.List) == 1 {
			own.members = append(own.members, member{m.Names[0].Name, text(m.Doc)})
		}
		for _, m := range t.Methods.List {
			if declares(m.Doc) {
				s.points = append(s.points, declared{m.Names[0].Name, text(m.Doc), m.Type.(*ast.FuncType)})
			}
		}
	}
	s.types[s.prefix+t.Name.Name] = own
}

// declares reports whether the comment ends with the directive of a point.
func declares(g *ast.CommentGroup) bool {
	return g != nil && strings.HasPrefix(g.List[len(g.List)-1].Text, "//hook:point")
}

func fieldDoc(f *ast.Field) string {
	if f.Doc != nil {
		return text(f.Doc)
	}
	return text(f.Comment)
}

func (s *Source) addFunc(d *ast.FuncDecl) {
	if !d.Name.IsExported() {
		return
	}
	if d.Recv != nil {
		name := s.prefix + receiver(d.Recv.List[0].Type)
		own := s.types[name]
		own.members = append(own.members, member{d.Name.Name, text(d.Doc)})
		s.types[name] = own
		return
	}
	if d.Type.Results == nil || len(d.Type.Results.List) != 1 {
		return
	}
	result, ok := d.Type.Results.List[0].Type.(*ast.Ident)
	if !ok || !strings.HasSuffix(result.Name, "Decision") {
		return
	}
	kind := ""
	ast.Inspect(d.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && kind == "" && strings.HasPrefix(id.Name, "Answer") {
			kind = strings.ToLower(strings.TrimPrefix(id.Name, "Answer"))
		}
		return true
	})
	call := strings.TrimPrefix(s.code(d.Type), "func")
	call = strings.TrimSuffix(strings.TrimSpace(call), result.Name)
	s.answers[result.Name] = append(s.answers[result.Name], Answer{d.Name.Name + strings.TrimSpace(call), kind, text(d.Doc)})
}

func receiver(t ast.Expr) string {
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

func (s *Source) code(n ast.Node) string {
	var sb strings.Builder
	if err := format.Node(&sb, s.fset, n); err != nil {
		return err.Error()
	}
	return sb.String()
}

func text(g *ast.CommentGroup) string {
	if g == nil {
		return ""
	}
	return strings.TrimSpace(g.Text())
}

// markdown writes a doc comment as Markdown, with [Name] as code.
func markdown(doc string) string {
	var p comment.Parser
	pr := comment.Printer{DocLinkURL: func(*comment.DocLink) string { return "" }}
	out := string(pr.Markdown(p.Parse(doc)))
	return strings.NewReplacer(`\[`, "`", `\]`, "`").Replace(strings.TrimSpace(out))
}

// first returns the first sentence of a doc comment, in one line.
func first(doc string) string {
	line := strings.Join(strings.Fields(doc), " ")
	if i := strings.Index(line, ". "); i >= 0 {
		line = line[:i+1]
	}
	return strings.NewReplacer("|", `\|`, "[", "`", "]", "`").Replace(line)
}

// Answers returns the possible answers at each point, by its name.
func (s *Source) Answers() map[string][]string {
	out := map[string][]string{}
	for _, p := range s.points {
		for _, a := range s.answers[s.decision(p)] {
			if !slices.Contains(out[p.name], a.Kind) {
				out[p.name] = append(out[p.name], a.Kind)
			}
		}
	}
	return out
}

// Silent returns the points at which a hook's own failure is no opinion.
func (s *Source) Silent() []string {
	var out []string
	for p, info := range point.All() {
		if info.Kind == "decide" && point.Failed(p) == hook.AnswerNone {
			out = append(out, info.Name)
		}
	}
	return out
}

// decision returns the type of the point's answer, "" if it decides nothing.
func (s *Source) decision(p declared) string {
	if p.method.Results == nil {
		return ""
	}
	if id, ok := p.method.Results.List[0].Type.(*ast.Ident); ok && s.answers[id.Name] != nil {
		return id.Name
	}
	return ""
}
