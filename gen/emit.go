package gen

import (
	"fmt"
	"go/parser"
	"go/token"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/emit"
	"github.com/grapnel-go/grapnel/gen/internal/model"
	"github.com/grapnel-go/grapnel/internal/origin"
)

// emit writes the generated files in memory, for the roots and for the packages of the module that these depend on. Everything is
// read and judged before the first line is written.
func (r *run) emit() (map[string][]byte, error) {
	packages := r.model.Packages()
	sets := map[string][]emit.Toolset{}
	for _, p := range packages {
		sets[p.Path] = r.toolsets(p)
	}
	if diag.HasErrors(r.model.Problems()) {
		return nil, nil
	}
	var files []*emit.File
	for _, p := range packages {
		f, err := r.file(p, sets[p.Path])
		if err != nil {
			return nil, internalError(p.Path, err)
		}
		if !f.Empty() {
			files = append(files, f)
		}
	}
	return render(files)
}

func internalError(path string, err error) error {
	return fmt.Errorf("HG099: internal error, nothing was written: %s: %w", path, err)
}

// render writes and formats the files, as many at once as there are processors: it is a third of the work.
func render(files []*emit.File) (map[string][]byte, error) {
	texts, errs := make([][]byte, len(files)), make([]error, len(files))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(files), runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(files); i = int(next.Add(1)) - 1 {
				errs[i] = caught(func() (err error) {
					texts[i], err = files[i].Render()
					return err
				})
			}
		})
	}
	wg.Wait()
	output := map[string][]byte{}
	for i, f := range files {
		if errs[i] != nil {
			return nil, internalError(f.Path(), errs[i])
		}
		output[f.Path()] = texts[i]
	}
	return output, nil
}

// caught runs a part of the emitter, which panics rather than write what it must not; that is an error here.
func caught(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	return f()
}

// file makes the generated file of a package, which is empty if there is nothing to write.
func (r *run) file(p *model.Package, sets []emit.Toolset) (f *emit.File, err error) {
	sources, err := r.listing.Sources(p.Package)
	if err != nil {
		return nil, err
	}
	from := origin.Package{Name: p.Name, Files: sources}
	err = caught(func() error {
		f = emit.NewFile(p.Types)
		f.Origin(from.Fingerprint(r.model.PointNames()))
		for _, c := range p.Composites {
			emit.Composite(f, c, r.model.Points, r.model.Position(c.Pos).Filename)
		}
		emit.Toolsets(f, sets)
		for _, s := range p.Subsystems {
			emit.Defaults(f, s)
		}
		return nil
	})
	return f, err
}

// toolsets returns the subsystems with typed tools.
func (r *run) toolsets(p *model.Package) []emit.Toolset {
	var sets []emit.Toolset
	for _, s := range p.Subsystems {
		if len(s.Tools) == 0 {
			continue
		}
		set, problems := emit.NewToolset(r.model, s)
		for _, problem := range problems {
			r.model.Add(problem)
		}
		if !diag.HasErrors(problems) {
			sets = append(sets, set)
		}
	}
	return sets
}

// outputLine makes a position in a generated file readable.
func outputLine(dir string, pos token.Position) token.Position {
	if rel, err := filepath.Rel(dir, pos.Filename); err == nil && filepath.IsLocal(rel) {
		pos.Filename = filepath.ToSlash(rel)
	}
	return pos
}

// imports returns what a generated file imports.
func imports(text []byte) ([]string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, s := range f.Imports {
		paths = append(paths, s.Path.Value[1:len(s.Path.Value)-1])
	}
	return paths, nil
}
