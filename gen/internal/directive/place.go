package directive

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/internal/spell"
)

// target is the declaration that a comment group documents.
type target struct {
	place Place
	node  ast.Node
}

func targets(file *ast.File) map[*ast.CommentGroup]target {
	at := map[*ast.CommentGroup]target{}
	put(at, file.Doc, target{place: PackageClause})
	for _, decl := range file.Decls {
		fieldTargets(at, decl)
		switch d := decl.(type) {
		case *ast.FuncDecl:
			h := target{Function, d}
			if d.Recv != nil {
				h.place = Method
			}
			put(at, d.Doc, h)
		case *ast.GenDecl:
			switch d.Tok {
			case token.TYPE:
				typeTargets(at, d)
			case token.IMPORT:
				put(at, d.Doc, target{place: PackageClause})
			default:
				valueTargets(at, d)
			}
		}
	}
	return at
}

// fieldTargets adds the fields of all structs in a declaration.
func fieldTargets(at map[*ast.CommentGroup]target, decl ast.Decl) {
	ast.Inspect(decl, func(n ast.Node) bool {
		if s, ok := n.(*ast.StructType); ok {
			for _, f := range s.Fields.List {
				put(at, f.Doc, target{Member, f})
			}
		}
		return true
	})
}

// bodies returns the bodies of the functions in a file.
func bodies(file *ast.File) []*ast.BlockStmt {
	var out []*ast.BlockStmt
	ast.Inspect(file, func(n ast.Node) bool {
		body, ok := n.(*ast.BlockStmt)
		if ok {
			out = append(out, body)
		}
		return !ok
	})
	return out
}

func valueTargets(at map[*ast.CommentGroup]target, d *ast.GenDecl) {
	put(at, d.Doc, target{place: Value})
	for _, s := range d.Specs {
		if spec, ok := s.(*ast.ValueSpec); ok {
			put(at, spec.Doc, target{place: Value})
			put(at, spec.Comment, target{place: Value})
		}
	}
}

func typeTargets(at map[*ast.CommentGroup]target, d *ast.GenDecl) {
	put(at, d.Doc, target{place: Group})
	for _, s := range d.Specs {
		spec, ok := s.(*ast.TypeSpec)
		if !ok {
			continue
		}
		h := target{Type, spec}
		switch t := spec.Type.(type) {
		case *ast.StructType:
			h.place = Struct
		case *ast.InterfaceType:
			h.place = Interface
			for _, m := range t.Methods.List {
				put(at, m.Doc, target{InterfaceMethod, m})
			}
		}
		put(at, spec.Doc, h)
		if len(d.Specs) == 1 {
			put(at, d.Doc, h)
		}
	}
}

func put(at map[*ast.CommentGroup]target, group *ast.CommentGroup, h target) {
	if group != nil {
		at[group] = h
	}
}

func misplaced(d Directive, got Place, want []Place) problem {
	var places []string
	for _, p := range want {
		places = append(places, string(p))
	}
	cause := diag.Misplaced
	switch got {
	case Nowhere:
		cause = diag.MisplacedNowhere
	case InFunction:
		cause = diag.MisplacedInFunction
	case Group:
		cause = diag.MisplacedOnGroup
	case Member:
		if d.Verb == "enum" || d.Verb == "tools" || d.Verb == "subsystem" {
			cause = diag.MisplacedOnField
		}
	}
	return problem{cause: cause, pos: d.Pos, verb: d.Verb, facts: []any{got, strings.Join(places, " or "), want[0]}}
}

// nearMissPattern matches comments that were probably meant to be directives.
var nearMissPattern = regexp.MustCompile(`^(?://|/\*)(\s*[+@]?\s*)([hH][oO][oO][kK])\s*:\s*([A-Za-z]+)(\s|\*/|$)`)

// nearMiss reports a comment that looks like a directive and is none.
func nearMiss(c *ast.Comment) (problem, bool) {
	if d, ok := ast.ParseDirective(c.Slash, c.Text); ok {
		if _, known := verbOf(d.Name); known && slices.Contains([]string{"hooks", "hookgen"}, d.Tool) {
			return shouldBe(diag.OtherPrefix, c, "//"+d.Tool+":"+d.Name, d.Name+" "+d.Args), true
		}
		return problem{}, false
	}
	m := nearMissPattern.FindStringSubmatch(c.Text)
	if m == nil || spell.Closest(m[3], Verbs()) == "" {
		if strings.HasPrefix(c.Text, "//hook:") {
			return problem{cause: diag.NoDirective, pos: c.Slash, verb: strings.TrimSpace(c.Text), facts: []any{strings.Join(Verbs(), ", ")}}, true
		}
		return problem{}, false
	}
	written := strings.TrimSuffix(m[0], m[4])
	args, _, _ := strings.Cut(c.Text[len(written):], "\n")
	args = strings.TrimSpace(strings.TrimSuffix(args, "*/"))
	return shouldBe(whyPlain(c.Text, m), c, strings.TrimSpace(written), strings.ToLower(m[3])+" "+args, strings.TrimSpace(m[1])), true
}

// shouldBe returns the problem of a comment that should be the directive with these words.
func shouldBe(cause diag.Cause, c *ast.Comment, written, words string, facts ...any) problem {
	want := strings.TrimSpace("//hook:" + words)
	p := problem{cause: cause, pos: c.Slash, verb: written, facts: append([]any{want}, facts...)}
	if !strings.Contains(c.Text, "\n") {
		p.edit = edit{c.Slash, len(c.Text), want}
	}
	return p
}

// whyPlain says why a comment that matches nearMissPattern is no directive; m are the submatches.
func whyPlain(text string, m []string) diag.Cause {
	switch {
	case strings.HasPrefix(text, "/*"):
		return diag.PlainBlock
	case strings.ContainsAny(m[1], "+@"):
		return diag.PlainSign
	case m[1] != "":
		return diag.PlainBlank
	case m[2] != "hook" || m[3] != strings.ToLower(m[3]):
		return diag.PlainCase
	}
	return diag.PlainColon
}
