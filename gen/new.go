package gen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/grapnel-go/grapnel/gen/diag"
	"github.com/grapnel-go/grapnel/gen/load"
	"github.com/grapnel-go/grapnel/gen/scaffold"
)

// NewOptions say which subsystem is wanted, and where.
type NewOptions struct {
	// Name is the package's; Tools are the names of its tools; Dynamic is for tools that are known only at run time.
	Name    string
	Tools   []string
	Dynamic bool
	// Dir is the directory that paths are relative to; "" is the working directory.
	Dir string
	// Below is the directory that gets a directory of the subsystem's name; "" is subsystems.
	Below string
	// Into names the composite that gets a field, ./daemon.Daemon; "" for none.
	Into string
	// Check writes nothing: what is missing is in Written all the same.
	Check bool
}

// NewResult is what New has found and done. Paths are relative to the directory of the run.
type NewResult struct {
	// Problems: with an error among them nothing was written, unless Written says otherwise.
	Problems []diag.Problem
	// Whole: the subsystem is there, with all that was asked for, and nothing was written.
	Whole bool
	// Written are the files that were written, or would have been under Check.
	Written []NewFile
	// Package is the pattern of the package, ./subsystems/notes; Type is its type, Tools are the names of the tools.
	Package, Type string
	Tools         []string
	// Composite is the name of the type that got a field, and Field that field's name; "" for none.
	Composite, Field string
	// Hint is worth knowing, Get is a command that is still to be run; "" for none.
	Hint, Get string
}

// NewFile is one file.
type NewFile struct {
	Path string
	// What the file is.
	What FileKind
}

// FileKind says whose a file is.
type FileKind string

// The kinds.
const (
	Yours      FileKind = "yours"
	Test       FileKind = "test"
	Descriptor FileKind = "descriptor"
	Generated  FileKind = "generated"
	Changed    FileKind = "changed"
)

const (
	modulePath = "github.com/grapnel-go/grapnel"
	toolPath   = modulePath + "/cmd/hookgen"
)

// New writes the first version of a subsystem with what is generated from it, and adds it to a composite. Everything is made in
// memory and type-checked together before the first file is written; nothing that exists is overwritten; if writing fails, what was
// written is removed. A subsystem that is there, and has what is asked for, is left as it is.
//
// An error is a name or a place that cannot be, or a failure of the environment; nothing is written then either.
func New(ctx context.Context, o NewOptions) (NewResult, error) {
	n, err := prepare(o)
	if err != nil {
		return NewResult{}, err
	}
	there, err := goFiles(n.dir)
	if err != nil {
		return NewResult{}, err
	}
	if len(there) > 0 {
		return n.found(there)
	}
	if err := n.list(ctx); err != nil {
		return NewResult{}, err
	}
	if n.into != nil {
		err := n.join(ctx)
		if err == nil {
			return n.write(ctx, nil)
		}
		var no *refusal
		if !errors.As(err, &no) {
			return NewResult{}, err
		}
		problem := n.byHand(no.notes)
		n.into = nil
		return n.alone(ctx, []diag.Problem{problem})
	}
	return n.alone(ctx, nil)
}

// newcomer is a subsystem on its way to the disk.
type newcomer struct {
	o      NewOptions
	sub    *scaffold.Subsystem
	cwd    string // absolute
	module load.Module
	// dir and path are the package's.
	dir, path string
	files     []scaffold.File
	into      *joint
	run       run
	output    map[string][]byte
}

// maxPath bounds the whole of a path that is made.
const maxPath = 1024

