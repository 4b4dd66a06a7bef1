// Package emit writes Go source from models. It is the only user of jennifer. Foreign text gets into the output only as checked
// identifiers, quoted literals, and comment lines written one by one.
package emit

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/grapnel-go/grapnel/gen/internal/load"
	"github.com/grapnel-go/grapnel/internal/origin"
)

// File is one generated file. An import has the name of its package, unless that name is used otherwise.
type File struct {
	jen     *jen.File
	pkg     *types.Package
	used    map[string]bool   // names that an import or a new declaration must not have
	path    map[string]string // import path by local name
	name    map[string]string // local name by import path
	written bool
}

// locals are the names of parameters and variables in generated code that are also names of packages.
var locals = []string{"a", "c", "env", "in", "item", "key", "m", "o", "self", "twice", "v", "ctx", "call", "cfg", "tools", "tool", "parts", "points", "at", "s", "d", "h", "i", "ok", "inv", "name", "missing", "next", "w", "b", "f", "g", "text", "num", "names", "e", "out", "err"}

// NewFile returns an empty file of the package. imports are the packages that the code may name; this fixes their local names.
func NewFile(pkg *types.Package) *File {
	f := &File{
		jen: jen.NewFilePathName(pkg.Path(), pkg.Name()), pkg: pkg,
		used: map[string]bool{}, path: map[string]string{}, name: map[string]string{},
	}
	for _, name := range pkg.Scope().Names() {
		f.used[name] = true
		if obj, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok && !obj.IsAlias() {
			f.useTypeParameters(obj.Type())
		}
	}
	f.jen.NoFormat = true // tidy formats
	f.jen.HeaderComment(load.Header)
	for _, p := range [][2]string{
		{"context", "context"}, {"errors", "errors"}, {"maps", "maps"}, {"regexp", "regexp"}, {"slices", "slices"}, {"strconv", "strconv"},
		{"strings", "strings"}, {"time", "time"},
		{hookPath, "hook"}, {messagePath, "message"}, {pointPath, "point"}, {compositePath, "composite"}, {argsPath, "args"},
	} {
		f.Import(p[0], p[1])
	}
	return f
}

// Origin writes the fingerprint of the sources into the file.
func (f *File) Origin(fingerprint string) { f.jen.HeaderComment(origin.Line(fingerprint)) }

// Path is the import path of the package.
func (f *File) Path() string { return f.pkg.Path() }

// Import fixes the local name of a package and returns it; "" for the package itself.
func (f *File) Import(importPath, pkgName string) string {
	if importPath == f.pkg.Path() {
		return ""
	}
	if name, ok := f.name[importPath]; ok {
		return name
	}
	name := f.free(pkgName, path.Base(path.Dir(importPath)))
	f.used[name], f.path[name], f.name[importPath] = true, importPath, name
	if name == pkgName {
		f.jen.ImportName(importPath, name)
	} else {
		f.jen.ImportAlias(importPath, name)
	}
	return name
}

// free returns the name if it is unused, else with the parent directory in front, else numbered.
func (f *File) free(name, parent string) string {
	taken := func(s string) bool {
		return f.used[s] || !token.IsIdentifier(s) || types.Universe.Lookup(s) != nil || slices.Contains(locals, s)
	}
	if !taken(name) {
		return name
	}
	if both := parent + name; !taken(both) {
		return both
	}
	for i := 2; ; i++ {
		if s := name + strconv.Itoa(i); !taken(s) {
			return s
		}
	}
}

// Unique returns the name, numbered if it is used, and reserves it.
func (f *File) Unique(name string) string {
	s := name
	for i := 2; f.used[s] || types.Universe.Lookup(s) != nil || f.imported(s); i++ {
		s = name + strconv.Itoa(i)
	}
	f.used[s] = true
	return s
}

// function returns the name of the function that does verb with values of a type; a type without a name uses the place of its use.
func (f *File) function(verb string, t types.Type, place string) string {
	if n, ok := t.(*types.Named); ok {
		place = exported(n.Obj().Name())
		if n.Obj().Pkg() != nil && n.Obj().Pkg().Path() != f.Path() {
			place = exported(n.Obj().Pkg().Name()) + place
		}
	}
	return f.Unique(verb + place)
}

// imported reports whether a file of the package imports something by the name, which no declaration can have then.
func (f *File) imported(name string) bool {
	for file := range f.pkg.Scope().Children() {
		if file.Lookup(name) != nil {
			return true
		}
	}
	return false
}

// Qual writes an exported name of this or another package.
func (f *File) Qual(pkg *types.Package, name string) *jen.Statement {
	if !token.IsIdentifier(name) {
		panic(fmt.Sprintf("emit: name %q: not an identifier", name))
	}
	f.Import(pkg.Path(), pkg.Name())
	return jen.Qual(pkg.Path(), name)
}

// Add writes declarations, with a blank line in front.
func (f *File) Add(code ...jen.Code) {
	f.written = true
	f.jen.Line()
	for _, c := range code {
		f.jen.Add(c)
	}
}

// Render returns the formatted file with imports in two groups. It fails if the file does not parse.
func (f *File) Render() ([]byte, error) {
	var buf bytes.Buffer
	if err := f.jen.Render(&buf); err != nil {
		return nil, fmt.Errorf("render %s: %w", f.pkg.Path(), err)
	}
	return tidy(buf.Bytes())
}

// tidy sorts the imports, refuses compiler directives, and formats.
func tidy(src []byte) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	if err := onlyLines(file); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(file.Decls, func(d ast.Decl) bool {
		g, ok := d.(*ast.GenDecl)
		return ok && g.Tok == token.IMPORT
	})
	if i < 0 {
		return format.Source(src)
	}
	from, to := fset.Position(file.Decls[i].Pos()).Offset, fset.Position(file.Decls[i].End()).Offset
	return format.Source(slices.Concat(src[:from], []byte(importBlock(file.Imports)), src[to:]))
}

// onlyLines refuses block comments and directives.
func onlyLines(file *ast.File) error {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if d, ok := ast.ParseDirective(c.Slash, c.Text); ok {
				return fmt.Errorf("the output would have the directive //%s:%s", d.Tool, d.Name)
			}
			if strings.HasPrefix(c.Text, "/*") {
				return fmt.Errorf("the output would have a comment that is no line: %.40q", c.Text)
			}
		}
	}
	return nil
}

func importBlock(specs []*ast.ImportSpec) string {
	var std, others []string
	for _, spec := range specs {
		line := spec.Path.Value
		if spec.Name != nil {
			line = spec.Name.Name + " " + line
		}
		if head, _, _ := strings.Cut(spec.Path.Value, "/"); strings.Contains(head, ".") {
			others = append(others, line)
		} else {
			std = append(std, line)
		}
	}
	groups := strings.TrimSpace(strings.Join(std, "\n\t") + "\n\n\t" + strings.Join(others, "\n\t"))
	if len(specs) == 1 {
		return "import " + groups
	}
	return "import (\n\t" + groups + "\n)"
}

// Empty reports whether nothing has been written.
func (f *File) Empty() bool { return !f.written }

// useTypeParameters reserves the names of a type's parameters.
func (f *File) useTypeParameters(t types.Type) {
	if named, ok := t.(*types.Named); ok {
		for p := range named.TypeParams().TypeParams() {
			f.used[p.Obj().Name()] = true
		}
	}
}
