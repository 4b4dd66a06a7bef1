package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// stale returns the gates that are stale by the page, and says why each is.
func stale(ctx context.Context, chosen []gate, text string, out io.Writer) ([]gate, error) {
	s := staleness{changed: map[string][]string{}, dirs: map[string][]string{}}
	var found []gate
	for _, g := range chosen {
		why, err := s.why(ctx, g, passedAt(g, text))
		if err != nil {
			return nil, err
		}
		if why != "" {
			fmt.Fprintf(out, "STALE: %s: %s\n", g.name, why)
			found = append(found, g)
		}
	}
	fmt.Fprintf(out, "%d of %d gates are stale\n", len(found), len(chosen))
	return found, nil
}

// staleness remembers what git and the go command have said.
type staleness struct {
	changed map[string][]string // files by commit
	dirs    map[string][]string // with embedded files, by package
}

// why says why a gate that passed at a commit is stale, or "".
func (s staleness) why(ctx context.Context, g gate, commit string) (string, error) {
	if commit == "" {
		return "it has not passed", nil
	}
	files, ok := s.changes(ctx, commit)
	if !ok {
		return "git does not know " + commit, nil
	}
	if len(files) == 0 {
		return "", nil
	}
	var changed []string
	for _, pkg := range g.judged() {
		dirs, err := s.paths(ctx, pkg)
		if err != nil {
			return "", err
		}
		for _, file := range files {
			if counts(file, pkg, dirs, g.data) {
				changed = append(changed, file)
			}
		}
	}
	slices.Sort(changed)
	if changed = slices.Compact(changed); len(changed) == 0 {
		return "", nil
	}
	return fmt.Sprintf("%d files changed since %s: %s …", len(changed), commit, changed[0]), nil
}

// changes returns the files that differ from a commit, new ones as well.
func (s staleness) changes(ctx context.Context, commit string) ([]string, bool) {
	if files, ok := s.changed[commit]; ok {
		return files, true
	}
	diff, err := exec.CommandContext(ctx, "git", "diff", "--name-only", "--no-renames", commit, "--").Output()
	if err != nil {
		return nil, false
	}
	others, err := exec.CommandContext(ctx, "git", "ls-files", "-o", "--exclude-standard").Output()
	if err != nil {
		return nil, false
	}
	s.changed[commit] = strings.Fields(string(diff) + string(others))
	return s.changed[commit], true
}

// listed prints the directory of a package and the files that it embeds.
const listed = `{{.Dir}}{{range .EmbedFiles}}
{{$.Dir}}/{{.}}{{end}}{{range .TestEmbedFiles}}
{{$.Dir}}/{{.}}{{end}}{{range .XTestEmbedFiles}}
{{$.Dir}}/{{.}}{{end}}`

// paths returns the directories, and embedded files, of a package and of all packages of this
// repository that its tests import. A package in a module of its own stands for all packages of that module.
func (s staleness) paths(ctx context.Context, pkg string) ([]string, error) {
	if dirs, ok := s.dirs[pkg]; ok {
		return dirs, nil
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-test", "-f", listed, pkg)
	if _, err := os.Stat(filepath.Join(pkg, "go.mod")); err == nil && pkg != "." {
		cmd.Dir = pkg
		cmd.Args[len(cmd.Args)-1] = "./..."
	}
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -deps -test %s: %w", pkg, err)
	}
	var dirs []string
	for dir := range strings.Lines(string(text)) {
		if rel, err := filepath.Rel(root, strings.TrimSpace(dir)); err == nil && filepath.IsLocal(rel) {
			dirs = append(dirs, filepath.ToSlash(rel))
		}
	}
	slices.Sort(dirs)
	s.dirs[pkg] = slices.Compact(dirs)
	return s.dirs[pkg], nil
}

// common are files that every gate depends on.
var common = []string{"go.mod", "go.sum", "testdata/node/package-lock.json"}

// counts reports whether a gate that judges pkg depends on a file: one of these paths or in such a
// directory or its testdata, but not the tests of another package, or one of the gate's data, where
// "." is every Go file.
func counts(file, pkg string, paths, data []string) bool {
	isData := func(d string) bool {
		return file == d || strings.HasPrefix(file, d+"/") || d == "." && strings.HasSuffix(file, ".go")
	}
	if slices.Contains(common, file) || slices.Contains(paths, file) || slices.ContainsFunc(data, isData) {
		return true
	}
	dir := filepath.ToSlash(filepath.Dir(file))
	own := filepath.ToSlash(filepath.Clean(pkg))
	if strings.HasSuffix(file, "_test.go") {
		return dir == own || strings.HasPrefix(dir, own+"/") && slices.Contains(paths, dir)
	}
	if i := strings.Index(dir, "/testdata"); i >= 0 {
		dir = dir[:i]
		return dir == own || strings.HasPrefix(dir, own+"/") && slices.Contains(paths, dir)
	}
	return slices.Contains(paths, dir)
}