var pathElement = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~+-]*$`)

// prepare checks names and places, without the go command.
func prepare(o NewOptions) (*newcomer, error) {
	sub, err := scaffold.New(scaffold.Options{Name: o.Name, Tools: o.Tools, Dynamic: o.Dynamic})
	if err != nil {
		return nil, err
	}
	n := &newcomer{o: o, sub: sub}
	if n.cwd, err = filepath.Abs(o.Dir); err != nil {
		return nil, err
	}
	if n.module, err = load.FindModule(n.cwd); err != nil {
		return nil, noModule(err)
	}
	below := o.Below
	if below == "" {
		below = "subsystems"
	}
	if n.dir, err = n.inside("-dir", below); err != nil {
		return nil, err
	}
	n.dir = filepath.Join(n.dir, sub.Name)
	n.path = n.importPath(n.dir)
	if own, err := load.FindModule(n.dir); err != nil || own.Dir != n.module.Dir {
		return nil, fmt.Errorf("-dir %s is in a module of its own: run hookgen there, with -C", scaffold.Quote(below))
	}
	if o.Into != "" {
		if err := n.findInto(); err != nil {
			return nil, err
		}
	}
	n.files, err = sub.Files(n.path)
	return n, err
}

func noModule(err error) error {
	if !errors.Is(err, load.ErrNoModule) {
		return err
	}
	return fmt.Errorf("%w: a subsystem is a package of a module; run these three commands, then this one again:"+
		"\n\tgo mod init example.com/agent\n\tgo get %s\n\tgo get -tool %s", err, modulePath, toolPath)
}

// inside returns the absolute directory of a relative one that a flag names, if it lies in the module and packages can be there.
func (n *newcomer) inside(flag, dir string) (string, error) {
	if len(dir) > maxPath {
		return "", fmt.Errorf("%s %s is too long", flag, scaffold.Quote(dir))
	}
	if filepath.IsAbs(dir) || strings.HasPrefix(dir, "/") || strings.HasPrefix(dir, "~") {
		return "", fmt.Errorf("%s %s: write the directory relative to this one", flag, scaffold.Quote(dir))
	}
	abs := filepath.Join(n.cwd, filepath.FromSlash(dir))
	rel, err := filepath.Rel(n.module.Dir, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s %s lies outside the module %s", flag, scaffold.Quote(dir), n.module.Path)
	}
	for element := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		switch {
		case element == "." && rel == ".":
		case element == "testdata" || element == "vendor":
			return "", fmt.Errorf("%s %s: packages below %s are not part of the module", flag, scaffold.Quote(dir), element)
		case !pathElement.MatchString(element):
			return "", fmt.Errorf("%s %s: %s cannot be part of an import path", flag, scaffold.Quote(dir), scaffold.Quote(element))
		}
	}
	return abs, nil
}

func (n *newcomer) importPath(dir string) string {
	rel, err := filepath.Rel(n.module.Dir, dir)
	if err != nil {
		rel = "." // inside has seen to it that there is one
	}
	return path.Join(n.module.Path, filepath.ToSlash(rel))
}

// goFiles returns the Go files of a directory, tests included, by absolute name; none if there is no such directory.
func goFiles(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		name := filepath.Join(dir, e.Name())
		if files[name], err = os.ReadFile(name); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// relative is how a path is printed.
func (n *newcomer) relative(name string) string {
	rel, err := filepath.Rel(n.cwd, name)
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
}

// result is what is known of every outcome.
func (n *newcomer) result() NewResult {
	r := NewResult{Package: n.relative(n.dir), Type: n.sub.Type, Hint: n.sub.Hint()}
	if !strings.HasPrefix(r.Package, ".") {
		r.Package = "./" + r.Package
	}
	for _, t := range n.sub.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	if !strings.Contains(string(n.module.Text), toolPath) && n.module.Path != modulePath {
		r.Get = "go get -tool " + toolPath
	}
	return r
}

// list lists what the subsystem and the composite import, once.
func (n *newcomer) list(ctx context.Context) error {
	var patterns []string
	if n.into != nil {
		patterns = []string{n.into.pattern}
	}
	imports := []string{load.HookPath, load.HookPath + "/hooktest", modulePath + "/composite", modulePath + "/composite/args"}
	listing, problems, err := load.ListDrafts(ctx, n.module, n.cwd, n.drafts(), patterns, imports)
	switch {
	case errors.Is(err, load.ErrNoContract):
		return n.noContract(err)
	case err != nil:
		return err
	case len(problems) > 0:
		return problems[0]
	}
	n.run = run{listing: listing, dir: n.cwd}
	return nil
}

// noContract says how the module gets what a subsystem imports.
func (n *newcomer) noContract(err error) error {
	switch {
	case !strings.Contains(string(n.module.Text), modulePath):
		return fmt.Errorf("module %s does not require %s yet; run these two commands, then this one again:"+
			"\n\tgo get %s\n\tgo get -tool %s\n(%w)", n.module.Path, modulePath, modulePath, toolPath, err)
	case n.vendored():
		return fmt.Errorf("what nothing imports yet is not vendored; run this command with GOFLAGS=-mod=mod, and then go mod vendor\n(%w)", err)
	}
	return fmt.Errorf("module %s requires %s, but the go command does not find it; go list %s says why\n(%w)",
		n.module.Path, modulePath, load.HookPath, err)
}

// vendored tells whether the go command looks for packages in the vendor directory.
func (n *newcomer) vendored() bool {
	_, err := os.Stat(filepath.Join(n.module.Dir, "vendor", "modules.txt"))
	return err == nil
}

// kindOf is the kind of a file that a subsystem is begun with.
func kindOf(name string) FileKind {
	switch {
	case strings.HasSuffix(name, "_test.go"):
		return Test
	case strings.HasSuffix(name, ".go"):
		return Yours
	}
	return Descriptor
}

// drafts are the package and its test.
func (n *newcomer) drafts() []load.Draft {
	out := []load.Draft{
		{Path: n.path, Name: n.sub.Name, Dir: n.dir, Files: map[string][]byte{}},
		{Path: n.testPath(), Name: n.sub.Name + "_test", Dir: n.dir, Files: map[string][]byte{}},
	}
	for _, f := range n.files {
		switch kindOf(f.Name) {
		case Yours:
			out[0].Files[f.Name] = f.Text
		case Test:
			out[1].Files[f.Name] = f.Text
		}
	}
	return out
}

// testPath is no import path, so that it is nobody's.
func (n *newcomer) testPath() string { return n.path + " [test]" }
