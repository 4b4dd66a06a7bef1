package agentfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a file: its place, the mistake, and the fix.
type Problem struct {
	File string
	// Line and Column count from 1; 0 is the whole file.
	Line   int
	Column int
	What   string
	Fix    string
}

// String returns "file:line:column: what; fix".
func (p Problem) String() string {
	at := p.File
	if p.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	if p.Fix == "" {
		return at + ": " + p.What
	}
	return at + ": " + p.What + "; " + p.Fix
}

// Problems are all problems of one or more files.
type Problems []Problem

// Error returns one problem per line, sorted by position.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Err returns the problems, sorted, or nil if there are none.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return ps
}
