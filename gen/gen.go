// Package gen is the generator behind hookgen: it loads packages, models their declarations, plans the composites, generates the
// code in memory, type-checks the result, and only then writes files. The same source gives the same bytes.
package gen

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/directive"
	"github.com/grapnel-go/grapnel/gen/internal/load"
	"github.com/grapnel-go/grapnel/gen/internal/model"
)

// Options of one run. The zero value generates for the packages below the working directory.
type Options struct {
	// Dir is the directory that patterns and positions are relative to; "" is the working directory.
	Dir string
	// Patterns are package patterns of the go command; nil is ./...
	Patterns []string
	// Tags are build tags, separated by commas.
	Tags string
	// Check writes nothing and reports what would be written.
	Check bool
	// Strict makes every warning an error.
	Strict bool
}

// Change is one generated file that differs from its declarations.
type Change struct {
	// Path is relative to the directory of the run if the file lies below it.
	Path string
	Kind Kind
}

// Kind of a change.
type Kind string

// The kinds.
const (
	Stale    Kind = "stale"
	Missing  Kind = "missing"
	Orphaned Kind = "orphaned"
)

// Result is the result of a run.
type Result struct {
	// Problems are sorted by position. With an error among them nothing was written.
	Problems []Problem
	// Changes are the files that were written or deleted, or would have been under Check.
	Changes []Change
	// Texts are the texts that the files of Changes should have, by path; an orphaned file has none.
	Texts map[string][]byte
	// Packages are the paths of the packages that the patterns name; Read are those with directives.
	Packages, Read []string
}

// Run generates. It returns an error if the environment fails, such as the go command; mistakes in the packages are problems of the
// result.
func Run(ctx context.Context, o Options) (Result, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return Result{}, err
	}
	r := run{dir: dir, options: o}
	err = r.all(ctx)
	r.result.Problems = diag.Locate(diag.Sort(r.result.Problems), diag.Files(dir))
	return r.result, err
}

// all runs the steps in order and stops at the first one with an error.
func (r *run) all(ctx context.Context) error {
	if ok, err := r.list(ctx); err != nil || !ok {
		return err
	}
	output, problems, err := r.generate(ctx)
	if err != nil || r.note(problems) {
		return err
	}
	changes, problems, err := r.compare(output)
	if err != nil || r.note(problems) {
		return err
	}
	problems, err = r.verify(ctx, output, changes)
	if err != nil || r.note(problems) {
		return err
	}
	if r.options.Check {
		r.record(changes, output)
		return nil
	}
	if err := r.write(changes, output); err != nil {
		return err
	}
	r.record(changes, output)
	return nil
}

// list finds the packages; false ends the run.
func (r *run) list(ctx context.Context) (bool, error) {
	patterns := r.options.Patterns
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	var flags []string
	if r.options.Tags != "" {
		flags = append(flags, "-tags="+r.options.Tags)
	}
	listing, problems, err := load.List(ctx, r.dir, patterns, flags...)
	if err != nil || r.note(problems) {
		return false, err
	}
	r.listing = listing
	return true, r.readable()
}

// note records problems and reports whether they stop the run.
func (r *run) note(problems []diag.Problem) bool {
	if r.options.Strict {
		problems = diag.Strict(problems)
	}
	r.result.Problems = append(r.result.Problems, problems...)
	return diag.HasErrors(problems)
}

type run struct {
	dir     string
	options Options
	result  Result
	listing *load.Listing
	model   *model.Model
	// runProblems are the problems of unread files and of the version of package composite.
	runProblems []diag.Problem
	// mentioned are the roots that contain directives.
	mentioned []*model.Package
}

// generate returns the texts of the generated files by package path.
func (r *run) generate(ctx context.Context) (map[string][]byte, []diag.Problem, error) {
	if err := r.read(ctx); err != nil || r.model == nil {
		return nil, r.runProblems, err
	}
	output, err := r.emit()
	return output, append(r.model.Problems(), r.runProblems...), err
}

// read makes the model of the packages with directives; without such packages the model stays nil.
func (r *run) read(ctx context.Context) error {
	var paths []string
	for _, root := range r.listing.Roots {
		r.result.Packages = append(r.result.Packages, root.PkgPath)
		if r.listing.Mentions(root.PkgPath, directive.Mentioned) {
			paths = append(paths, root.PkgPath)
		}
	}
	r.result.Read = paths
	r.runProblems = r.unread()
	if len(paths) == 0 {
		return nil
	}
	if err := r.listing.Ensure(ctx, slices.Concat(paths, []string{load.HookPath, compositePath})...); err != nil {
		return err
	}
	if old := r.oldContract(); old != nil {
		r.runProblems = append(r.runProblems, *old)
		return nil
	}
	m, err := model.New(r.listing.NewChecker())
	if err != nil {
		return err
	}
	r.model = m
	for _, path := range paths {
		p, err := m.Package(path)
		if err != nil {
			return err
		}
		r.mentioned = append(r.mentioned, p)
	}
	return nil
}
