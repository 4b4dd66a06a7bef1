package origin

import (
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

// writer writes the text of a package that the fingerprint covers.
type writer struct {
	*reader
	out strings.Builder
	// data has the types and constants of arguments and results, hooks the types whose
	// points count.
	data, hooks queue
	// written has the const declarations that were written already.
	written map[int]bool
}

// queue is names of declarations, each once.
type queue struct {
	todo []string
	seen map[string]bool
}

func (q *queue) add(name string) {
	if name == "" || q.seen[name] {
		return
	}
	if q.seen == nil {
		q.seen = map[string]bool{}
	}
	q.seen[name] = true
	q.todo = append(q.todo, name)
}

// each calls f with every name, also with those that f adds.
func (q *queue) each(f func(name string)) {
	for i := 0; i < len(q.todo); i++ {
		f(q.todo[i])
	}
}

// text returns the covered text; "" if no declaration has a directive.
func (r *reader) text() string {
	w := &writer{reader: r, written: map[int]bool{}}
	for _, root := range r.roots {
		if root.fn != nil {
			w.tool(*root.fn)
			continue
		}
		w.root(*root.typ)
	}
	w.hooks.each(w.hook)
	w.data.each(w.value)
	return w.out.String()
}

// tool writes a function with directives.
func (w *writer) tool(m method) {
	w.signature(m)
	w.line("doc", Text(m.decl.Doc.Text()))
	w.line("directives", directives(m.decl.Doc)...)
	w.described(m.decl.Type)
	w.mention(m.decl.Type)
	w.hooks.add(receiver(m.decl))
}

// root writes a type with directives.
func (w *writer) root(t typeDecl) {
	name := t.spec.Name.Name
	w.line("type "+name, t.verb...)
	switch {
	case has(t.verb, "composite"):
		w.tokens(t.source, t.spec.Pos(), t.spec.End())
		for field := range fields(t.spec.Type) {
			w.hooks.add(baseName(field.Type))
		}
		w.hooks.add(name)
	case has(t.verb, "enum", "schema"):
		w.data.add(name)
	case has(t.verb, "point"), len(t.verb) == 0:
		w.tokens(t.source, t.spec.Pos(), t.spec.End())
		w.line("directives", fieldDirectives(t.spec.Type)...)
	default:
		w.hooks.add(name)
	}
}

// hook writes the points of a type, and its embedded types, which may add more.
func (w *writer) hook(name string) {
	for _, t := range w.types[name] {
		if _, ok := t.spec.Type.(*ast.StructType); !ok {
			w.tokens(t.source, t.spec.Pos(), t.spec.End())
			w.hooks.add(baseName(t.spec.Type))
		}
		for field := range fields(t.spec.Type) {
			if len(field.Names) == 0 {
				w.tokens(t.source, field.Pos(), field.End())
				w.hooks.add(baseName(field.Type))
			}
		}
	}
	for _, m := range w.methods[name] {
		if slices.Contains(w.points, m.decl.Name.Name) {
			w.signature(m)
		}
	}
}

// value writes a type of arguments or results, or the declaration of a constant. With a
// type it writes the constants that may be of the type.
func (w *writer) value(name string) {
	for _, t := range w.types[name] {
		w.line("type "+name, t.verb...)
		w.tokens(t.source, t.spec.Pos(), t.spec.End())
		w.described(t.spec.Type)
		w.mention(t.spec.Type)
	}
	for _, m := range w.methods[name] {
		switch m.decl.Name.Name {
		case "UnmarshalJSON", "UnmarshalText", "MarshalJSON", "MarshalText", "IsZero":
			w.signature(m)
		}
	}
	for _, alias := range w.aliases[name] {
		w.data.add(alias)
	}
	for i, g := range w.consts {
		if !w.written[i] && mentions(g.decl, name) {
			w.written[i] = true
			w.tokens(g.source, g.decl.Pos(), g.decl.End())
			w.mention(g.decl)
		}
	}
}

// mentions reports whether a declaration names or declares a type or a constant of the
// package.
func mentions(n ast.Node, name string) (found bool) {
	names(n, func(id string) { found = found || id == name })
	return found
}

func (w *writer) signature(m method) { w.tokens(m.source, m.decl.Pos(), m.decl.Type.End()) }

// described writes the comments of fields, which describe arguments.
func (w *writer) described(t ast.Node) {
	ast.Inspect(t, func(n ast.Node) bool {
		field, ok := n.(*ast.Field)
		if !ok || field.Doc == nil && field.Comment == nil {
			return true
		}
		doc := field.Doc.Text()
		if doc == "" {
			doc = field.Comment.Text()
		}
		w.line("field", Text(doc))
		w.line("directives", directives(field.Doc)...)
		return true
	})
}

// mention adds the types and constants of the package that an expression names.
func (w *writer) mention(n ast.Node) {
	names(n, func(name string) {
		if w.types[name] != nil || w.named[name] {
			w.data.add(name)
		}
	})
}

// names calls f with each name in an expression or a declaration, except those of other
// packages, fields and parameters.
func names(n ast.Node, f func(name string)) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			names(n.Type, f)
			return false
		case *ast.SelectorExpr:
			names(n.X, f)
			return false
		case *ast.Ident:
			f(n.Name)
		}
		return true
	})
}

// line writes texts unambiguously.
func (w *writer) line(what string, texts ...string) { fmt.Fprintf(&w.out, "%s %q\n", what, texts) }

// tokens writes the text between two places without comments and formatting.
func (w *writer) tokens(src source, from, to token.Pos) {
	text := src.text[src.file.Offset(from):src.file.Offset(to)]
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, nil, 0)
	for {
		_, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			w.out.WriteByte('\n')
			return
		case tok == token.SEMICOLON: // an inserted one counts like a written one
			lit = ";"
		case lit == "":
			lit = tok.String()
		}
		fmt.Fprintf(&w.out, "%q ", lit)
	}
}

func fields(t ast.Expr) func(func(*ast.Field) bool) {
	return func(yield func(*ast.Field) bool) {
		s, ok := t.(*ast.StructType)
		if !ok {
			return
		}
		for _, f := range s.Fields.List {
			if !yield(f) {
				return
			}
		}
	}
}
