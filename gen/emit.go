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

// emit generates the files in memory, for the roots and for the packages of the module that they import. It checks all declarations
// first.
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

// render formats the files in parallel: that is a third of the work of a run.
func render(files []*emit.File) (map[string][]byte, error) {
	texts, errs := make([][]byte, len(files)), make([]error, len(files))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(files), runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(files); i = int(next.Add(1)) - 1 {
				errs[i] = recovered(func() (err error) {
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

// recovered turns a panic of the emitter, which refuses unsafe output that way, into an error.
func recovered(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	return f()
}

// file makes the generated file of a package; it is empty if there is nothing to generate.
func (r *run) file(p *model.Package, sets []emit.Toolset) (f *emit.File, err error) {
	sources, err := r.listing.Sources(p.Package)
	if err != nil {
		return nil, err
	}
	from := origin.Package{Name: p.Name, Files: sources}
	err = recovered(func() error {
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

func outputLine(dir string, pos token.Position) token.Position {
	if rel, err := filepath.Rel(dir, pos.Filename); err == nil && filepath.IsLocal(rel) {
		pos.Filename = filepath.ToSlash(rel)
	}
	return pos
}

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
