package load

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// List is [Find], and meanwhile lists the imports that the packages with hooks probably need. That only saves time:
// [Listing.Ensure] lists the rest.
func List(ctx context.Context, dir string, patterns []string, flags ...string) (*Listing, []diag.Problem, error) {
	ctx, cancel := context.WithCancel(ctx)
	wait := prefetch(ctx, newListing(dir, flags))
	l, problems, err := Find(ctx, dir, patterns, flags...)
	if err != nil || l == nil {
		cancel()
	}
	roots := wait()
	cancel()
	if l == nil {
		return nil, problems, err
	}
	packages.Visit(roots, nil, l.note)
	for _, p := range roots {
		l.tried[p.PkgPath] = true
	}
	return l, problems, err
}

// prefetch starts to list the likely imports; the returned function waits for them. It ignores errors: whoever needs a missing
// package reports it.
func prefetch(ctx context.Context, l *Listing) (wait func() []*packages.Package) {
	done := make(chan []*packages.Package, 1)
	go func() {
		var roots []*packages.Package
		if paths := l.likelyImports(); len(paths) > 0 {
			roots, _ = l.ask(ctx, exported, paths)
		}
		done <- roots
	}()
	return func() []*packages.Package { return <-done }
}

// likelyImports returns imports from the standard library and required modules, of packages that have directives or are imported by
// such a package. It ignores build constraints, so there may be too many.
func (l *Listing) likelyImports() []string {
	m, err := FindModule(l.dir)
	if err != nil || len(l.contract()) == 0 {
		return nil
	}
	dirs, todo := l.scanModule(m)
	var out []string
	seen := map[string]bool{}
	for todo = append(todo, l.contract()...); len(todo) > 0; {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[name] {
			continue
		}
		seen[name] = true
		switch {
		case name == m.Path || strings.HasPrefix(name, m.Path+"/"):
			todo = append(todo, dirs[name]...)
		case importable.MatchString(name) && !wide(name) && m.has(name):
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// scanModule returns the imports of every directory of a module by import path, and the paths of those with directives.
func (l *Listing) scanModule(m Module) (dirs map[string][]string, hooks []string) {
	dirs = map[string][]string{}
	seen := 0
	_ = filepath.WalkDir(m.Dir, func(name string, d os.DirEntry, err error) error { // skips unreadable directories
		switch {
		case err != nil || seen > maxDirectories:
			return fs.SkipAll
		case d.IsDir() && name != m.Dir && (leftOut(d.Name()) || isModule(name)):
			return fs.SkipDir
		case d.IsDir():
			seen++
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			text, err := os.ReadFile(name)
			rel, relErr := filepath.Rel(m.Dir, filepath.Dir(name))
			if err != nil || relErr != nil || Own(name, text) {
				return nil
			}
			at := path.Join(m.Path, filepath.ToSlash(rel))
			dirs[at] = append(dirs[at], importsOf(name, text)...)
			if bytes.Contains(text, []byte("//hook:")) {
				hooks = append(hooks, at)
			}
		}
		return nil
	})
	return dirs, hooks
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// has reports whether a package belongs to the standard library or a required module, so that the go command finds it locally.
func (m Module) has(name string) bool {
	if first, _, _ := strings.Cut(name, "/"); !strings.Contains(first, ".") {
		return true
	}
	words := strings.Fields(string(m.Text))
	for ; name != "."; name = path.Dir(name) {
		if slices.Contains(words, name) {
			return true
		}
	}
	return false
}
