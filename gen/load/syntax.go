package load

import (
	"go/scanner"

	"github.com/grapnel-go/grapnel/gen/diag"
)

// syntaxProblems turns the errors of a file that does not parse into problems; what could be parsed of it is used.
func syntaxProblems(l *Listing, err error) []diag.Problem {
	list, ok := err.(scanner.ErrorList)
	if !ok {
		return []diag.Problem{{Code: "HG010", Message: err.Error()}}
	}
	list.RemoveMultiples()
	var out []diag.Problem
	for _, e := range list {
		out = append(out, diag.Problem{Code: "HG010", Pos: l.position(e.Pos), Message: "the file cannot be parsed: " + e.Msg})
	}
	return out
}
