// Package vet is an analyzer with the rules of the generator. In an editor, under go vet and in a linter it reports the same problems
// as hookgen, with the same codes at the same places. It also checks function bodies and reports uses of composites and hooks that
// compile but do not work.
//
// The analyzer builds a gen/internal/model from one pass. Like hookgen it reads the package without its generated file. It exports the
// directives of a package, and the points of package hook, as one fact per package, so it needs only export data of the imports. It
// reports a problem in the package whose file has it, never in a generated file.
package vet

import (
	"errors"
	"go/types"
	"reflect"

	"golang.org/x/tools/go/analysis"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/emit"
	"github.com/grapnel-go/grapnel/gen/internal/load"
	"github.com/grapnel-go/grapnel/gen/internal/model"
)

const doc = `report hooks that hookgen would refuse, and hooks that are misused

The analyzer says what "hookgen" says before it writes code: directives
//hook:… that are misspelt, methods that almost are a point of the lifecycle,
tools with two owners, wrong tags. It also reports what compiles and does not
work: a composite that was never generated or is out of date (HG080, HG081),
copied (HG082) or made without a field that it needs (HG083), a hook that keeps
what it was called with (HG084), a call of a tool that does not exist (HG085), an
OnEvent that waits (HG086), a hook that calls the composite around it (HG087),
and with -info tools that are known only at run time (HG088).

"hookgen explain CODE" tells more of each. //hook:ignore CODE on the line above
silences one place.`

// New returns the analyzer. Its result is the []diag.Problem that it reported, for a driver that prints them with notes.
func New() *analysis.Analyzer {
	a := &analysis.Analyzer{
		Name: "hookvet", Doc: doc, RunDespiteErrors: true,
		FactTypes: []analysis.Fact{new(hookFact)}, ResultType: reflect.TypeFor[[]diag.Problem](),
	}
	info := a.Flags.Bool("info", false, "also report problems of severity info")
	a.Run = func(pass *analysis.Pass) (any, error) { return run(pass, *info) }
	return a
}

// hookFact is the fact of a package with directives. Main: the package belongs to the main module, where hookgen reads sources;
// other modules are read from their generated constants.
type hookFact struct {
	Main bool
	model.Facts
}

// AFact implements analysis.Fact.
func (*hookFact) AFact() {}

// String describes the fact in tests and logs.
func (d *hookFact) String() string { return "declares hooks" }

func run(pass *analysis.Pass, info bool) ([]diag.Problem, error) {
	src := newSource(pass)
	m, err := src.model()
	if err != nil {
		return nil, err
	}
	if m == nil {
		return src.report(src.directives(), info), nil
	}
	p, err := m.Package(pass.Pkg.Path())
	if err != nil {
		return nil, err
	}
	m.CheckHooks(p)
	for _, s := range p.Subsystems {
		if len(s.Tools) > 0 {
			_, problems := emit.NewToolset(m, s)
			for _, problem := range problems {
				m.Add(src.moveHere(problem, s.Pos))
			}
		}
	}
	if d := m.Facts(p); !d.Empty() {
		pass.ExportPackageFact(&hookFact{Main: isMain(pass), Facts: d})
	}
	if pass.Pkg.Path() != load.HookPath {
		misuse(pass, src, m, p)
	}
	return src.report(m.Problems(), info), nil
}

// isMain reports whether the package belongs to the main module; without modules every package does.
func isMain(pass *analysis.Pass) bool { return pass.Module == nil || pass.Module.Version == "" }

// contract returns package hook if it is root or one of its dependencies, else nil.
func contract(root *types.Package) *types.Package {
	for _, p := range closure(root) {
		if p.Path() == load.HookPath {
			return p
		}
	}
	return nil
}

// closure returns a package with all its imports, as far as its types need them.
func closure(root *types.Package) []*types.Package {
	all, seen := []*types.Package{root}, map[*types.Package]bool{root: true}
	for i := 0; i < len(all); i++ {
		for _, p := range all[i].Imports() {
			if !seen[p] {
				seen[p] = true
				all = append(all, p)
			}
		}
	}
	return all
}

var errNoFact = errors.New("the facts of package hook are missing: run the analyzer with a driver that keeps facts of imported packages, such as go vet")
