// Package diag is what the generator says about somebody's code: a problem with a code, a place, a reason and a fix.
// It is data and its printing; who finds a problem decides nothing about how it is shown.
package diag

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// Severity is how much a problem weighs. The zero value is Error.
type Severity int

const (
	// Error stops the run: nothing is written.
	Error Severity = iota
	// Warning is printed and stops nothing, unless the run is strict.
	Warning
	// Info is printed on demand and stops nothing.
	Info
)

// String returns the word that is printed before the code.
func (s Severity) String() string {
	switch s {
	case Warning:
		return "warning"
	case Info:
		return "info"
	}
	return "error"
}

// Problem is one finding. Code is one of the table of [Explain]; Pos is exact to the column; Message says what and why in one
// line, lower case, without a full stop; Fix is what to write instead, ready to copy, or "".
type Problem struct {
	Code     string
	Severity Severity
	Pos      token.Position
	// End is behind the last byte of what is wrong, in the file of Pos; zero where nobody knows. [Locate] fills it in.
	End     token.Position
	Message string
	Notes   []Note
	Fix     string
	// Edits do what Fix says, where that is a change of text that needs no thought; nil elsewhere.
	Edits []Edit
}

// Note is a further place that belongs to a problem: the other party of a conflict, the declaration that decides.
// A zero position is allowed and printed as no place.
type Note struct {
	Pos     token.Position
	Message string
}

// Edit replaces the text from Pos up to End, which are in one file and have valid offsets.
type Edit struct {
	Pos, End token.Position
	Text     string
}

// Error returns the problem's first line, as Print writes it.
func (p Problem) Error() string { return p.line() }

func (p Problem) line() string {
	return fmt.Sprintf("%s%s %s: %s", place(p.Pos), p.Severity, p.Code, visible(p.Message))
}

func place(pos token.Position) string {
	if pos.Filename == "" && pos.Line == 0 {
		return ""
	}
	return visible(pos.String()) + ": "
}

// Moved returns the problem with every place in it changed by f.
func (p Problem) Moved(f func(token.Position) token.Position) Problem {
	p.Pos = f(p.Pos)
	if p.End.IsValid() {
		p.End = f(p.End)
	}
	p.Notes, p.Edits = slices.Clone(p.Notes), slices.Clone(p.Edits)
	for i, n := range p.Notes {
		if n.Pos.IsValid() {
			p.Notes[i].Pos = f(n.Pos)
		}
	}
	for i, e := range p.Edits {
		p.Edits[i].Pos, p.Edits[i].End = f(e.Pos), f(e.End)
	}
	return p
}

// Sort orders problems by file, line, column and code, and removes the ones that are said twice.
func Sort(problems []Problem) []Problem {
	sorted := slices.Clone(problems)
	slices.SortStableFunc(sorted, func(a, b Problem) int {
		return cmp.Or(comparePos(a.Pos, b.Pos), strings.Compare(a.Code, b.Code), strings.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(sorted, func(a, b Problem) bool {
		return a.Pos == b.Pos && a.Code == b.Code && a.Message == b.Message
	})
}

func comparePos(a, b token.Position) int {
	return cmp.Or(strings.Compare(a.Filename, b.Filename), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// HasErrors tells whether one of the problems stops the run.
func HasErrors(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == Error })
}

// Strict returns the problems with every warning made an error.
func Strict(problems []Problem) []Problem {
	out := slices.Clone(problems)
	for i := range out {
		if out[i].Severity == Warning {
			out[i].Severity = Error
		}
	}
	return out
}
