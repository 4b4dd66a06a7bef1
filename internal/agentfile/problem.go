package agentfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong in a file: where, what, and how to mend it.
type Problem struct {
	File string
	// Line and Column count from 1; 0 is the file as a whole.
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

// err returns the problems, sorted, or nil if there are none.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return ps
}

// nearest returns the candidate that key was probably meant to be, or "".
func nearest(key string, candidates []string) string {
	best, least := "", len(key)/3+2
	for _, c := range candidates {
		if d := distance(strings.ToLower(key), c); d < least {
			best, least = c, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete or replace, or to swap
// with their neighbour, that turn a into b.
func distance(a, b string) int {
	before, prev, row := []int(nil), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := prev[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(prev[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, make([]int, len(b)+1)
	}
	return prev[len(b)]
}
