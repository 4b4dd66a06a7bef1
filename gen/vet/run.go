package vet

import (
	"context"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/load"
)

// Options of one run. The zero value checks the packages below the working directory.
type Options struct {
	// Dir is the directory that patterns and positions are relative to; "" is the working directory.
	Dir string
	// Patterns are package patterns of the go command; nil is ./...
	Patterns []string
	// Tags are build tags, separated by commas.
	Tags string
	// Info also reports problems of severity info.
	Info bool
}

// Run checks packages of the main module without go vet. The packages need not compile, so it works before the first generation.
// The problems are sorted by position. An error is a failure of the environment.
//
// Packages of the main module are read from source, with their tests; all others are export data.
func Run(ctx context.Context, o Options) ([]diag.Problem, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	d := driver{options: o, dir: dir, facts: map[*types.Package]*hookFact{}}
	if len(d.options.Patterns) == 0 {
		d.options.Patterns = []string{"./..."}
	}
	if o.Tags != "" {
		d.flags = []string{"-tags=" + o.Tags}
	}
	paths, problems, err := d.list(ctx)
	if err != nil || len(problems) > 0 {
		return problems, err
	}
	if err := d.load(ctx, paths); err != nil {
		return nil, err
	}
	return diag.Sort(d.problems), nil
}

// driver runs the analyzer over packages in import order.
type driver struct {
	options  Options
	dir      string
	flags    []string
	roots    []string
	facts    map[*types.Package]*hookFact
	problems []diag.Problem
}

// list returns the packages of the patterns, the packages of the main module that they import, and package hook.
func (d *driver) list(ctx context.Context) ([]string, []diag.Problem, error) {
	listing, problems, err := load.Find(ctx, d.dir, d.options.Patterns, d.flags...)
	if err != nil || diag.HasErrors(problems) {
		return nil, problems, err
	}
	for _, p := range listing.Roots {
		d.roots = append(d.roots, p.PkgPath)
	}
	paths, others, err := listing.Reach(ctx, d.roots...)
	if slices.Contains(others, load.HookPath) {
		paths = append(paths, load.HookPath)
	}
	return paths, nil, err
}

// mode omits NeedDeps, which would read all dependencies from source.
const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
	packages.NeedExportFile | packages.NeedModule | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo

func (d *driver) load(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	loaded, err := packages.Load(&packages.Config{Context: ctx, Dir: d.dir, Mode: mode, Tests: true, BuildFlags: d.flags}, paths...)
	if err != nil {
		return fmt.Errorf("load %s: %w", strings.Join(d.options.Patterns, " "), err)
	}
	initial := map[*packages.Package]bool{}
	for _, p := range loaded {
		initial[p] = true
		if p.PkgPath == load.HookPath && len(p.Syntax) == 0 && len(p.Errors) > 0 {
			return fmt.Errorf("load package hook: %s", p.Errors[0].Msg)
		}
	}
	packages.Visit(loaded, nil, func(p *packages.Package) {
		if initial[p] && err == nil && !strings.HasSuffix(p.ID, ".test") {
			err = d.analyze(p)
		}
	})
	return err
}

func (d *driver) analyze(p *packages.Package) error {
	root := slices.Contains(d.roots, strings.TrimSuffix(p.PkgPath, "_test"))
	if root {
		d.unreadable(p)
	}
	if p.Types == nil || len(p.Syntax) == 0 {
		return nil
	}
	problems, err := run(d.pass(p), d.options.Info)
	if err != nil {
		return fmt.Errorf("%s: %w", p.PkgPath, err)
	}
	if root {
		for _, problem := range problems {
			d.add(problem)
		}
	}
	return nil
}

func (d *driver) pass(p *packages.Package) *analysis.Pass {
	module := &analysis.Module{}
	if p.Module != nil {
		module = &analysis.Module{Path: p.Module.Path, Version: p.Module.Version, GoVersion: p.Module.GoVersion}
	}
	return &analysis.Pass{
		Analyzer: New(), Fset: p.Fset, Files: p.Syntax, Pkg: p.Types, TypesInfo: p.TypesInfo, TypesSizes: p.TypesSizes,
		TypeErrors: p.TypeErrors, Module: module, ReadFile: os.ReadFile,
		Report: func(analysis.Diagnostic) {}, // the result has the problems
		ImportPackageFact: func(t *types.Package, fact analysis.Fact) bool {
			have, into := d.facts[t], fact.(*hookFact)
			if have != nil {
				*into = *have
			}
			return have != nil
		},
		ExportPackageFact: func(fact analysis.Fact) { d.facts[p.Types] = fact.(*hookFact) },
	}
}

// unreadable reports files that do not parse, also where the go command lists nothing of the package because of one.
func (d *driver) unreadable(p *packages.Package) {
	var last token.Position
	for _, e := range p.Errors {
		if e.Kind != packages.ParseError && (e.Kind != packages.ListError || len(p.Syntax) > 0) {
			continue
		}
		pos := placeOf(e.Pos)
		if pos.Filename == last.Filename && pos.Line == last.Line {
			continue // a follow-up error
		}
		last = pos
		head, _, _ := strings.Cut(strings.TrimSpace(e.Msg), "\n")
		d.add(diag.New(diag.Unparsable, pos, pos.Filename, head))
	}
}

// placeOf parses a position of the form file:line:col.
func placeOf(text string) token.Position {
	var pos token.Position
	pos.Filename = text
	for _, into := range []*int{&pos.Column, &pos.Line} {
		i := strings.LastIndexByte(pos.Filename, ':')
		n, err := strconv.Atoi(pos.Filename[i+1:])
		if i < 0 || err != nil {
			continue
		}
		*into, pos.Filename = n, pos.Filename[:i]
	}
	if pos.Line == 0 {
		pos.Line, pos.Column = pos.Column, 0
	}
	return pos
}

// add records a problem with file names relative to the directory of the run.
func (d *driver) add(p diag.Problem) {
	p.Pos, p.End = d.relative(p.Pos), d.relative(p.End)
	p.Notes, p.Edits = slices.Clone(p.Notes), slices.Clone(p.Edits)
	for i := range p.Notes {
		p.Notes[i].Pos = d.relative(p.Notes[i].Pos)
	}
	for i := range p.Edits {
		p.Edits[i].Pos, p.Edits[i].End = d.relative(p.Edits[i].Pos), d.relative(p.Edits[i].End)
	}
	d.problems = append(d.problems, p)
}

func (d *driver) relative(pos token.Position) token.Position {
	if rel, err := filepath.Rel(d.dir, pos.Filename); err == nil && pos.Filename != "" && filepath.IsLocal(rel) {
		pos.Filename = filepath.ToSlash(rel)
	}
	return pos
}
