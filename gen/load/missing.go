package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/gen/diag"
)

// noPackage is the problem of a pattern that matches nothing.
func (l *Listing) noPackage(pattern, why string) diag.Problem {
	p := diag.Problem{
		Code: "HG003", Message: "pattern " + quoted(pattern) + " matches no package",
		Notes: []diag.Note{{Message: why}}, Fix: "name a package of this module, as in ./daemon or ./...",
	}
	head, rest := strings.TrimSuffix(pattern, "/..."), ""
	if head != pattern {
		rest = "/..."
	}
	dirs := l.directories()
	if near := diag.Closest(path.Clean(head), dirs); near != "" {
		near = "./" + near + rest
		p.Message += "; did you mean " + quoted(near) + "?"
		p.Fix = "hookgen " + near
	}
	return p
}

// nothing is the problem of patterns that match nothing at all. The go command is asked once more: listing with errors loses what
// it says of a go.mod that it cannot use.
func (l *Listing) nothing(ctx context.Context, patterns []string) diag.Problem {
	p := diag.Problem{
		Code: "HG003", Message: fmt.Sprintf("no package in %s matches %s", l.dir, strings.Join(patterns, " ")),
		Fix: "see what the go command says:  go list " + strings.Join(patterns, " "),
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"list"}, l.flags, []string{"--"}, patterns)...)
	cmd.Dir, cmd.Stderr = l.dir, &said
	if err := cmd.Run(); err == nil || said.Len() == 0 {
		return p
	}
	for line := range strings.Lines(strings.TrimSpace(said.String())) {
		p.Notes = append(p.Notes, diag.Note{Message: strings.TrimSpace(line)})
	}
	p.Fix = "mend what the go command says"
	if strings.Contains(said.String(), "go mod tidy") {
		p.Fix = "go mod tidy"
	}
	return p
}

func quoted(s string) string { return `"` + s + `"` }

// maxDirectories is how many directories are looked at for a suggestion.
const maxDirectories = 5000

// directories are those of the module with Go files, relative to the directory of the run and below it.
func (l *Listing) directories() []string {
	var out []string
	seen := 0
	err := filepath.WalkDir(l.dir, func(name string, d os.DirEntry, err error) error {
		switch {
		case err != nil || seen > maxDirectories:
			return fs.SkipAll
		case d.IsDir() && name != l.dir && leftOut(d.Name()):
			return fs.SkipDir
		case d.IsDir():
			seen++
		case strings.HasSuffix(name, ".go"):
			rel, err := filepath.Rel(l.dir, filepath.Dir(name))
			if rel = filepath.ToSlash(rel); err == nil && (len(out) == 0 || out[len(out)-1] != rel) {
				out = append(out, rel)
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // only a suggestion is lost
	}
	return out
}

// leftOut tells whether the go command does not look into a directory of this name.
func leftOut(name string) bool {
	return name == "vendor" || name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}
