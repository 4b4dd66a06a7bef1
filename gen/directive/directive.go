// Package directive reads the comments //hook:… of a Go file. The namespace is closed: an unknown word, option or place and every
// near-miss in spelling is a problem with a suggestion, never silently nothing.
package directive

import (
	"go/ast"
	"go/token"
	"reflect"
	"slices"

	"github.com/grapnel-go/grapnel/gen/diag"
)

// Directive is one directive at one place. Exactly one of the pointers is set.
type Directive struct {
	Verb string
	// Pos is the place of the comment's slashes.
	Pos token.Pos
	// Args are the words after the verb, with their places, for problems that are found later.
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
	Struct    Place = "a struct type"
	Type      Place = "a type that is no struct"
	Interface Place = "an interface type"
	Method    Place = "a method"
	Demand    Place = "a method of an interface"
	Function  Place = "a function"
	Member    Place = "a field of a struct"
	Elsewhere Place = "no declaration"
)

// verb says where a directive may stand and into which field of Directive it is parsed.
type verb struct {
	name   string
	places []Place
	// target returns a pointer to the new struct that is stored in d.
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
		{"point", []Place{Interface, Demand}, into(func(d *Directive) **Point { return &d.Point })},
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

// Verbs are the words that may follow //hook:, in the order of the manual.
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

// Found is a directive with the declaration it documents.
type Found struct {
	Directive
	Place Place
	// Node is the *ast.TypeSpec, *ast.FuncDecl or *ast.Field; nil for Elsewhere.
	Node ast.Node
}

// Scan returns the directives of a file in source order and what is wrong with them. A directive with a problem is left out.
func Scan(fset *token.FileSet, file *ast.File) ([]Found, []diag.Problem) {
	s := scanner{fset: fset, homes: homes(file)}
	for _, group := range file.Comments {
		for _, c := range group.List {
			s.comment(group, c)
		}
	}
	return s.found, s.problems
}

type scanner struct {
	fset     *token.FileSet
	homes    map[*ast.CommentGroup]home
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
	h, ok := s.homes[group]
	if !ok {
		h = home{place: Elsewhere}
	}
	if v, _ := verbOf(d.Verb); v.places != nil && !slices.Contains(v.places, h.place) {
		s.add(misplaced(d, h.place, v.places))
		return
	}
	s.found = append(s.found, Found{d, h.place, h.node})
}

func (s *scanner) add(p problem) {
	s.problems = append(s.problems, diag.Problem{
		Code: p.code, Pos: s.fset.PositionFor(p.pos, false), Message: p.message, Fix: p.fix, Edits: s.edits(p),
	})
}

func (s *scanner) edits(p problem) []diag.Edit {
	if !p.edit.from.IsValid() {
		return nil
	}
	return []diag.Edit{{
		Pos: s.fset.PositionFor(p.edit.from, false), End: s.fset.PositionFor(p.edit.from+token.Pos(p.edit.length), false), Text: p.edit.text,
	}}
}

// problem is a diag.Problem whose place is not yet resolved.
type problem struct {
	code    string
	pos     token.Pos
	message string
	fix     string
	edit    edit
}

// edit replaces so many bytes; without a place there is none.
type edit struct {
	from   token.Pos
	length int
	text   string
}
