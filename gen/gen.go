// Package gen is the generator: it loads packages, models what they declare, plans the composites, writes the code in memory,
// type-checks the result, and only then touches files. The same source gives the same bytes.
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
	// Patterns are as for the go command; nil is ./...
	Patterns []string
	// Tags are build tags, separated by commas.
	Tags string
	// Check writes nothing and reports what would be written.
	Check bool
	// Strict makes every warning an error.
	Strict bool
}

// Change is one file that differs from what it is generated from.
type Change struct {
	// Path is relative to the directory of the run where it lies below it.
	Path string
	// Kind is stale, missing or orphaned.
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

// Result is what a run has found and done.
type Result struct {
	// Problems are sorted by position. With an error among them nothing was written.
	Problems []Problem
	// Changes are the files that were written or deleted, or would have been under Check.
	Changes []Change
	// Texts are what the files of Changes should hold, by path; an orphaned file has none.
	Texts map[string][]byte
	// Packages are the paths of the packages that the patterns name; Read are those with something to read in them.
	Packages, Read []string
}

// Run generates. An error is a failure of the environment, such as a go command that does not work; everything that is wrong with
// the packages is a problem.
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

// all lists, reads, plans, writes in memory, verifies, and writes at last. It ends where something is wrong.
func (r *run) all(ctx context.Context) error {
	if ok, err := r.list(ctx); err != nil || !ok {
		return err
	}
	output, problems, err := r.generate(ctx)
	if err != nil || r.wrong(problems) {
		return err
	}
	changes, problems, err := r.compare(output)
	if err != nil || r.wrong(problems) {
		return err
	}
	problems, err = r.verify(ctx, output, changes)
	if err != nil || r.wrong(problems) {
		return err
	}
	if r.options.Check {
		r.tell(changes, output)
		return nil
	}
	if err := r.write(changes, output); err != nil {
		return err
	}
	r.tell(changes, output)
	return nil
}

// list finds the packages; it tells whether to go on.
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
	if err != nil || r.wrong(problems) {
		return false, err
	}
	r.listing = listing
	return true, r.readable()
}

// wrong notes problems and tells whether they stop the run.
func (r *run) wrong(problems []diag.Problem) bool {
	if r.options.Strict {
		problems = diag.Strict(problems)
	}
	r.result.Problems = append(r.result.Problems, problems...)
	return diag.HasErrors(problems)
}

// run is one run.
type run struct {
	dir     string
	options Options
	result  Result
	listing *load.Listing
	model   *model.Model
	// around are problems of what is beside the model: files that are not read, and the version of the contract.
	around []diag.Problem
	// mentioned are the roots that may have something to generate.
	mentioned []*model.Package
}

// generate returns the text of the generated file by package path.
func (r *run) generate(ctx context.Context) (map[string][]byte, []diag.Problem, error) {
	if err := r.read(ctx); err != nil || r.model == nil {
		return nil, r.around, err
	}
	output, err := r.emit()
	return output, append(r.model.Problems(), r.around...), err
}

// read makes the model of the packages with directives; there is none without such packages.
func (r *run) read(ctx context.Context) error {
	var paths []string
	for _, root := range r.listing.Roots {
		r.result.Packages = append(r.result.Packages, root.PkgPath)
		if r.listing.Mentions(root.PkgPath, directive.Mentioned) {
			paths = append(paths, root.PkgPath)
		}
	}
	r.result.Read = paths
	r.around = r.unread()
	if len(paths) == 0 {
		return nil
	}
	if err := r.listing.Ensure(ctx, slices.Concat(paths, []string{load.HookPath, compositePath})...); err != nil {
		return err
	}
	if old := r.oldContract(); old != nil {
		r.around = append(r.around, *old)
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
