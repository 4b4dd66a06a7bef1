package scaffold

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/load"
	"github.com/grapnel-go/grapnel/internal/spell"
)

// target is the composite that gets a field.
type target struct {
	// dir and path are those of its package, pattern is the pattern for the go command.
	dir, path, pattern string
	insertion          Insertion
	// file declares the struct at pos; old is its text, text the changed one.
	file      string
	pos       token.Position
	old, text []byte
}

// refusal says why the field could not be added.
type refusal struct{ notes []diag.Note }

func (r *refusal) Error() string { return r.notes[0].Message }

func refuse(format string, args ...any) *refusal {
	return &refusal{[]diag.Note{diag.Remark(fmt.Sprintf(format, args...))}}
}

func (b *builder) findInto() error {
	spec := b.o.Into
	i := strings.LastIndexByte(spec, '.')
	name := spec[i+1:]
	if i < 0 || !token.IsIdentifier(name) {
		return fmt.Errorf("-into %s: write the directory of a package, a dot and the name of a composite: ./daemon.Daemon", Quote(spec))
	}
	dir := spec[:i]
	if rest, ok := strings.CutPrefix(dir, b.module.Path); ok && (rest == "" || rest[0] == '/') {
		rel, err := filepath.Rel(b.cwd, filepath.Join(b.module.Dir, filepath.FromSlash(rest)))
		if err != nil {
			return err
		}
		dir = filepath.ToSlash(rel)
	}
	if dir == "" {
		dir = "."
	}
	abs, err := b.directoryOf("-into", dir)
	if err != nil {
		return err
	}
	j := &target{dir: abs, path: b.importPath(abs), pattern: "./" + filepath.ToSlash(strings.TrimPrefix(dir, "./"))}
	if strings.HasPrefix(dir, "..") {
		j.pattern = dir
	}
	j.insertion = Insertion{Struct: name, Field: b.sub.Type, Path: b.path, Package: b.sub.Name, Type: b.sub.Type}
	b.into = j
	return j.find(b.o.Into)
}

func (j *target) find(spec string) error {
	files, err := goFiles(j.dir)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("-into %s: there are no Go files in %s", Quote(spec), Quote(j.pattern))
	}
	var structs []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for spec, pos := range structsOf(name, files[name]) {
			structs = append(structs, spec)
			if spec == j.insertion.Struct && (j.file == "" || !strings.HasSuffix(name, "_test.go")) {
				j.file, j.pos, j.old = name, pos, files[name]
			}
		}
	}
	if j.file != "" {
		return nil
	}
	slices.Sort(structs)
	if c := spell.Closest(j.insertion.Struct, structs); c != "" {
		return fmt.Errorf("-into %s: %s declares no struct %s; did you mean %s?", Quote(spec), j.pattern, j.insertion.Struct, c)
	}
	return fmt.Errorf("-into %s: %s declares no struct %s", Quote(spec), j.pattern, j.insertion.Struct)
}

func structsOf(name string, text []byte) map[string]token.Position {
	fset := token.NewFileSet()
	f, _ := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	out := map[string]token.Position{}
	if f == nil {
		return out
	}
	for _, decl := range f.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			if t, ok := spec.(*ast.TypeSpec); ok {
				if _, ok := t.Type.(*ast.StructType); ok {
					out[t.Name.Name] = fset.Position(t.Name.Pos())
				}
			}
		}
	}
	return out
}

// addField adds the field and generates for both packages. If that is not possible the error is a *refusal.
func (b *builder) addField(ctx context.Context) error {
	j := b.into
	root := b.listing.Package(j.path)
	if root == nil || !slices.Contains(root.GoFiles, j.file) {
		return refuse("%s is not built here: a build constraint or its name leaves it out", b.relative(j.file))
	}
	declared, err := j.declared()
	if err != nil {
		return err
	}
	j.insertion.Taken = func(name string) bool { return declared[name] }
	var first error
	for _, field := range []string{b.sub.Type, b.sub.Type + "Hook", b.sub.Type + "2"} {
		j.insertion.Field = field
		err := b.tryField(ctx)
		var no *refusal
		if err == nil || !errors.As(err, &no) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	j.insertion.Field = b.sub.Type
	b.listing.SetText(j.file, nil)
	return first
}

func (b *builder) tryField(ctx context.Context) error {
	j := b.into
	text, err := j.insertion.Insert(j.old)
	var syntax scanner.ErrorList
	switch {
	case errors.As(err, &syntax):
		return refuse("%s:%v", b.relative(j.file), err)
	case err != nil:
		return refuse("%v", err)
	}
	j.text = text
	b.listing.SetText(j.file, text)
	problems, err := b.generate(ctx)
	if err != nil {
		return err
	}
	if diag.HasErrors(problems) {
		return refusedBy(problems)
	}
	if !b.composite() {
		return refuse("%s has no //hook:composite above it", j.insertion.Struct)
	}
	wrong, err := b.check()
	if err != nil || len(wrong) == 0 {
		return err
	}
	if wrong, err = b.newErrors(wrong); err != nil || len(wrong) == 0 {
		return err
	}
	return refusedBy(wrong)
}

// newErrors returns the problems that the package of the composite did not have before.
func (b *builder) newErrors(wrong []diag.Problem) ([]diag.Problem, error) {
	j := b.into
	b.listing.SetText(j.file, nil)
	defer b.listing.SetText(j.file, j.text)
	before, err := b.listing.NewCheckerWith(nil, []string{j.path}).Package(j.path)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(wrong, func(p diag.Problem) bool {
		return p.Cause == diag.DraftBroken && filepath.Base(p.Pos.Filename) != load.Output &&
			slices.ContainsFunc(before.Errors, func(e types.Error) bool { return p.Facts[0] == e.Msg })
	}), nil
}

// declared returns the names that the package declares, without methods.
func (j *target) declared() (map[string]bool, error) {
	files, err := goFiles(j.dir)
	names := map[string]bool{}
	for name, text := range files {
		f, _ := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if f == nil {
			continue
		}
		for _, decl := range f.Decls {
			for _, id := range declaredBy(decl) {
				names[id.Name] = true
			}
		}
	}
	return names, err
}

func declaredBy(decl ast.Decl) []*ast.Ident {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []*ast.Ident{d.Name}
		}
	case *ast.GenDecl:
		var out []*ast.Ident
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				out = append(out, s.Name)
			case *ast.ValueSpec:
				out = append(out, s.Names...)
			}
		}
		return out
	}
	return nil
}

func refusedBy(problems []diag.Problem) error {
	no := &refusal{}
	for _, p := range problems {
		if p.Severity == diag.Error {
			no.notes = append(no.notes, diag.Quoting(p))
		}
	}
	return no
}

// composite reports whether the model has the struct as a composite.
func (b *builder) composite() bool {
	for _, p := range b.model.Packages() {
		if p.Path != b.into.path {
			continue
		}
		for _, c := range p.Composites {
			if c.Name == b.into.insertion.Struct {
				return true
			}
		}
	}
	return false
}

// manualFix returns the problem that says which line to add by hand.
func (b *builder) manualFix(notes []diag.Note) diag.Problem {
	j := b.into
	pos := j.pos
	pos.Filename = b.relative(j.file)
	p := diag.New(diag.FieldNotAdded, pos, b.sub.Name, j.insertion.Struct, j.insertion.Path, j.insertion.Line())
	p.Notes = notes
	return p
}
