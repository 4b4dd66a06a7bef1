package vet

import (
	"bytes"
	"cmp"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// Fix applies the edits of the problems to the files and returns the remaining problems: those without edits, and those whose edits
// overlap others and need another run. File names are relative to dir. A file that would not parse afterwards is an error and stays
// unchanged.
func Fix(dir string, problems []diag.Problem) ([]diag.Problem, error) {
	byFile := map[string][]diag.Edit{}
	var left []diag.Problem
	for _, p := range problems {
		if !fits(byFile, p.Edits) {
			left = append(left, p)
			continue
		}
		for _, e := range p.Edits {
			byFile[e.Pos.Filename] = append(byFile[e.Pos.Filename], e)
		}
	}
	for name, edits := range byFile {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, filepath.FromSlash(name))
		}
		if err := change(name, edits); err != nil {
			return problems, err
		}
	}
	return left, nil
}

// fits reports whether there are edits and none overlaps the taken ones.
func fits(taken map[string][]diag.Edit, edits []diag.Edit) bool {
	for _, e := range edits {
		if slices.ContainsFunc(taken[e.Pos.Filename], func(o diag.Edit) bool {
			return e.Pos.Offset < o.End.Offset && o.Pos.Offset < e.End.Offset || e.Pos.Offset == o.Pos.Offset
		}) {
			return false
		}
	}
	return len(edits) > 0
}

func change(name string, edits []diag.Edit) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	slices.SortFunc(edits, func(a, b diag.Edit) int { return cmp.Compare(a.Pos.Offset, b.Pos.Offset) })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		if e.Pos.Offset < at || e.End.Offset < e.Pos.Offset || e.End.Offset > len(text) {
			return fmt.Errorf("fix %s: the file has changed", name)
		}
		out.Write(text[at:e.Pos.Offset])
		out.WriteString(e.Text)
		at = e.End.Offset
	}
	out.Write(text[at:])
	changed, err := format.Source(out.Bytes())
	if err != nil {
		return fmt.Errorf("fix %s: %w", name, err)
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return os.WriteFile(name, changed, info.Mode())
}
