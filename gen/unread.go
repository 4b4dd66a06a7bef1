package gen

import (
	"go/parser"
	"go/token"
	"slices"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/directive"
	"github.com/grapnel-go/grapnel/gen/internal/load"
)

// unread reports directives in files that are not read. In a test file that is an error; a file that build constraints exclude may
// be intended, so it is a warning.
func (r *run) unread() []diag.Problem {
	var out []diag.Problem
	for _, file := range r.listing.Unread(directive.Mentioned) {
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, file.Name, file.Text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue // the file is not part of the build
		}
		found, _ := directive.Scan(fset, parsed)
		if slices.ContainsFunc(found, func(f directive.Found) bool { return f.Ignore != nil && slices.Contains(f.Ignore.Codes, "HG019") }) {
			continue
		}
		for _, f := range found {
			if f.Ignore == nil {
				out = append(out, r.notRead(file, f.Verb, fset.PositionFor(f.Pos, false)))
			}
		}
	}
	return out
}

func (r *run) notRead(file load.Unread, verb string, pos token.Position) diag.Problem {
	pos.Filename = relative(r.dir, file.Name)
	if file.Test {
		return diag.New(diag.DirectiveInTest, pos, verb)
	}
	return diag.New(diag.DirectiveExcluded, pos, verb)
}
