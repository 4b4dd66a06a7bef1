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
	"github.com/grapnel-go/grapnel/gen/schema"
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
	if sets := r.toolsets(p); len(sets) > 0 {
		f.Add(emit.Toolsets(f, sets)...)
	}
	return !f.Empty()
}

// toolsets returns the subsystems with typed tools.
func (r *run) toolsets(p *model.Package) []emit.Toolset {
	var sets []emit.Toolset
	for _, s := range p.Subsystems {
		if len(s.Tools) == 0 {
			continue
		}
		set := emit.Toolset{Type: s.Named.Obj(), Recv: s.Receiver}
		for _, t := range s.Tools {
			if tool, ok := r.tool(p, t); ok {
				set.Tools = append(set.Tools, tool)
			}
		}
		sets = append(sets, set)
	}
	return sets
}

func (r *run) tool(p *model.Package, t *model.Tool) (emit.Tool, bool) {
	form, ok := r.model.Form(t)
	if !ok {
		return emit.Tool{}, false
	}
	tool := emit.Tool{Method: t.Method, Name: t.Name, Doc: t.Doc, Options: t.Options, Pointer: form.Pointer, Env: form.Env}
	if form.Input == nil {
		return tool, true
	}
	input, problems := schema.New(p.Types, form.Input, schema.Source{
		Position: r.model.Position, Doc: r.model.FieldDoc, Open: r.model.Open,
	})
	tool.Input = input
	for _, problem := range problems {
		r.model.Add(problem)
	}
	return tool, true
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
