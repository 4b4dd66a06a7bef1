// Package directive reads the comments //hook:… of a Go file. An unknown verb, option or place and every near miss in spelling is a
// problem with a suggestion; nothing is ignored silently.
package directive

import (
	"bytes"
	"go/ast"
	"go/token"
	"reflect"
	"slices"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// Directive is one directive. Exactly one of the pointers is set.
type Directive struct {
	Verb string
	// Pos is the place of the slashes.
	Pos token.Pos
	// Args are the words after the verb with their places.
	Args []ast.DirectiveArg

	Composite *Composite
	Subsystem *Subsystem
	Tool      *Tool
	Tools     *Tools
	Enum      *Enum
	Schema    *Schema
	Point     *Point
	Ignore    *Ignore
}

// Place is a kind of declaration that a directive can stand above.
type Place string

// The places.
const (
	Struct          Place = "a struct type"
	Type            Place = "a type that is no struct"
	Interface       Place = "an interface type"
	Method          Place = "a method"
	InterfaceMethod Place = "a method of an interface"
	Function        Place = "a function"
	Group           Place = "a group of declarations"
	Value           Place = "a constant or variable"
	Member          Place = "a field of a struct"
	PackageClause   Place = "the package clause or an import"
	InFunction      Place = "something inside a function"
	Nowhere         Place = "no declaration"
)

// verb is the grammar of a directive: where it may stand, and the field of Directive that holds it.
type verb struct {
	name   string
	places []Place
	// target stores a new struct in d and returns its value.
	target func(d *Directive) reflect.Value
}

func verbs() []verb {
	return []verb{
		{"composite", []Place{Struct}, into(func(d *Directive) **Composite { return &d.Composite })},
		{"subsystem", []Place{Struct, Type}, into(func(d *Directive) **Subsystem { return &d.Subsystem })},
		{"tool", []Place{Method}, into(func(d *Directive) **Tool { return &d.Tool })},
		{"tools", []Place{Struct, Type}, into(func(d *Directive) **Tools { return &d.Tools })},
		{"enum", []Place{Type}, into(func(d *Directive) **Enum { return &d.Enum })},
		{"schema", []Place{Struct, Type, Member}, into(func(d *Directive) **Schema { return &d.Schema })},
		{"point", []Place{Interface, InterfaceMethod}, into(func(d *Directive) **Point { return &d.Point })},
		{"ignore", nil, into(func(d *Directive) **Ignore { return &d.Ignore })},
	}
}

func into[T any](field func(*Directive) **T) func(*Directive) reflect.Value {
	return func(d *Directive) reflect.Value {
		p := field(d)
		*p = new(T)
		return reflect.ValueOf(*p).Elem()
	}
}

// Verbs returns the words that may follow //hook:, in the order of the manual.
func Verbs() []string {
	var names []string
	for _, v := range verbs() {
		names = append(names, v.name)
	}
	return names
}

func verbOf(name string) (verb, bool) {
	all := verbs()
	i := slices.IndexFunc(all, func(v verb) bool { return v.name == name })
	if i < 0 {
		return verb{}, false
	}
	return all[i], true
}

// Mentioned reports whether the text of a file may contain a directive or a near miss, without parsing it.
func Mentioned(text []byte) bool {
	for _, spelling := range []string{"hook:", "Hook:", "HOOK:", "hook :", "hooks:", "hookgen:"} {
		if bytes.Contains(text, []byte(spelling)) {
			return true
		}
	}
	return false
}

// Found is a directive and the declaration that it documents.
type Found struct {
	Directive
	Place Place
	// Node is the *ast.TypeSpec, *ast.FuncDecl or *ast.Field; nil for Nowhere.
	Node ast.Node
}

// Scan returns the directives of a file in source order, and their problems. It leaves out directives with a problem.
func Scan(fset *token.FileSet, file *ast.File) ([]Found, []diag.Problem) {
	s := scanner{fset: fset, targets: targets(file), bodies: bodies(file)}
	for _, group := range file.Comments {
		for _, c := range group.List {
			s.comment(group, c)
		}
	}
	s.exclusive()
	return s.found, s.problems
}

type scanner struct {
	fset     *token.FileSet
	targets  map[*ast.CommentGroup]target
	bodies   []*ast.BlockStmt
	found    []Found
	problems []diag.Problem
}

func (s *scanner) comment(group *ast.CommentGroup, c *ast.Comment) {
	if p, ok := nearMiss(c); ok {
		s.add(p)
		return
	}
	line, ok := ast.ParseDirective(c.Slash, c.Text)
	if !ok || line.Tool != "hook" {
		return
	}
	d, problems := parse(line)
	for _, p := range problems {
		s.add(p)
	}
	if len(problems) > 0 {
		return
	}
	h := s.target(group)
	if v, _ := verbOf(d.Verb); v.places != nil && !slices.Contains(v.places, h.place) {
		s.add(misplaced(d, h.place, v.places))
		return
	}
	s.found = append(s.found, Found{d, h.place, h.node})
}

func (s *scanner) target(group *ast.CommentGroup) target {
	if h, ok := s.targets[group]; ok {
		return h
	}
	for _, body := range s.bodies {
		if body.Pos() < group.Pos() && group.Pos() < body.End() {
			return target{place: InFunction}
		}
	}
	return target{place: Nowhere}
}

// exclusive refuses a second directive of one kind above a declaration, and kinds that exclude each other.
func (s *scanner) exclusive() {
	var kept []Found
	for _, f := range s.found {
		i := slices.IndexFunc(kept, func(o Found) bool { return f.Node != nil && o.Node == f.Node && excludes(o.Verb, f.Verb) })
		if i < 0 {
			kept = append(kept, f)
			continue
		}
		first := kept[i]
		if f.Verb == "composite" {
			kept[i] = f // so that problems of the composite are reported too
		}
		p := problem{cause: diag.RepeatedDirective, pos: f.Pos, verb: f.Verb}
		if first.Verb != f.Verb {
			p.cause, p.facts = diag.ExclusiveDirectives, []any{first.Verb}
		}
		s.add(p)
		s.problems[len(s.problems)-1].Notes = []diag.Note{diag.FirstStandsHere(s.fset.PositionFor(first.Pos, false))}
	}
	s.found = kept
}

func excludes(a, b string) bool {
	if a == b {
		return a != "ignore"
	}
	parts := []string{"subsystem", "tools"}
	return a == "composite" && slices.Contains(parts, b) || b == "composite" && slices.Contains(parts, a)
}

func (s *scanner) add(p problem) {
	out := diag.New(p.cause, s.fset.PositionFor(p.pos, false), p.verb, p.facts...)
	if p.end.IsValid() {
		out.End = s.fset.PositionFor(p.end, false)
	}
	if e := p.edit; e.from.IsValid() {
		out.Edits = []diag.Edit{{
			Pos: s.fset.PositionFor(e.from, false), End: s.fset.PositionFor(e.from+token.Pos(e.length), false), Text: e.text,
		}}
	}
	s.problems = append(s.problems, out)
}

// problem is a diag.Problem with unresolved places.
type problem struct {
	cause diag.Cause
	pos   token.Pos
	// verb is the verb of the directive, or the text of a comment that is none.
	verb  string
	facts []any
	// end is the end of the wrong text; no position if unknown.
	end  token.Pos
	edit edit
}

// edit replaces length bytes; without a place there is no edit.
type edit struct {
	from   token.Pos
	length int
	text   string
}
