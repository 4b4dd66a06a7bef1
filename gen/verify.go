package gen

import (
	"context"
	"fmt"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/load"
)

// verify type-checks the packages whose generated files change, bodies included. An error there is a bug of the generator.
func (r *run) verify(ctx context.Context, output map[string][]byte, changes []Change) ([]diag.Problem, error) {
	var paths []string
	for _, c := range changes {
		for _, root := range r.listing.Roots {
			if output[root.PkgPath] != nil && filepath.Join(filepath.Dir(root.GoFiles[0]), load.Output) == c.Path {
				paths = append(paths, root.PkgPath)
			}
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	for _, path := range slices.Sorted(maps.Keys(output)) {
		needed, err := imports(output[path])
		if err != nil {
			return nil, fmt.Errorf("HG099: internal error: %w", err)
		}
		if err := r.listing.Ensure(ctx, needed...); err != nil {
			return nil, err
		}
	}
	checker := r.listing.NewCheckerWith(output, paths)
	if _, err := checker.Package(load.HookPath); err != nil {
		return nil, err
	}
	var problems []diag.Problem
	for _, path := range paths {
		p, err := checker.Package(path)
		if err != nil {
			return nil, err
		}
		for _, e := range p.Errors {
			pos := outputLine(r.dir, checker.Fset.PositionFor(e.Pos, false))
			if filepath.Base(pos.Filename) != load.Output {
				continue
			}
			problems = append(problems, outputBroken(pos, e.Msg, output[path]))
		}
	}
	return diag.Sort(problems), nil
}

// outputBroken is the problem of generated code that does not compile. The message has its place and line, because the text is not
// on disk.
func outputBroken(pos token.Position, message string, text []byte) diag.Problem {
	p := diag.New(diag.OutputBroken, token.Position{}, pos.String(), message)
	if lines := strings.Split(string(text), "\n"); pos.Line <= len(lines) {
		p.Notes = []diag.Note{diag.Remark(strings.TrimSpace(lines[pos.Line-1]))}
	}
	return p
}
