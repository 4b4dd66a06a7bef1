package gen

import (
	"go/parser"
	"go/token"
	"slices"

	"github.com/grapnel-go/grapnel/gen/diag"
	"github.com/grapnel-go/grapnel/gen/directive"
	"github.com/grapnel-go/grapnel/gen/load"
)

// unread reports directives in files that are not read: tests, and what build constraints exclude. A test file is a mistake; a file
// of another system or tag may be meant as it is, so that is a warning.
func (r *run) unread() []diag.Problem {
	var out []diag.Problem
	for _, file := range r.listing.Unread(directive.Mentioned) {
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, file.Name, file.Text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue // nobody needs it to be right
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
	p := diag.Problem{
		Code: "HG019", Pos: pos, Message: "//hook:" + verb + " stands in a test, but code is generated for the package without its tests",
		Fix: "move the declaration into a file that is no test, or join hooks in the test with composite.New",
	}
	if !file.Test {
		p.Severity = diag.Warning
		p.Message = "//hook:" + verb + " is not read: build constraints exclude the file"
		p.Fix = "run hookgen with the -tags that include it, move it into a file without constraints, or put //hook:ignore HG019 into the file"
	}
	return p
}
