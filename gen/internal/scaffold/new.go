package scaffold

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/load"
	"github.com/grapnel-go/grapnel/gen/internal/model"
)

// Options describe the subsystem to write, and its place.
type Options struct {
	// Name is the name of the package, and in upper case that of its type.
	Name string
	// Tools are the names of the tools, without the prefix of the package's name; nil makes a subsystem without tools.
	Tools []string
	// Dynamic makes a subsystem whose tools are known only at run time; it starts with Tools.
	Dynamic bool
	// Dir is the directory that paths are relative to; "" is the working directory.
	Dir string
	// Below is the directory in which the directory of the subsystem is made; "" is subsystems.
	Below string
	// Into names the composite that gets a field, ./daemon.Daemon; "" for none.
	Into string
	// Check writes nothing: Result.Written then has the files that are missing.
	Check bool
}

// Result is the result of New. Paths are relative to the directory of the run.
type Result struct {
	// Problems: with an error among them nothing was written, unless Written says otherwise.
	Problems []diag.Problem
	// Whole: the requested subsystem exists already, and nothing was written.
	Whole bool
	// Written are the files that were written, or would have been under Check.
	Written []Written
	// Package is the pattern of the package: ./subsystems/notes.
	Package string
	// Type is the type of the subsystem, Tools are the names of its tools.
	Type  string
	Tools []string
	// Composite is the name of the type that got a field, and Field that field's name; "" for none.
	Composite, Field string
	// Hint is a warning about the name; "" for none.
	Hint string
	// Get is a command that the user still has to run; "" for none.
	Get string
}

// Written is one file.
type Written struct {
	Path string
	What FileKind
}

// FileKind is the kind of a written file.
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

// Output is the result of a [Generator] for the packages of a listing.
type Output struct {
	// Texts are the generated files by import path.
	Texts    map[string][]byte
	Model    *model.Model
	Problems []diag.Problem
}

// Generator generates in memory. Positions in its problems are relative to dir.
type Generator func(ctx context.Context, dir string, listing *load.Listing) (Output, error)

// New writes the first version of a subsystem with its generated code, and adds it to a composite. It makes everything in memory and
// type-checks it together before it writes the first file. It overwrites nothing; if writing fails, it removes the files that it has
// written. It leaves an existing subsystem with the requested tools as it is.
//
// An error is a name or a place that is not allowed, or a failure of the environment; nothing is written then either.
func New(ctx context.Context, o Options, generator Generator) (Result, error) {
	b, err := prepare(o)
	if err != nil {
		return Result{}, err
	}
	b.generator = generator
	existing, err := goFiles(b.dir)
	if err != nil {
		return Result{}, err
	}
	if len(existing) > 0 {
		return b.compare(existing)
	}
	if err := b.list(ctx); err != nil {
		return Result{}, err
	}
	if b.into == nil {
		return b.writeAlone(ctx, nil)
	}
	err = b.addField(ctx)
	if err == nil {
		return b.write(ctx, nil)
	}
	refused, ok := errors.AsType[*refusal](err)
	if !ok {
		return Result{}, err
	}
	problem := b.manualFix(refused.notes)
	b.into = nil
	return b.writeAlone(ctx, []diag.Problem{problem})
}

// builder makes one subsystem.
type builder struct {
	o         Options
	sub       *Subsystem
	generator Generator
	// cwd is the absolute directory of the run.
	cwd    string
	module load.Module
	// dir and path are the package's.
	dir, path string
	files     []File
	into      *target
	listing   *load.Listing
	// model and output are the last results of generate.
	model  *model.Model
	output map[string][]byte
}

func (b *builder) generate(ctx context.Context) ([]diag.Problem, error) {
	out, err := b.generator(ctx, b.cwd, b.listing)
	b.output, b.model = out.Texts, out.Model
	return out.Problems, err
}

// maxPath bounds the length of a path.
const maxPath = 1024

