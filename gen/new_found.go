package gen

import (
	"fmt"
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
		result.Problems = []diag.Problem{{
			Code: "HG060", Pos: token.Position{Filename: n.relative(own), Line: 1},
			Message: fmt.Sprintf("this file is here already, and package %s declares no type %s; hookgen new never overwrites",
				n.sub.Name, n.sub.Type),
			Fix: "choose another name, or another directory with -dir",
		}}
	case len(at.Missing) > 0:
		problem, err := n.missing(at)
		if err != nil {
			return NewResult{}, err
		}
		result.Problems = []diag.Problem{problem}
	case n.into != nil:
		if has, _ := n.into.insertion.HasField(n.into.old); !has {
			result.Problems = []diag.Problem{n.byHand([]diag.Note{{Message: n.sub.Name + " is here already, so nothing was changed"}})}
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
	return diag.Problem{
		Code: "HG060", Pos: pos,
		Message: fmt.Sprintf("%s is here already and has no %s; hookgen new never changes what is there",
			n.sub.Type, strings.Join(names, ", ")),
		Fix: "take it out of -tools, or add this and run hookgen:\n" + strings.ReplaceAll(code, "\t", "    "),
	}, nil
}
