package load

import (
	"bytes"
	"context"
	"errors"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

func (l *Listing) noPackage(pattern, why string) diag.Problem {
	p := diag.New(diag.NoPackage, token.Position{}, pattern)
	head, rest := strings.TrimSuffix(pattern, "/..."), ""
	if head != pattern {
		rest = "/..."
	}
	dirs := l.directories()
	if near := diag.Closest(path.Clean(head), dirs); near != "" {
		p = diag.New(diag.MisspeltPackage, token.Position{}, pattern, "./"+near+rest)
	}
	p.Notes = []diag.Note{diag.Remark(why)}
	if _, err := FindModule(l.dir); errors.Is(err, ErrNoModule) && !strings.Contains(why, "go.work") {
		p.Remedy = "run hookgen in a module; go mod init example.com/agent makes one here"
	}
	return p
}

// noPackages is the problem of a run without packages. It asks the go command again, because its messages about go.mod are lost in
// a listing with errors.
func (l *Listing) noPackages(ctx context.Context, patterns []string) diag.Problem {
	problem := func(cause diag.Cause) diag.Problem {
		return diag.New(cause, token.Position{}, strings.Join(patterns, " "), l.dir)
	}
	said := l.says(ctx, patterns)
	if said == "" {
		return problem(diag.NoPackages)
	}
	p := problem(diag.GoListFails)
	if strings.Contains(said, "go mod tidy") {
		p = problem(diag.Untidy)
	}
	for line := range strings.Lines(said) {
		p.Notes = append(p.Notes, diag.Remark(strings.TrimSpace(line)))
	}
	return p
}

// says returns what the go command reports about the patterns when it fails; "" if it does not. A listing with errors loses its messages
// about go.mod.
func (l *Listing) says(ctx context.Context, patterns []string) string {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"list"}, l.flags, []string{"--"}, patterns)...)
	cmd.Dir, cmd.Stderr = l.dir, &said
	if cmd.Run() == nil {
		return ""
	}
	return strings.TrimSpace(said.String())
}

// maxDirectories is how many directories are looked at for a suggestion.
const maxDirectories = 5000

// directories returns the directories with Go files below the directory of the run.
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

// leftOut reports whether the go command skips directories of this name.
func leftOut(name string) bool {
	return name == "vendor" || name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}
