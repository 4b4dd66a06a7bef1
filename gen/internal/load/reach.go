package load

import (
	"bytes"
	"context"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// find lists packages without their imports, so that the go command reads no other package.
func (l *Listing) find(ctx context.Context, patterns []string) ([]*packages.Package, error) {
	roots, err := l.ask(ctx, found, patterns)
	for _, p := range roots {
		if writable(p) { // others need export data
			l.note(p)
		}
	}
	return roots, err
}

// export lists packages with all their imports and export data.
func (l *Listing) export(ctx context.Context, paths []string) error {
	roots, err := l.ask(ctx, exported, paths)
	packages.Visit(roots, nil, l.note)
	return err
}

func (l *Listing) note(p *packages.Package) {
	if l.all[p.PkgPath] == nil {
		l.all[p.PkgPath] = p
	}
}

func (l *Listing) ask(ctx context.Context, mode packages.LoadMode, patterns []string) ([]*packages.Package, error) {
	conf := &packages.Config{Context: ctx, Dir: l.dir, Mode: mode, BuildFlags: l.flags}
	roots, err := packages.Load(conf, patterns...)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", strings.Join(patterns, " "), err)
	}
	return roots, nil
}

// Ensure lists the packages and all their imports, unless they are listed already. It asks the go command at most once for all
// packages of other modules, because one takes as long as a hundred.
func (l *Listing) Ensure(ctx context.Context, paths ...string) error {
	_, missing, err := l.Reach(ctx, slices.Concat(paths, l.contract())...)
	if err != nil {
		return err
	}
	// What is left of the main module either does not exist or belongs to another module of a workspace.
	missing = slices.DeleteFunc(missing, func(name string) bool {
		return l.tried[name] || !importable.MatchString(name) || wide(name)
	})
	if len(missing) == 0 {
		return nil
	}
	for _, name := range missing {
		l.tried[name] = true
	}
	return l.export(ctx, missing)
}

// importable matches import paths, and neither flags nor files.
var importable = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_~+-]*([./][A-Za-z0-9_~+-]+)*$`)

// contract returns the packages that every output may need, to list them with the others; none if the module does not require ours,
// because the go command might then search for it.
func (l *Listing) contract() []string {
	m, err := FindModule(l.dir)
	root := path.Dir(HookPath)
	if err != nil || !bytes.Contains(m.Text, []byte(root)) {
		return nil
	}
	return []string{HookPath, HookPath + "/message", root + "/composite", root + "/composite/args", root + "/composite/guard", root + "/composite/plan"}
}

// Reach returns the packages of the main module that are reachable from these by imports, which it lists, and the paths of other
// packages that are not listed. Both are sorted. Imports of generated files do not count.
func (l *Listing) Reach(ctx context.Context, paths ...string) (source, missing []string, err error) {
	source, missing = l.reached(paths)
	m, err := FindModule(l.dir)
	if err != nil {
		return source, missing, nil // a directory of a workspace
	}
	all := m.Path + "/..."
	here := func(name string) bool { return name == m.Path || strings.HasPrefix(name, m.Path+"/") }
	if l.tried[all] || !slices.ContainsFunc(missing, here) {
		return source, missing, nil
	}
	l.tried[all] = true
	if _, err := l.find(ctx, []string{all}); err != nil {
		return nil, nil, err
	}
	source, missing = l.reached(paths)
	return source, missing, nil
}

func (l *Listing) reached(paths []string) (source, missing []string) {
	seen := map[string]bool{"C": true, "unsafe": true}
	unlisted := map[string]bool{}
	for todo := slices.Clone(paths); len(todo) > 0; {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[name] {
			continue
		}
		seen[name] = true
		switch p := l.all[name]; {
		case p == nil:
			unlisted[name] = true
		case writable(p):
			source = append(source, name)
			todo = append(todo, l.imports(p)...)
		}
	}
	slices.Sort(source)
	return source, slices.Sorted(maps.Keys(unlisted))
}

// imports returns the imports of the package's files. Of a file that does not parse it returns the readable ones.
func (l *Listing) imports(p *packages.Package) []string {
	files, err := l.sources(p)
	if err != nil {
		return nil // whoever checks the package says so
	}
	var out []string
	for _, src := range files {
		if src.own {
			continue
		}
		out = append(out, importsOf(src.name, src.text)...)
	}
	return out
}

func importsOf(name string, text []byte) []string {
	f, _ := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly|parser.SkipObjectResolution)
	if f == nil {
		return nil
	}
	var out []string
	for _, s := range f.Imports {
		if name, err := strconv.Unquote(s.Path.Value); err == nil {
			out = append(out, name)
		}
	}
	return out
}
