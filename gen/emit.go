package gen

import (
	"fmt"
	"go/parser"
	"go/token"
	"path/filepath"

	"github.com/grapnel-go/grapnel/gen/diag"
	"github.com/grapnel-go/grapnel/gen/emit"
	"github.com/grapnel-go/grapnel/gen/load"
	"github.com/grapnel-go/grapnel/gen/model"
)

// emit writes the generated files in memory, for the roots and for the packages of the module that these depend on.
func (r *run) emit() (map[string][]byte, error) {
	files := map[string]*emit.File{}
	for _, p := range r.model.Packages() {
		f := emit.NewFile(p.Types)
		if r.emitPackage(f, p) {
			files[p.Path] = f
		}
		if p.Foreign != "" && files[p.Path] != nil {
			r.model.Add(diag.Problem{
				Code: "HG052", Pos: r.model.InFile(p.Foreign), Message: load.Output + " exists but was not written by hookgen",
				Fix: "move it to another file",
			})
		}
	}
	if diag.HasErrors(r.model.Problems()) {
		return nil, nil
	}
	output := map[string][]byte{}
	for path, f := range files {
		text, err := f.Render()
		if err != nil {
			return nil, fmt.Errorf("HG099: internal error: %w", err)
		}
		output[path] = text
	}
	return output, nil
}

// emitPackage writes what the package needs and tells whether that is anything.
func (r *run) emitPackage(f *emit.File, p *model.Package) bool {
	if p.Declares {
		emit.Points(f, r.model.Points)
	}
	for _, c := range p.Composites {
		if c.Plan != nil && !diag.HasErrors(r.model.Problems()) {
			emit.Composite(f, c, r.model.Points, r.model.Position(c.Pos).Filename)
		}
	}
	emit.Toolsets(f, r.toolsets(p))
	return !f.Empty()
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
