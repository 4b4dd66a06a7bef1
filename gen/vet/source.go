package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/grapnel-go/grapnel/gen/internal/load"
	"github.com/grapnel-go/grapnel/gen/internal/model"
)

// source gives a model the package of a pass without generated files and tests, as hookgen sees it.
type source struct {
	pass *analysis.Pass
	pkg  *load.Package
	// own are the generated files, tests the test files.
	own, tests []*ast.File
	imports    map[string]*types.Package
}

func newSource(pass *analysis.Pass) *source {
	s := &source{pass: pass, imports: map[string]*types.Package{}}
	s.pkg = &load.Package{Path: pass.Pkg.Path(), Name: pass.Pkg.Name(), Writable: true}
	for _, f := range pass.Files {
		name := pass.Fset.PositionFor(f.FileStart, false).Filename
		switch {
		case s.checkGenerated(f, name):
			s.pkg.Own = append(s.pkg.Own, name)
			s.own = append(s.own, f)
		case strings.HasSuffix(name, "_test.go"):
			s.tests = append(s.tests, f)
		default:
			if filepath.Base(name) == load.Output {
				s.pkg.Foreign = name
			}
			s.pkg.Dir = filepath.Dir(name)
			s.pkg.Files = append(s.pkg.Files, f)
		}
	}
	return s
}

// checkGenerated reports whether hookgen wrote the file.
func (s *source) checkGenerated(f *ast.File, name string) bool {
	for _, group := range f.Comments {
		if group.Pos() < f.Package && len(group.List) > 0 && group.List[0].Text == load.Header {
			return true
		}
	}
	if filepath.Base(name) != load.Output {
		return false
	}
	text, err := os.ReadFile(name)
	return err == nil && load.Own(name, text)
}

// model returns the model of the package; nil if it has nothing to do with hooks.
func (s *source) model() (*model.Model, error) {
	hook := contract(s.pass.Pkg)
	if hook == nil {
		return nil, nil
	}
	all := closure(s.pass.Pkg)[1:]
	for _, p := range all {
		s.imports[p.Path()] = p
	}
	s.check()
	if hook == s.pass.Pkg {
		return model.New(s)
	}
	facts, points := map[*types.Package]*hookFact{}, (*hookFact)(nil)
	for _, p := range all {
		if d := new(hookFact); s.pass.ImportPackageFact(p, d) {
			facts[p] = d
			if len(d.Points) > 0 {
				points = d
			}
		}
	}
	switch {
	case points != nil:
	case slices.Contains(s.pass.Pkg.Imports(), hook):
		return nil, errNoFact
	default:
		return nil, nil // hook is only an indirect dependency without facts, so the package declares no hook
	}
	m := model.NewFromFacts(s, hook, points.Facts)
	for p, d := range facts {
		if p != hook && d.Main {
			m.AddFacts(p, d.Facts)
		}
	}
	return m, nil
}

// check type-checks the declarations again, without the generated file.
func (s *source) check() {
	s.pkg.Info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
	}
	conf := types.Config{
		IgnoreFuncBodies: true, FakeImportC: true, Importer: s, Sizes: s.pass.TypesSizes,
		Error: func(err error) {
			if e, ok := err.(types.Error); ok {
				s.pkg.Errors = append(s.pkg.Errors, e)
			}
		},
	}
	if v := s.pass.Pkg.GoVersion(); v != "" {
		conf.GoVersion = v
	}
	s.pkg.Types, _ = conf.Check(s.pkg.Path, s.pass.Fset, s.pkg.Files, s.pkg.Info) // errors are collected, not fatal
	s.pkg.Types.MarkComplete()
}

// Import implements types.Importer with the packages that the pass has.
func (s *source) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	p := s.imports[path]
	if p == nil || !p.Complete() {
		return nil, fmt.Errorf("package %s has no types", path)
	}
	return p, nil
}

// FileSet implements model.Source.
func (s *source) FileSet() *token.FileSet { return s.pass.Fset }

// Package implements model.Source.
func (s *source) Package(path string) (*load.Package, error) {
	if path != s.pkg.Path {
		return nil, fmt.Errorf("%s: %w", path, load.ErrNoSource)
	}
	return s.pkg, nil
}

// Checked implements model.Source.
func (s *source) Checked(t *types.Package) (*load.Package, error) {
	if t != s.pkg.Types {
		return nil, fmt.Errorf("%s: %w", t.Path(), load.ErrNoSource)
	}
	return s.pkg, nil
}

// Position implements model.Source. It keeps file names as the pass has them and ignores //line comments.
func (s *source) Position(pos token.Pos) token.Position { return s.pass.Fset.PositionFor(pos, false) }

// Relative implements model.Source.
func (s *source) Relative(pos token.Position) token.Position { return pos }
