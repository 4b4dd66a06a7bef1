package model

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/directive"
	"github.com/grapnel-go/grapnel/gen/internal/schema"
)

// fileDirectives are the directives above types and fields of one file, by the place of the name. They are read on demand, also in
// packages of other modules.
type fileDirectives struct {
	schema map[lineKey]string
	open   map[lineKey]bool
}

// SchemaOf returns the text of the //hook:schema above a type or a field, or "".
func (m *Model) SchemaOf(o types.Object) string {
	if p := m.factsOf(o); p != nil {
		if name, ok := o.(*types.TypeName); ok {
			return p.schemas[name]
		}
	}
	at, key := m.keyOf(o)
	return m.directivesIn(o.Pkg(), at.Filename).schema[key]
}

// Open reports whether other values than the type's constants are allowed: the type has //hook:enum open.
func (m *Model) Open(t *types.TypeName) bool {
	if p := m.factsOf(t); p != nil {
		return p.enums[t].Open
	}
	at, key := m.keyOf(t)
	return m.directivesIn(t.Pkg(), at.Filename).open[key]
}

// factsOf returns the package of an object if it is known from facts only, else nil.
func (m *Model) factsOf(o types.Object) *Package {
	if o.Pkg() == nil {
		return nil
	}
	if p := m.packages[o.Pkg().Path()]; p != nil && p.fromFacts {
		return p
	}
	return nil
}

func (m *Model) keyOf(o types.Object) (token.Position, lineKey) {
	at := m.source.FileSet().Position(o.Pos())
	return at, lineKey{at.Line, o.Name()}
}

func (m *Model) directivesIn(pkg *types.Package, name string) fileDirectives {
	if s, ok := m.docs.directives[name]; ok || pkg == nil {
		return s
	}
	if m.docs.directives == nil {
		m.docs.directives = map[string]fileDirectives{}
	}
	s := fileDirectives{schema: map[lineKey]string{}, open: map[lineKey]bool{}}
	m.docs.directives[name] = s
	fset, file := m.fileOf(pkg, name)
	if file == nil {
		return s
	}
	found, _ := directive.Scan(fset, file) // problems are reported when the package itself is generated
	for _, f := range found {
		for _, id := range namesOf(f.Node) {
			key := lineKey{fset.Position(id.Pos()).Line, id.Name}
			switch {
			case f.Schema != nil:
				s.schema[key] = f.Schema.JSON
			case f.Enum != nil:
				s.open[key] = f.Enum.Open
			}
		}
	}
	return s
}

// fileOf returns the checked file, else parses it from disk; nil if that fails.
func (m *Model) fileOf(pkg *types.Package, name string) (*token.FileSet, *ast.File) {
	if p, err := m.checked(pkg); err == nil {
		for _, f := range p.Files {
			if m.source.FileSet().Position(f.Package).Filename == name {
				return m.source.FileSet(), f
			}
		}
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fset, nil
	}
	return fset, f
}

// namesOf returns the names that a type or field declares; an embedded field has the name of its type.
func namesOf(n ast.Node) []*ast.Ident {
	switch n := n.(type) {
	case *ast.TypeSpec:
		return []*ast.Ident{n.Name}
	case *ast.Field:
		if len(n.Names) > 0 {
			return n.Names
		}
		if id := embeddedName(n.Type); id != nil {
			return []*ast.Ident{id}
		}
	}
	return nil
}

func embeddedName(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.StarExpr:
		return embeddedName(e.X)
	case *ast.IndexExpr:
		return embeddedName(e.X)
	}
	return nil
}

// checkSchema reports a //hook:schema that generated code cannot check, and one above a type that does not decode itself.
func (m *Model) checkSchema(p *Package, f directive.Found) {
	if _, err := schema.Shape(f.Schema.JSON); err != nil {
		m.badSchema(f, err)
		return
	}
	spec, ok := f.Node.(*ast.TypeSpec)
	if !ok {
		return
	}
	name, ok := p.Info.Defs[spec.Name].(*types.TypeName)
	if !ok {
		return
	}
	p.schemas[name] = f.Schema.JSON
	if !schema.SelfDecoding(name.Type()) {
		m.add(diag.UnusedSchema, f.Pos, name.Name())
	}
}

// badSchema reports a schema that generated code cannot check, with the corrected one where a keyword is misspelt.
func (m *Model) badSchema(f directive.Found, err error) {
	if unknown, ok := errors.AsType[*schema.UnknownKeyword](err); ok && unknown.Meant != "" {
		key := `"` + unknown.Keyword + `":`
		if strings.Count(f.Schema.JSON, key) == 1 {
			m.add(diag.MisspeltKeyword, f.Pos, "", err, strings.Replace(f.Schema.JSON, key, `"`+unknown.Meant+`":`, 1))
			return
		}
	}
	m.add(diag.BadSchema, f.Pos, "", err)
}
