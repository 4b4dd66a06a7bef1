package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// Draft is a package that is not on disk.
type Draft struct {
	// Path is its import path, Name its package name, Dir its absolute directory in the module.
	Path, Name, Dir string
	// Files are texts by name, without a directory.
	Files map[string][]byte
}

// ErrNoContract: the module lacks packages that a draft imports.
var ErrNoContract = errors.New("the go command says")

// ListDrafts lists the packages of the patterns, the drafts, and the imports of both and some more. The patterns have to match. The
// first draft becomes a root.
func ListDrafts(ctx context.Context, module Module, dir string, drafts []Draft, patterns, imports []string) (*Listing, []diag.Problem, error) {
	l := newListing(dir, nil)
	var problems []diag.Problem
	if len(patterns) > 0 {
		roots, err := l.find(ctx, patterns)
		if err != nil {
			return nil, nil, err
		}
		problems = l.setRoots(roots, patterns)
	}
	paths := slices.Clone(imports)
	for _, p := range l.Roots {
		paths = append(paths, p.PkgPath)
	}
	for _, d := range drafts {
		p := &packages.Package{
			ID: d.Path, PkgPath: d.Path, Name: d.Name,
			Module: &packages.Module{Path: module.Path, Dir: module.Dir, GoVersion: module.GoVersion, Main: true},
		}
		for _, name := range slices.Sorted(maps.Keys(d.Files)) {
			file := filepath.Join(d.Dir, name)
			p.GoFiles = append(p.GoFiles, file)
			l.texts[file] = d.Files[name]
		}
		l.all[d.Path] = p
		paths = append(paths, d.Path)
	}
	if err := l.Ensure(ctx, paths...); err != nil {
		return nil, nil, err
	}
	for _, path := range imports {
		if p := l.all[path]; p == nil || len(p.GoFiles) == 0 && len(p.Errors) > 0 {
			return nil, nil, fmt.Errorf("%w: %s", ErrNoContract, l.missing(ctx, p, path))
		}
	}
	l.Roots = append(l.Roots, l.all[drafts[0].Path])
	return l, problems, nil
}

// missing says in one line why the package is not there.
func (l *Listing) missing(ctx context.Context, p *packages.Package, path string) string {
	if p != nil {
		return firstLine(p.Errors[0].Msg)
	}
	return cmp.Or(strings.Join(strings.Fields(l.says(ctx, []string{path})), " "), "nothing about "+path)
}

// SetText replaces the text of a file on disk for checkers that have not read it yet; nil restores it.
func (l *Listing) SetText(file string, text []byte) {
	if text == nil {
		delete(l.texts, file)
		return
	}
	l.texts[file] = text
}

// Only makes the package the only root.
func (l *Listing) Only(path string) {
	l.Roots = slices.DeleteFunc(l.Roots, func(p *packages.Package) bool { return p.PkgPath != path })
}

// read returns the text of a file. It reads each file once, so a run sees one state of it.
func (l *Listing) read(name string) ([]byte, error) {
	if text, ok := l.texts[name]; ok {
		return text, nil
	}
	if text, ok := l.files[name]; ok {
		return text, nil
	}
	text, err := os.ReadFile(name)
	if err == nil {
		l.files[name] = text
	}
	return text, err
}

// Module is the module that a directory lies in.
type Module struct {
	// Path is the module's path, Dir its absolute directory.
	Path, Dir string
	// GoVersion is the language version, "1.26"; "" if the module does not say.
	GoVersion string
	// Text is that of go.mod.
	Text []byte
}

// ErrNoModule: neither the directory nor one above it has a go.mod.
var ErrNoModule = errors.New("no go.mod here or above")

// FindModule returns the module of an absolute directory, which need not exist.
func FindModule(dir string) (Module, error) {
	for at := dir; ; at = filepath.Dir(at) {
		text, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil {
			m := Module{Path: modLine(text, "module"), GoVersion: modLine(text, "go"), Dir: at, Text: text}
			if m.Path == "" {
				return m, fmt.Errorf("%s has no line with the module's path", filepath.Join(at, "go.mod"))
			}
			return m, nil
		}
		if at == filepath.Dir(at) {
			return Module{}, fmt.Errorf("%s: %w", dir, ErrNoModule)
		}
	}
}

// modLine returns the word behind a keyword of go.mod.
func modLine(text []byte, verb string) string {
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		if len(words) != 2 || words[0] != verb {
			continue
		}
		if s, err := strconv.Unquote(words[1]); err == nil {
			return s
		}
		return words[1]
	}
	return ""
}
