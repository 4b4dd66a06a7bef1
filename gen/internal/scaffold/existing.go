package scaffold

import (
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// compare decides about a directory with Go files: it has the whole subsystem, or other code is in the way.
func (b *builder) compare(existing map[string][]byte) (Result, error) {
	result := b.result()
	tests := func(name string, _ []byte) bool { return strings.HasSuffix(name, "_test.go") }
	sources := maps.Clone(existing)
	maps.DeleteFunc(sources, tests)
	own := filepath.Join(b.dir, b.sub.Name+".go")
	if _, ok := existing[own]; !ok {
		own = slices.Sorted(maps.Keys(existing))[0]
	}
	at := b.sub.Find(sources)
	switch {
	case !at.Type.IsValid():
		result.Problems = []diag.Problem{
			diag.New(diag.PackageExists, token.Position{Filename: b.relative(own), Line: 1}, b.sub.Type, b.sub.Name),
		}
	case len(at.Missing) > 0:
		problem, err := b.missing(at)
		if err != nil {
			return Result{}, err
		}
		result.Problems = []diag.Problem{problem}
	case b.into != nil:
		if has, _ := b.into.insertion.HasField(b.into.old); !has {
			result.Problems = []diag.Problem{b.manualFix([]diag.Note{diag.Unchanged(b.sub.Name)})}
		}
	}
	result.Whole = len(result.Problems) == 0
	return result, nil
}

func (b *builder) missing(at Found) (diag.Problem, error) {
	var names []string
	for _, t := range at.Missing {
		names = append(names, t.Name)
	}
	code, err := b.sub.Paste(at.Missing)
	if err != nil {
		return diag.Problem{}, err
	}
	pos := at.Type
	pos.Filename = b.relative(pos.Filename)
	return diag.New(diag.ToolsMissing, pos, b.sub.Type, strings.Join(names, ", "), strings.ReplaceAll(code, "\t", "    ")), nil
}
