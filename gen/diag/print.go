package diag

import (
	"fmt"
	"io"
)

// Print writes problems for people and editors: the place and the code in the first line, notes and the fix indented below.
func Print(w io.Writer, problems []Problem) {
	for _, p := range problems {
		fmt.Fprintln(w, p.line())
		for _, n := range p.Notes {
			fmt.Fprintf(w, "\t%s%s\n", place(n.Pos), n.Message)
		}
		if p.Fix != "" {
			fmt.Fprintf(w, "\tfix: %s\n", p.Fix)
		}
	}
}
