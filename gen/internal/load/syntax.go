package load

import (
	"bytes"
	"go/scanner"
	"go/token"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

func syntaxProblems(l *Listing, name string, text []byte, err error) []diag.Problem {
	list, ok := err.(scanner.ErrorList)
	if !ok {
		return []diag.Problem{diag.New(diag.Unparsable, l.position(token.Position{Filename: name, Line: 1, Column: 1}), name, err)}
	}
	list.RemoveMultiples()
	var out []diag.Problem
	for _, e := range list {
		out = append(out, diag.New(diag.Unparsable, l.position(placeIn(name, text, e.Pos.Offset)), name, e.Msg))
	}
	return out
}

// placeIn returns the position of an offset in a file; it ignores //line comments.
func placeIn(name string, text []byte, offset int) token.Position {
	head := text[:min(offset, len(text))]
	line := bytes.Count(head, []byte("\n")) + 1
	return token.Position{Filename: name, Offset: offset, Line: line, Column: len(head) - bytes.LastIndexByte(head, '\n')}
}
