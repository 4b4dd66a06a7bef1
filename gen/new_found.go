package gen

import (
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/gen/diag"
	"github.com/grapnel-go/grapnel/gen/scaffold"
)

// found decides about a directory that has Go files: it is the subsystem, whole, or it is in the way.
func (n *newcomer) found(there map[string][]byte) (NewResult, error) {
	result := n.result()
	tests := func(name string, _ []byte) bool { return strings.HasSuffix(name, "_test.go") }
	sources := maps.Clone(there)
	maps.DeleteFunc(sources, tests)
	own := filepath.Join(n.dir, n.sub.Name+".go")
	if _, ok := there[own]; !ok {
		own = slices.Sorted(maps.Keys(there))[0]
	}
	at := n.sub.Find(sources)
	switch {
	case !at.Type.IsValid():
		result.Problems = []diag.Problem{
			diag.New(diag.PackageExists, token.Position{Filename: n.relative(own), Line: 1}, n.sub.Type, n.sub.Name),
		}
	case len(at.Missing) > 0:
		problem, err := n.missing(at)
		if err != nil {
			return NewResult{}, err
		}
		result.Problems = []diag.Problem{problem}
	case n.into != nil:
		if has, _ := n.into.insertion.HasField(n.into.old); !has {
			result.Problems = []diag.Problem{n.byHand([]diag.Note{diag.Unchanged(n.sub.Name)})}
		}
	}
	result.Whole = len(result.Problems) == 0
	return result, nil
}

// missing is the problem of tools that a subsystem does not have.
func (n *newcomer) missing(at scaffold.Found) (diag.Problem, error) {
	var names []string
	for _, t := range at.Missing {
		names = append(names, t.Name)
	}
	code, err := n.sub.Paste(at.Missing)
	if err != nil {
		return diag.Problem{}, err
	}
	pos := at.Type
	pos.Filename = n.relative(pos.Filename)
	return diag.New(diag.ToolsMissing, pos, n.sub.Type, strings.Join(names, ", "), strings.ReplaceAll(code, "\t", "    ")), nil
}
