// Package model describes a program for the generator: the points of package hook, subsystems with their typed tools, and composites
// with their members. It is made from type-checked packages and reports the problems of the declarations. The planner
// (composite/plan) computes order and ownership.
package model

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/directive"
	"github.com/grapnel-go/grapnel/gen/internal/load"
)

// Model has the packages that were added so far, and their problems. It is not safe for concurrent use.
type Model struct {
	// Points are the methods of hook.Hook, then the one-method interfaces, each in the order of declaration.
	Points []*Point

	source   Source
	hookPkg  *types.Package
	packages map[string]*Package
	docs     docs
	ignores  map[ignoreKey]bool
	problems []diag.Problem
}

// Source gives a model its packages: a [load.Checker] has a whole program, an analyzer's pass one package from source and the facts
// of others; see [Model.AddFacts].
type Source interface {
	FileSet() *token.FileSet
	// Package returns a package from source, without generated files; it fails if there is no source.
	Package(path string) (*load.Package, error)
	// Checked returns the package whose source these types come from.
	Checked(t *types.Package) (*load.Package, error)
	// Position and Relative resolve a place as problems show it.
	Position(pos token.Pos) token.Position
	Relative(pos token.Position) token.Position
}

// Package is one package with its declarations, in source order.
type Package struct {
	*load.Package
	// fromFacts: the declarations come from facts, not from source.
	fromFacts  bool
	Subsystems []*Subsystem
	Composites []*Composite
	// Declares: the package is package hook.
	Declares bool
	// enums and schemas are the directives above types.
	enums   map[*types.TypeName]directive.Enum
	schemas map[*types.TypeName]string
}

// Subsystem is a type with //hook:subsystem, //hook:tools or at least one //hook:tool.
type Subsystem struct {
	Pkg   *Package
	Named *types.Named
	Name  string
	// Receiver is the name that the author's methods give their receiver.
	Receiver string
	// Pointer: a method has a pointer receiver, so the hook is *T.
	Pointer bool
	Options directive.Subsystem
	// Args are the words of //hook:subsystem with their places.
	Args []ast.DirectiveArg
	// Defaults are the defaults in the options, for fields of the type.
	Defaults plan.Defaults
	// Tools are the typed tools in source order; Schema and Dispatch are generated for them.
	Tools []*Tool
	// Points are the names of the points that the type implements.
	Points []string
	// Names are the tools of a hand-written Schema and Dispatch.
	Names []string
	Pos   token.Pos
}

// Tool is one method with //hook:tool.
type Tool struct {
	// Name is the tool's name without prefixes of composites.
	Name string
	// Const is the name of the generated constant, ToolNoteAdd.
	Const string
	// Shared: an earlier subsystem of the package has a tool of the same name, and declares the constant.
	Shared bool
	Method *types.Func
	Decl   *ast.FuncDecl
	// Doc is the doc comment of the method without directives.
	Doc     string
	Options directive.Tool
	Pos     token.Pos
}

// New reads the points from the source of package hook.
func New(source Source) (*Model, error) {
	m := empty(source)
	hook, err := source.Package(load.HookPath)
	if err != nil {
		return nil, fmt.Errorf("load the contract: %w", err)
	}
	m.hookPkg = hook.Types
	p, err := m.Package(load.HookPath)
	if err != nil {
		return nil, err
	}
	m.readPoints(p)
	return m, nil
}

func empty(source Source) *Model {
	return &Model{
		source: source, packages: map[string]*Package{}, ignores: map[ignoreKey]bool{}, docs: docs{fset: source.FileSet()},
	}
}

// Problems returns the problems found so far, sorted.
func (m *Model) Problems() []diag.Problem { return diag.Sort(m.problems) }

func (m *Model) Position(pos token.Pos) token.Position { return m.source.Position(pos) }

func (m *Model) add(cause diag.Cause, pos token.Pos, subject string, facts ...any) {
	m.Add(diag.New(cause, m.Position(pos), subject, facts...))
}

