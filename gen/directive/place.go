package directive

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"

	"github.com/grapnel-go/grapnel/internal/spell"
)

// home is the declaration that a comment group documents.
type home struct {
	place Place
	node  ast.Node
}

func homes(file *ast.File) map[*ast.CommentGroup]home {
	at := map[*ast.CommentGroup]home{}
	for _, decl := range file.Decls {
		memberHomes(at, decl)
		switch d := decl.(type) {
		case *ast.FuncDecl:
			h := home{Function, d}
			if d.Recv != nil {
				h.place = Method
			}
			put(at, d.Doc, h)
		case *ast.GenDecl:
			if d.Tok == token.TYPE {
				typeHomes(at, d)
			}
		}
	}
	return at
}

// memberHomes notes the fields of every struct that the declaration writes out.
func memberHomes(at map[*ast.CommentGroup]home, decl ast.Decl) {
	ast.Inspect(decl, func(n ast.Node) bool {
		if s, ok := n.(*ast.StructType); ok {
			for _, f := range s.Fields.List {
				put(at, f.Doc, home{Member, f})
			}
		}
		return true
	})
}

func typeHomes(at map[*ast.CommentGroup]home, d *ast.GenDecl) {
	for _, s := range d.Specs {
		spec, ok := s.(*ast.TypeSpec)
		if !ok {
			continue
		}
		h := home{Type, spec}
		switch t := spec.Type.(type) {
		case *ast.StructType:
			h.place = Struct
		case *ast.InterfaceType:
			h.place = Interface
			for _, m := range t.Methods.List {
				put(at, m.Doc, home{Demand, m})
			}
		}
		put(at, spec.Doc, h)
		if len(d.Specs) == 1 {
			put(at, d.Doc, h)
		}
	}
}

func put(at map[*ast.CommentGroup]home, group *ast.CommentGroup, h home) {
	if group != nil {
		at[group] = h
	}
}

func misplaced(d Directive, got Place, want []Place) problem {
	var places []string
	for _, p := range want {
		places = append(places, string(p))
	}
	where := "on " + string(got)
	if got == Elsewhere {
		where = "here, where it is part of no doc comment"
	}
	return problem{
		code: "HG007", pos: d.Pos,
		message: fmt.Sprintf("//hook:%s has no effect %s; it belongs above %s", d.Verb, where, strings.Join(places, " or ")),
		fix:     fmt.Sprintf("move it to the last line of the doc comment of %s, or delete it", want[0]),
	}
}

// miss matches what somebody who wanted a directive may have written instead.
var miss = regexp.MustCompile(`^(?://|/\*)(\s*\+?\s*)([hH][oO][oO][kK])\s*:\s*([A-Za-z]+)(\s|\*/|$)`)

// nearMiss tells whether the comment looks like a directive and is none.
func nearMiss(c *ast.Comment) (problem, bool) {
	m := miss.FindStringSubmatch(c.Text)
	if m == nil {
		return problem{}, false
	}
	if d, ok := ast.ParseDirective(c.Slash, c.Text); ok && d.Tool == "hook" {
		return problem{}, false
	}
	word := strings.ToLower(m[3])
	if word != "" && spell.Closest(word, Verbs()) == "" {
		return problem{}, false // prose
	}
	head, _, _ := strings.Cut(c.Text, "\n")
	args := strings.TrimSpace(strings.TrimSuffix(head[len(strings.TrimSuffix(m[0], m[4])):], "*/"))
	want := strings.TrimSpace("//hook:" + word + " " + args)
	return problem{
		code: "HG006", pos: c.Slash,
		message: fmt.Sprintf("%q is a plain comment: %s", strings.TrimSpace(strings.TrimSuffix(m[0], m[4])), whyPlain(c.Text, m)),
		fix:     want,
		edit:    whole(c, want),
	}, true
}

// whole replaces a comment of one line.
func whole(c *ast.Comment, text string) edit {
	if strings.Contains(c.Text, "\n") {
		return edit{}
	}
	return edit{c.Slash, len(c.Text), text}
}

func whyPlain(text string, m []string) string {
	switch {
	case strings.HasPrefix(text, "/*"):
		return "a directive is a // comment"
	case strings.Contains(m[1], "+"):
		return "remove the + after //"
	case m[1] != "":
		return "remove the blank after //"
	case m[2] != "hook" || m[3] != strings.ToLower(m[3]):
		return "a directive is written in lower case"
	}
	return "there is no blank beside the colon"
}
