package load

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/tools/go/gcexportdata"
	"golang.org/x/tools/go/packages"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// Checker type-checks listed packages and their imports on demand, each once. All its types are one consistent set. It is not safe
// for concurrent use.
type Checker struct {
	Fset    *token.FileSet
	listing *Listing
	// output are the texts of generated files by package path; other packages are checked without one.
	output map[string][]byte
	// bodies are the packages whose function bodies are checked too.
	bodies []string
	done   map[string]*Package
	types  map[string]*types.Package
}

// Package is one package from source.
type Package struct {
	Path, Name, Dir string
	// Writable: the package is of the main module.
	Writable bool
	// Files are the parsed files, without generated ones.
	Files []*ast.File
	Types *types.Package
	Info  *types.Info
	// Errors are those of the type checker, in order. Most do not matter, because nothing uses the wrong declarations.
	Errors []types.Error
	// Syntax are the problems of files that do not parse.
	Syntax []diag.Problem
	// Own are the generated files on disk.
	Own []string
	// Foreign is a file with the name of the output that hookgen did not write, or "".
	Foreign string
}

// NewChecker returns a checker that sees no generated file of the main module.
func (l *Listing) NewChecker() *Checker { return l.NewCheckerWith(nil, nil) }

// NewCheckerWith returns a checker that sees these generated files, by package path, and checks the bodies of some packages.
func (l *Listing) NewCheckerWith(output map[string][]byte, bodies []string) *Checker {
	return &Checker{
		Fset: token.NewFileSet(), listing: l, output: output, bodies: bodies,
		done: map[string]*Package{}, types: map[string]*types.Package{"unsafe": types.Unsafe},
	}
}

// FileSet returns the file set of all positions.
func (c *Checker) FileSet() *token.FileSet { return c.Fset }

// Position resolves a position, relative to the directory of the run if it lies below it. It ignores //line comments: a source must
// not have another file shown.
func (c *Checker) Position(pos token.Pos) token.Position {
	return c.listing.position(c.Fset.PositionFor(pos, false))
}

// Import implements types.Importer.
func (c *Checker) Import(path string) (*types.Package, error) {
	if t := c.types[path]; t != nil && t.Complete() {
		return t, nil
	}
	p := c.listing.Package(path)
	if p == nil {
		return nil, fmt.Errorf("package %s is not among the dependencies", path)
	}
	if !writable(p) && p.ExportFile != "" {
		if t, err := c.export(p); err == nil {
			return t, nil
		}
	}
	from, err := c.Package(path)
	if err != nil {
		return nil, err
	}
	return from.Types, nil
}

// importer resolves the imports of one package: the standard library has its own copy of golang.org/x/net.
type importer struct {
	c  *Checker
	of *packages.Package
}

// Import implements types.Importer.
func (i importer) Import(path string) (*types.Package, error) {
	if p := i.of.Imports[path]; p != nil {
		path = p.PkgPath
	}
	return i.c.Import(path)
}