func (m *Model) addMethod(cause diag.Cause, pos token.Pos, subject, method string, facts ...any) {
	m.Add(diag.New(cause, m.Position(pos), subject, facts...).Of(method))
}

// fromPlanner returns a problem of the planner, which has its own text, at a place.
func (m *Model) fromPlanner(cause diag.Cause, pos token.Pos, subject string, p plan.Problem) diag.Problem {
	out := diag.New(cause, m.Position(pos), subject, p.Message, p.Fix)
	out.Code = p.Code
	if p.Warning {
		out.Severity = diag.Warning
	}
	return out
}

// Add reports a problem, unless //hook:ignore silences it.
func (m *Model) Add(p diag.Problem) {
	if p.Code == "HG010" && p.Notes == nil {
		m.explain(&p)
	}
	if !m.ignores[ignoreKey{p.Code, p.Pos.Filename, p.Pos.Line}] {
		m.problems = append(m.problems, p)
	}
}

// Package returns the package with its declarations, and reports their problems the first time.
func (m *Model) Package(path string) (*Package, error) {
	if p := m.packages[path]; p != nil {
		return p, nil
	}
	src, err := m.source.Package(path)
	if err != nil {
		return nil, err
	}
	p := &Package{
		Package: src, Declares: path == load.HookPath, enums: map[*types.TypeName]directive.Enum{}, schemas: map[*types.TypeName]string{},
	}
	m.packages[path] = p
	m.problems = append(m.problems, src.Syntax...)
	found := m.scan(p)
	for _, f := range found {
		m.declareType(p, f)
	}
	for _, f := range found {
		if f.Tool != nil {
			m.declareTool(p, f)
		}
	}
	for _, s := range p.Subsystems {
		m.checkSubsystem(s)
	}
	m.checkNamesOf(p)
	for _, c := range p.Composites {
		m.Resolve(c)
		m.checkNamesOfComposite(p, c)
	}
	return p, nil
}

// scan reads the directives of all files, //hook:ignore first.
func (m *Model) scan(p *Package) []directive.Found {
	var all []directive.Found
	var problems []diag.Problem
	for _, f := range p.Files {
		found, wrong := directive.Scan(m.source.FileSet(), f)
		all = append(all, found...)
		problems = append(problems, wrong...)
	}
	for _, f := range all {
		if f.Ignore != nil {
			m.ignore(f)
		}
	}
	for _, w := range problems {
		m.Add(w.Moved(m.source.Relative))
	}
	return all
}

type ignoreKey struct {
	code, file string
	line       int
}

// ignore silences the codes from the comment to the first line of the declaration below it, or to the last line of a type.
func (m *Model) ignore(f directive.Found) {
	from := m.Position(f.Pos)
	last := from.Line + 1
	if f.Node != nil {
		last = m.Position(declared(f.Node)).Line
	}
	if spec, ok := f.Node.(*ast.TypeSpec); ok {
		last = m.Position(spec.End()).Line
	}
	for i, code := range f.Ignore.Codes {
		if !slices.Contains(ignorable(), code) {
			m.problems = append(m.problems, diag.New(diag.NotIgnorable, m.Position(f.Args[i].Pos), code,
				diag.DidYouMean(code, ignorable(), ""), strings.Join(ignorable(), ", ")))
			continue
		}
		for line := from.Line; line <= max(last, from.Line+1); line++ {
			m.ignores[ignoreKey{code, from.Filename, line}] = true
		}
	}
}

// ignorable returns the codes that //hook:ignore may silence: warnings, errors about names that may be intended, and the
// analyzer's.
func ignorable() []string {
	return []string{
		"HG012", "HG013", "HG031", "HG032", "HG037", "HG047", "HG049", "HG051", "HG054",
		"HG080", "HG081", "HG082", "HG083", "HG084", "HG085", "HG086", "HG087", "HG088",
	}
}

