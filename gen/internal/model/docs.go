package model

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"strings"
)

// docs finds the comments of struct fields, also in packages that are known by export data only.
type docs struct {
	fset       *token.FileSet
	byPos      map[token.Pos]string
	parsed     map[string]map[lineKey]string
	directives map[string]fileDirectives
}

type lineKey struct {
	line int
	name string
}

// FieldDoc returns the doc comment of a struct field, else the comment at the end of its line; "" if there is none. It drops directives.
func (m *Model) FieldDoc(v *types.Var) string {
	if m.docs.byPos == nil {
		m.docs.byPos = map[token.Pos]string{}
		m.docs.parsed = map[string]map[lineKey]string{}
	}
	if v.Pkg() == nil {
		return ""
	}
	if p := m.packages[v.Pkg().Path()]; p != nil {
		m.docs.index(p)
	} else if p, err := m.checked(v.Pkg()); err == nil {
		m.docs.index(p)
	}
	if doc, ok := m.docs.byPos[v.Pos()]; ok {
		return doc
	}
	at := m.source.FileSet().Position(v.Pos())
	if files, ok := m.source.(interface {
		File(path, name string) string
	}); ok {
		at.Filename = files.File(v.Pkg().Path(), at.Filename)
	}
	return m.docs.file(at, v.Name())
}

// TagWord returns the place of a word in the hook tag of a field; no position if the package was not read from source.
func (m *Model) TagWord(v *types.Var, word string) token.Pos {
	if v.Pkg() == nil || m.packages[v.Pkg().Path()] == nil {
		return token.NoPos
	}
	pos := token.NoPos
	for _, f := range m.packages[v.Pkg().Path()].Files {
		if v.Pos() < f.FileStart || v.Pos() >= f.FileEnd {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok && field.Tag != nil && field.Pos() <= v.Pos() && v.Pos() < field.Type.End() {
				pos = wordIn(field.Tag, word)
			}
			return true
		})
	}
	return pos
}

// wordIn returns the place of a word in the value of hook:"…" in a tag.
func wordIn(tag *ast.BasicLit, word string) token.Pos {
	start := strings.Index(tag.Value, `hook:"`)
	found := regexp.MustCompile(`[",\s]` + regexp.QuoteMeta(word) + `(?:[",=\s]|$)`).FindStringIndex(tag.Value[max(start, 0):])
	if start < 0 || found == nil {
		return token.NoPos
	}
	return tag.Pos() + token.Pos(start+found[0]+1)
}

// Ours reports whether a field or type is declared in the main module.
func (m *Model) Ours(v types.Object) bool {
	if v.Pkg() == nil {
		return false
	}
	p, err := m.checked(v.Pkg())
	return err == nil && p.Writable
}

func (m *Model) checked(t *types.Package) (*Package, error) {
	p, err := m.source.Checked(t)
	if err != nil {
		return nil, err
	}
	return &Package{Package: p}, nil
}

func (d *docs) index(p *Package) {
	for _, f := range p.Files {
		if _, done := d.byPos[f.Package]; done {
			return
		}
		d.byPos[f.Package] = ""
		fields(f, func(name *ast.Ident, doc string) { d.byPos[name.Pos()] = doc })
	}
}

// file reads the comment from a file that is not checked.
func (d *docs) file(at token.Position, name string) string {
	lines, ok := d.parsed[at.Filename]
	if !ok {
		lines = map[lineKey]string{}
		d.parsed[at.Filename] = lines
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, at.Filename, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return ""
		}
		fields(f, func(name *ast.Ident, doc string) { lines[lineKey{fset.Position(name.Pos()).Line, name.Name}] = doc })
	}
	return lines[lineKey{at.Line, name}]
}

func fields(f *ast.File, yield func(name *ast.Ident, doc string)) {
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.StructType)
		if !ok {
			return true
		}
		for _, field := range s.Fields.List {
			doc := strings.TrimSpace(field.Doc.Text())
			if doc == "" {
				doc = strings.TrimSpace(field.Comment.Text())
			}
			for _, name := range namesOf(field) {
				yield(name, doc)
			}
		}
		return true
	})
}
