package scaffold

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// qualifier returns the name by which the file calls the package, "." for a dot import, and whether the import is missing.
func (in Insertion) qualifier(f *ast.File) (name string, missing bool) {
	taken := map[string]bool{}
	for _, spec := range f.Imports {
		own := importPath(spec)
		called := path.Base(own)
		if spec.Name != nil {
			called = spec.Name.Name
		}
		switch {
		case own != in.Path:
			taken[called] = true
		case spec.Name == nil:
			return in.Package, false
		case called != "_":
			return called, false
		}
	}
	for _, name := range []string{in.Package, path.Base(path.Dir(in.Path)) + in.Package, in.Package + "2", in.Package + "3"} {
		if token.IsIdentifier(name) && !taken[name] && (in.Taken == nil || !in.Taken(name)) {
			return name, true
		}
	}
	return in.Package + "hook", true
}

func importPath(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value) // what was parsed can be unquoted
	return p
}

// addImport adds the import to the group of the first parenthesised import declaration that shares most of its path, else as a new
// group at the end.
func (e *edit) addImport(in Insertion, name string) {
	line := strconv.Quote(in.Path)
	if name != in.Package {
		line = name + " " + line
	}
	group, last := e.importDecls()
	switch {
	case group != nil:
		e.addToGroup(group, in.Path, line)
	case last != nil:
		e.text = e.insert(e.lineEnd(e.offset(last.End())), "\nimport "+line)
	default:
		e.text = e.insert(e.lineEnd(e.offset(e.file.Name.End())), "\n\nimport "+line)
	}
}

// importDecls returns the first parenthesised import declaration and the last one of all, without import "C".
func (e *edit) importDecls() (group, last *ast.GenDecl) {
	for _, decl := range e.file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.IMPORT {
			break
		}
		last = d
		if d.Lparen.IsValid() && len(d.Specs) > 0 && group == nil {
			group = d
		}
	}
	return group, last
}

func (e *edit) addToGroup(d *ast.GenDecl, path, line string) {
	groups := e.groups(d)
	best, most := -1, 0
	for i, g := range groups {
		for _, spec := range g {
			if n := common(importPath(spec), path); n > most {
				best, most = i, n
			}
		}
	}
	if best < 0 {
		best = slices.IndexFunc(groups, func(g []*ast.ImportSpec) bool { return strings.Contains(importPath(g[0]), ".") })
	}
	if best < 0 {
		end := e.specEnd(groups[len(groups)-1])
		e.text = e.insert(end, "\n\n\t"+line)
		return
	}
	var before []*ast.ImportSpec
	for _, spec := range groups[best] {
		if importPath(spec) < path {
			before = append(before, spec)
		}
	}
	if len(before) == 0 {
		first := groups[best][0]
		at := e.offset(first.Pos())
		if first.Doc != nil {
			at = e.offset(first.Doc.Pos())
		}
		e.text = e.insert(at, line+"\n\t")
		return
	}
	e.text = e.insert(e.specEnd(before), "\n\t"+line)
}

func (e *edit) specEnd(group []*ast.ImportSpec) int {
	last := group[len(group)-1]
	at := e.offset(last.End())
	if last.Comment != nil {
		at = e.offset(last.Comment.End())
	}
	return e.lineEnd(at)
}

func (e *edit) groups(d *ast.GenDecl) [][]*ast.ImportSpec {
	var out [][]*ast.ImportSpec
	line := -1
	for _, s := range d.Specs {
		spec := s.(*ast.ImportSpec)
		start := spec.Pos()
		if spec.Doc != nil {
			start = spec.Doc.Pos()
		}
		if at := e.fset.PositionFor(start, false).Line; line < 0 || at > line+1 {
			out = append(out, nil)
		}
		line = e.fset.PositionFor(spec.End(), false).Line
		out[len(out)-1] = append(out[len(out)-1], spec)
	}
	return out
}

// common returns the number of leading elements that two import paths share.
func common(a, b string) int {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return n
}