func (c *Checker) export(p *packages.Package) (*types.Package, error) {
	f, err := os.Open(p.ExportFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	//lint:ignore SA1019 go list of this Go version names archives; the function goes when Go 1.28 is the oldest that is used
	r, err := gcexportdata.NewReader(f)
	if err != nil {
		return nil, err
	}
	return gcexportdata.Read(r, c.Fset, c.types, p.PkgPath)
}

// Package returns a package checked from source.
func (c *Checker) Package(path string) (*Package, error) {
	if p, ok := c.done[path]; ok {
		if p == nil {
			return nil, fmt.Errorf("import cycle through %s", path)
		}
		return p, nil
	}
	listed := c.listing.Package(path)
	if listed == nil || len(listed.GoFiles) == 0 {
		why := ""
		if path == HookPath && listed != nil && len(listed.Errors) > 0 { // reported nowhere else
			why = ": " + listed.Errors[0].Msg
		}
		return nil, fmt.Errorf("%s: %w%s", path, ErrNoSource, why)
	}
	c.done[path] = nil
	p, err := c.parse(listed)
	if err != nil {
		delete(c.done, path)
		return nil, err
	}
	c.check(p, listed)
	c.done[path], c.types[path] = p, p.Types
	return p, nil
}

func (c *Checker) parse(listed *packages.Package) (*Package, error) {
	files, err := c.listing.sources(listed)
	if err != nil {
		return nil, err
	}
	p := &Package{Path: listed.PkgPath, Name: listed.Name, Dir: filepath.Dir(listed.GoFiles[0]), Writable: writable(listed)}
	for _, src := range files {
		if src.own && p.Writable {
			p.Own = append(p.Own, src.name)
			continue
		}
		if filepath.Base(src.name) == Output {
			p.Foreign = src.name
		}
		c.parseFile(p, src.name, src.text)
	}
	if text := c.output[p.Path]; text != nil {
		c.parseFile(p, filepath.Join(p.Dir, Output), text)
	}
	if len(p.Files) > 0 {
		p.Name = p.Files[0].Name.Name
	}
	return p, nil
}

func (c *Checker) parseFile(p *Package, name string, text []byte) {
	f, err := parser.ParseFile(c.Fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		p.Syntax = append(p.Syntax, syntaxProblems(c.listing, name, text, err)...)
	}
	if f != nil {
		p.Files = append(p.Files, f)
	}
}

func (c *Checker) check(p *Package, listed *packages.Package) {
	p.Info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
	}
	conf := types.Config{
		IgnoreFuncBodies: !slices.Contains(c.bodies, p.Path),
		FakeImportC:      true,
		Importer:         importer{c, listed},
		Sizes:            types.SizesFor("gc", runtime.GOARCH),
		Error: func(err error) {
			if e, ok := err.(types.Error); ok {
				p.Errors = append(p.Errors, e)
			}
		},
	}
	if m := listed.Module; m != nil && m.GoVersion != "" {
		conf.GoVersion = "go" + m.GoVersion
	}
	p.Types, _ = conf.Check(p.Path, c.Fset, p.Files, p.Info) // errors are collected, not fatal
	p.Types.MarkComplete()
}

// Mentions reports whether match accepts a file of the package; it parses nothing.
func (l *Listing) Mentions(path string, match func(text []byte) bool) bool {
	p := l.Package(path)
	if p == nil {
		return false
	}
	files, err := l.sources(p)
	if err != nil {
		return false
	}
	for _, src := range files {
		if match(src.text) {
			return true
		}
	}
	return false
}

// Mentioning parses those files of a package that contain a text. It skips files that cannot be read or parsed.
func (c *Checker) Mentioning(path, text string) []*ast.File {
	p := c.listing.Package(path)
	if p == nil {
		return nil
	}
	files, err := c.listing.sources(p)
	if err != nil {
		return nil
	}
	var out []*ast.File
	for _, src := range files {
		if !bytes.Contains(src.text, []byte(text)) {
			continue
		}
		if f, err := parser.ParseFile(c.Fset, src.name, src.text, parser.ParseComments|parser.SkipObjectResolution); err == nil {
			out = append(out, f)
		}
	}
	return out
}

// File returns the path of a file of a package: under -trimpath export data has the name within the module.
func (c *Checker) File(path, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	if p := c.listing.Package(path); p != nil {
		for _, file := range p.GoFiles {
			if filepath.Base(file) == filepath.Base(filepath.FromSlash(name)) {
				return file
			}
		}
	}
	return name
}

func (c *Checker) Checked(t *types.Package) (*Package, error) {
	if p := c.done[t.Path()]; p != nil && p.Types == t {
		return p, nil
	}
	return nil, fmt.Errorf("%s: %w", t.Path(), ErrNoSource)
}

// Relative makes the file of a position relative to the directory of the run.
func (c *Checker) Relative(pos token.Position) token.Position { return c.listing.position(pos) }