func declared(n ast.Node) token.Pos {
	switch n := n.(type) {
	case *ast.TypeSpec:
		return n.Name.Pos()
	case *ast.FuncDecl:
		return n.Name.Pos()
	}
	return n.Pos()
}

func (m *Model) declareType(p *Package, f directive.Found) {
	if f.Schema != nil {
		m.checkSchema(p, f)
		return
	}
	spec, ok := f.Node.(*ast.TypeSpec)
	if f.Point != nil && !p.Declares {
		m.add(diag.PointElsewhere, f.Pos, p.Path)
	}
	if !ok {
		return
	}
	name, ok := p.Info.Defs[spec.Name].(*types.TypeName)
	if !ok {
		return
	}
	switch {
	case f.Enum != nil:
		p.enums[name] = *f.Enum
	case f.Composite != nil:
		if named := m.named(name, f); named != nil {
			p.Composites = append(p.Composites, &Composite{Pkg: p, Named: named, Name: name.Name(), Spec: spec, Pos: spec.Name.Pos()})
		}
	case f.Subsystem != nil || f.Tools != nil:
		named := m.named(name, f)
		if named == nil {
			return
		}
		s := m.subsystem(p, named)
		if f.Subsystem != nil {
			s.Options, s.Args = *f.Subsystem, f.Args
		}
		if f.Tools != nil {
			s.Names = f.Tools.Names
			m.checkNames(f)
		}
	}
}

func (m *Model) checkNames(f directive.Found) {
	for i, name := range f.Tools.Names {
		if !validTool.MatchString(name) {
			m.add(diag.BadListedName, f.Args[i].Pos, name, validTool)
		}
	}
}

// named returns the type if code can be generated for it, else nil.
func (m *Model) named(name *types.TypeName, f directive.Found) *types.Named {
	named, ok := name.Type().(*types.Named)
	switch {
	case !ok || name.IsAlias():
		m.add(diag.AliasTarget, f.Pos, name.Name(), f.Verb)
		return nil
	case named.TypeParams().Len() > 0 && !m.usableParams(named, f):
		return nil
	}
	return named
}

// usableParams reports type parameters whose names would collide with those in generated code.
func (m *Model) usableParams(named *types.Named, f directive.Found) bool {
	for p := range named.TypeParams().TypeParams() {
		if name := p.Obj().Name(); name == "_" || !ast.IsExported(name) {
			m.add(diag.LowercaseParameter, p.Obj().Pos(), named.Obj().Name(), f.Verb, name)
			return false
		}
	}
	return true
}

// subsystem returns the subsystem of the type, and adds it if there is none.
func (m *Model) subsystem(p *Package, named *types.Named) *Subsystem {
	i := slices.IndexFunc(p.Subsystems, func(s *Subsystem) bool { return s.Named == named })
	if i >= 0 {
		return p.Subsystems[i]
	}
	s := &Subsystem{Pkg: p, Named: named, Name: named.Obj().Name(), Pos: named.Obj().Pos()}
	s.Receiver, s.Pointer = receiver(named)
	p.Subsystems = append(p.Subsystems, s)
	return s
}

// receiver returns the name that the methods of a type give their receiver, and whether one of them has a pointer.
func receiver(named *types.Named) (string, bool) {
	name, pointer := "", named.NumMethods() == 0
	for m := range named.Methods() {
		recv := m.Signature().Recv()
		if _, ok := recv.Type().(*types.Pointer); ok {
			pointer = true
		}
		if n := recv.Name(); name == "" && n != "_" {
			name = n
		}
	}
	if name == "" {
		name = strings.ToLower(named.Obj().Name()[:1])
	}
	return name, pointer
}

// Packages returns the packages of the main module that were added, sorted by path.
func (m *Model) Packages() []*Package {
	var out []*Package
	for _, p := range m.packages {
		if p.Writable {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *Package) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// InFile returns the first position in a file.
func (m *Model) InFile(name string) token.Position {
	return m.source.Relative(token.Position{Filename: name, Line: 1, Column: 1})
}