var pathElement = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~+-]*$`)

// prepare checks names and places without the go command.
func prepare(o Options) (*builder, error) {
	sub, err := NewSubsystem(o)
	if err != nil {
		return nil, err
	}
	b := &builder{o: o, sub: sub}
	if b.cwd, err = filepath.Abs(o.Dir); err != nil {
		return nil, err
	}
	if b.module, err = load.FindModule(b.cwd); err != nil {
		return nil, noModule(err)
	}
	below := o.Below
	if below == "" {
		below = "subsystems"
	}
	if b.dir, err = b.directoryOf("-dir", below); err != nil {
		return nil, err
	}
	b.dir = filepath.Join(b.dir, sub.Name)
	b.path = b.importPath(b.dir)
	if own, err := load.FindModule(b.dir); err != nil || own.Dir != b.module.Dir {
		return nil, fmt.Errorf("-dir %s is in a module of its own: run hookgen there, with -C", Quote(below))
	}
	if o.Into != "" {
		if err := b.findInto(); err != nil {
			return nil, err
		}
	}
	b.files, err = sub.Files(b.path)
	return b, err
}

func noModule(err error) error {
	if !errors.Is(err, load.ErrNoModule) {
		return err
	}
	return fmt.Errorf("%w: a subsystem is a package of a module; run these two commands, then this one again:"+
		"\n\tgo mod init example.com/agent\n\tgo get -tool %s", err, toolPath)
}

// directoryOf returns the absolute directory of a flag's relative one, if it lies in the module and can contain packages.
func (b *builder) directoryOf(flag, dir string) (string, error) {
	if len(dir) > maxPath {
		return "", fmt.Errorf("%s %s has more than %d bytes", flag, Quote(dir), maxPath)
	}
	if filepath.IsAbs(dir) || strings.HasPrefix(dir, "/") || strings.HasPrefix(dir, "~") {
		return "", fmt.Errorf("%s %s: write the directory relative to this one", flag, Quote(dir))
	}
	abs := filepath.Join(b.cwd, filepath.FromSlash(dir))
	rel, err := filepath.Rel(b.module.Dir, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s %s lies outside the module %s", flag, Quote(dir), b.module.Path)
	}
	for element := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		switch {
		case element == "." && rel == ".":
		case element == "testdata" || element == "vendor":
			return "", fmt.Errorf("%s %s: packages below %s are not part of the module", flag, Quote(dir), element)
		case !pathElement.MatchString(element):
			return "", fmt.Errorf("%s %s: %s cannot be part of an import path", flag, Quote(dir), Quote(element))
		}
	}
	return abs, nil
}

func (b *builder) importPath(dir string) string {
	rel, err := filepath.Rel(b.module.Dir, dir)
	if err != nil {
		rel = "." // directoryOf has checked it
	}
	return path.Join(b.module.Path, filepath.ToSlash(rel))
}

// goFiles returns the Go files of a directory by absolute name, tests included; none if the directory does not exist.
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

func (b *builder) relative(name string) string {
	rel, err := filepath.Rel(b.cwd, name)
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
}

func (b *builder) result() Result {
	r := Result{Package: b.relative(b.dir), Type: b.sub.Type, Hint: b.sub.Hint()}
	if !strings.HasPrefix(r.Package, ".") {
		r.Package = "./" + r.Package
	}
	for _, t := range b.sub.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	if !strings.Contains(string(b.module.Text), toolPath) && b.module.Path != modulePath {
		r.Get = "go get -tool " + toolPath
	}
	return r
}

// list lists the imports of the subsystem and the composite in one call of the go command.
func (b *builder) list(ctx context.Context) error {
	var patterns []string
	if b.into != nil {
		patterns = []string{b.into.pattern}
	}
	imports := []string{load.HookPath, load.HookPath + "/hooktest", modulePath + "/composite", modulePath + "/composite/args"}
	listing, problems, err := load.ListDrafts(ctx, b.module, b.cwd, b.drafts(), patterns, imports)
	switch {
	case errors.Is(err, load.ErrNoContract):
		return b.contractMissing(err)
	case err != nil:
		return err
	case len(problems) > 0:
		return problems[0]
	}
	b.listing = listing
	return nil
}

// contractMissing returns the error that says how the module gets the packages which a subsystem imports.
func (b *builder) contractMissing(err error) error {
	switch {
	case !strings.Contains(string(b.module.Text), modulePath):
		return fmt.Errorf("module %s does not require %s yet; run this, then the command again:\n\tgo get -tool %s\n(%w)",
			b.module.Path, modulePath, toolPath, err)
	case b.vendored():
		return fmt.Errorf("packages that nothing imports yet are not vendored; run this command with GOFLAGS=-mod=mod, and then go mod vendor\n(%w)", err)
	}
	return fmt.Errorf("module %s requires %s, but the go command does not find it; run this, then the command again:\n\tgo get -tool %s\n(%w)",
		b.module.Path, modulePath, toolPath, err)
}

// vendored reports whether the go command looks for packages in the vendor directory.
func (b *builder) vendored() bool {
	_, err := os.Stat(filepath.Join(b.module.Dir, "vendor", "modules.txt"))
	return err == nil
}

func kindOf(name string) FileKind {
	switch {
	case strings.HasSuffix(name, "_test.go"):
		return Test
	case strings.HasSuffix(name, ".go"):
		return Yours
	}
	return Descriptor
}

func (b *builder) drafts() []load.Draft {
	out := []load.Draft{
		{Path: b.path, Name: b.sub.Name, Dir: b.dir, Files: map[string][]byte{}},
		{Path: b.testPath(), Name: b.sub.Name + "_test", Dir: b.dir, Files: map[string][]byte{}},
	}
	for _, f := range b.files {
		switch kindOf(f.Name) {
		case Yours:
			out[0].Files[f.Name] = f.Text
		case Test:
			out[1].Files[f.Name] = f.Text
		}
	}
	return out
}

// testPath returns a path that is no valid import path, so it collides with none.
func (b *builder) testPath() string { return b.path + " [test]" }
