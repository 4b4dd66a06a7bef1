package vet

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/directive"
)

func (s *source) report(problems []diag.Problem, info bool) []diag.Problem {
	problems = slices.DeleteFunc(s.mine(problems), func(p diag.Problem) bool { return p.Severity == diag.Info && !info })
	for _, p := range problems {
		s.pass.Report(s.diagnostic(p))
	}
	return problems
}

// directives returns the problems of directives in a package that does not use package hook.
func (s *source) directives() []diag.Problem {
	var all []diag.Problem
	for _, f := range s.pkg.Files {
		_, problems := directive.Scan(s.pass.Fset, f)
		all = append(all, problems...)
	}
	return all
}

// mine returns the problems in files of the package that are not generated.
func (s *source) mine(problems []diag.Problem) []diag.Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p diag.Problem) bool { return !s.pos(p.Pos).IsValid() })
}

// moveHere moves a problem of another package, which cannot report it, to a place in this one.
func (s *source) moveHere(p diag.Problem, pos token.Pos) diag.Problem {
	if s.pos(p.Pos).IsValid() {
		return p
	}
	p.Notes = append(p.Notes[:len(p.Notes):len(p.Notes)], diag.ItIsDeclaredHere(p.Pos))
	p.Pos, p.End, p.Edits = s.Position(pos), token.Position{}, nil
	return p
}

// diagnostic returns a problem for go vet and linters: one line with notes and fix.
func (s *source) diagnostic(p diag.Problem) analysis.Diagnostic {
	d := analysis.Diagnostic{Pos: s.pos(p.Pos), End: s.pos(p.End), Category: p.Code, Message: p.Code + ": " + p.Message()}
	for _, n := range p.Notes {
		if !n.Pos.IsValid() {
			d.Message += "; " + n.Message
		} else if pos := s.pos(n.Pos); pos.IsValid() {
			d.Related = append(d.Related, analysis.RelatedInformation{Pos: pos, Message: n.Message})
		}
	}
	if fix := p.Fix(); fix != "" {
		d.Message += "; fix: " + strings.Join(strings.Fields(fix), " ")
	}
	if edits := s.edits(p.Edits); edits != nil {
		d.SuggestedFixes = []analysis.SuggestedFix{{Message: p.Fix(), TextEdits: edits}}
	}
	return d
}

// edits returns nil if one of them lies in another package.
func (s *source) edits(edits []diag.Edit) []analysis.TextEdit {
	var out []analysis.TextEdit
	for _, e := range edits {
		from, to := s.pos(e.Pos), s.pos(e.End)
		if !from.IsValid() || !to.IsValid() {
			return nil
		}
		out = append(out, analysis.TextEdit{Pos: from, End: to, NewText: []byte(e.Text)})
	}
	return out
}

// pos returns the place of a position in the file set; no position if it lies in no file of the package.
func (s *source) pos(at token.Position) token.Pos {
	for _, files := range [][]*ast.File{s.pkg.Files, s.tests} {
		for _, f := range files {
			file := s.pass.Fset.File(f.FileStart)
			if file.Name() != at.Filename || at.Line < 1 || at.Line > file.LineCount() {
				continue
			}
			pos := file.LineStart(at.Line) + token.Pos(max(at.Column-1, 0))
			if int(pos) <= file.Base()+file.Size() {
				return pos
			}
		}
	}
	return token.NoPos
}
