package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/aymanbagabas/go-udiff"

	"github.com/grapnel-go/grapnel/gen"
)

// diff prints the changes of a check as unified diffs for git apply.
func diff(w io.Writer, dir string, result gen.Result) error {
	for _, c := range result.Changes {
		name := filepath.FromSlash(c.Path)
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		have, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		before, after := "a/"+c.Path, "b/"+c.Path
		switch c.Kind {
		case gen.Missing:
			before = "/dev/null"
		case gen.Orphaned:
			after = "/dev/null"
		}
		if _, err := fmt.Fprint(w, udiff.Unified(before, after, string(have), string(result.Texts[c.Path]))); err != nil {
			return err
		}
	}
	return nil
}
