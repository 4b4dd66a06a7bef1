// Package gen is the generator: it loads packages, models what they declare, plans the composites, writes the code in memory,
// type-checks the result, and only then touches files. The same source gives the same bytes.
package gen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/gen/diag"
	"github.com/grapnel-go/grapnel/gen/load"
	"github.com/grapnel-go/grapnel/gen/model"
)

// Options of one run. The zero value generates for the packages below the working directory.
type Options struct {
	// Dir is the directory that patterns and positions are relative to; "" is the working directory.
	Dir string
	// Patterns are as for the go command; nil is ./...
	Patterns []string
	// Check writes nothing and reports what would be written.
	Check bool
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
	Problems []diag.Problem
	// Changes are the files that were written or deleted, or would have been under Check.
	Changes []Change
}

// Run generates. An error is a failure of the environment, such as a go command that does not work; everything that is wrong with
// the packages is a problem.
func Run(ctx context.Context, o Options) (Result, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return Result{}, err
	}
	patterns := o.Patterns
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	listing, problems, err := load.List(ctx, dir, patterns)
	if err != nil || diag.HasErrors(problems) {
		return Result{Problems: problems}, err
	}
	r := run{listing: listing, dir: dir}
	output, problems, err := r.generate(ctx)
	if err != nil || diag.HasErrors(problems) {
		return Result{Problems: problems}, err
	}
	changes, err := r.compare(output)
	if err != nil {
		return Result{Problems: problems}, err
	}
	wrong, err := r.verify(ctx, output, changes)
	problems = diag.Sort(append(problems, wrong...))
	if err != nil || diag.HasErrors(wrong) {
		return Result{Problems: problems}, err
	}
	if !o.Check {
		err = r.write(changes, output)
	}
	return Result{Problems: problems, Changes: relative(dir, changes)}, err
}

// run is one run.
type run struct {
	listing *load.Listing
	dir     string
	model   *model.Model
	// mentioned are the roots that may have something to generate.
	mentioned []*model.Package
}

// generate returns the text of the generated file by package path.
func (r *run) generate(ctx context.Context) (map[string][]byte, []diag.Problem, error) {
	var paths []string
	for _, root := range r.listing.Roots {
		if r.listing.Mentions(root.PkgPath, "hook:") {
			paths = append(paths, root.PkgPath)
		}
	}
	if len(paths) == 0 {
		return nil, nil, nil
	}
	if err := r.listing.Ensure(ctx, load.HookPath); err != nil {
		return nil, nil, err
	}
	m, err := model.New(r.listing.NewChecker())
	if err != nil {
		return nil, nil, err
	}
	r.model = m
	for _, path := range paths {
		p, err := m.Package(path)
		if err != nil {
			return nil, nil, err
		}
		r.mentioned = append(r.mentioned, p)
	}
	output, err := r.emit()
	return output, m.Problems(), err
}

// compare returns the files of the roots that are not what they should be.
func (r *run) compare(output map[string][]byte) ([]Change, error) {
	var changes []Change
	for _, root := range r.listing.Roots {
		own, err := r.listing.OwnFiles(root)
		if err != nil {
			return nil, err
		}
		want, name := output[root.PkgPath], filepath.Join(filepath.Dir(root.GoFiles[0]), load.Output)
		if want != nil {
			have, err := os.ReadFile(name)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				changes = append(changes, Change{name, Missing})
			case err != nil:
				return nil, err
			case !bytes.Equal(have, want):
				changes = append(changes, Change{name, Stale})
			}
		}
		for _, file := range own {
			if file != name || want == nil {
				changes = append(changes, Change{file, Orphaned})
			}
		}
	}
	return changes, nil
}

func (r *run) write(changes []Change, output map[string][]byte) error {
	texts := map[string][]byte{}
	for _, root := range r.listing.Roots {
		texts[filepath.Join(filepath.Dir(root.GoFiles[0]), load.Output)] = output[root.PkgPath]
	}
	for _, c := range changes {
		if c.Kind == Orphaned {
			if err := os.Remove(c.Path); err != nil {
				return fmt.Errorf("delete what nothing generates any more: %w", err)
			}
			continue
		}
		if err := replace(c.Path, texts[c.Path]); err != nil {
			return fmt.Errorf("write the generated file: %w", err)
		}
	}
	return nil
}

// replace writes a file so that a reader sees the old text or the new one.
func replace(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".hookgen-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

func relative(dir string, changes []Change) []Change {
	out := slices.Clone(changes)
	for i, c := range out {
		if rel, err := filepath.Rel(dir, c.Path); err == nil && filepath.IsLocal(rel) {
			out[i].Path = filepath.ToSlash(rel)
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return out
}
