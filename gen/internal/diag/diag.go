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

// Problem is one finding, as data: its text is made of these fields by [Problem.Message] and [Problem.Fix]. Make one with [New].
type Problem struct {
	Cause Cause
	// Code is the cause's, one of the table of [Explain]. The causes that quote the planner bring the planner's code.
	Code     string
	Severity Severity
	// Pos is exact to the column.
	Pos token.Position
	// End is behind the last byte of what is wrong, in the file of Pos; zero where nobody knows. [Locate] fills it in.
	End token.Position
	// Subject is the type, field, tool or file that the problem is about.
	Subject string
	// Method is the method or point of the subject that the problem is about; "" for none.
	Method string
	// Facts are the other words that the text of the cause needs, in the order of its table.
	Facts []string
	// Remedy takes the place of the cause's fix where other errors suggest a better one; "" elsewhere.
	Remedy string
	Notes  []Note
	// Edits do what Fix says, where that is a change of text that needs no thought; nil elsewhere.
	Edits []Edit
}

// New returns the problem with the code and the severity of its cause. Facts are written as fmt.Sprint writes them.
func New(cause Cause, pos token.Position, subject string, facts ...any) Problem {
	t := texts[cause]
	p := Problem{Cause: cause, Code: t.code, Severity: t.severity, Pos: pos, Subject: subject}
	for _, f := range facts {
		p.Facts = append(p.Facts, fmt.Sprint(f))
	}
	return p
}

// Of returns the problem as one of a method of its subject.
func (p Problem) Of(method string) Problem {
	p.Method = method
	return p
}

// Message says what is wrong and why, in one line, lower case, without a full stop.
func (p Problem) Message() string { return p.fill(texts[p.Cause].message) }

// Fix says what to write instead, ready to copy; "" if the message says it.
func (p Problem) Fix() string {
	if p.Remedy != "" {
		return p.Remedy
	}
	return p.fill(texts[p.Cause].fix)
}

// fill puts the subject, the method and the facts into a text of the table, which refers to them by number.
func (p Problem) fill(text string) string {
	args := []any{p.Subject, p.Method}
	for _, f := range p.Facts {
		args = append(args, f)
	}
	if !strings.Contains(text, "%") {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// Same tells whether two problems say the same of the same place.
func (p Problem) Same(o Problem) bool { return p.Pos == o.Pos && compareText(p, o) == 0 }

func compareText(a, b Problem) int {
	return cmp.Or(strings.Compare(a.Code, b.Code), cmp.Compare(a.Cause, b.Cause), strings.Compare(a.Subject, b.Subject),
		strings.Compare(a.Method, b.Method), slices.Compare(a.Facts, b.Facts))
}

// Edit replaces the text from Pos up to End, which are in one file and have valid offsets.
type Edit struct {
	Pos, End token.Position
	Text     string
}

// Error returns the problem's first line, as Print writes it.
func (p Problem) Error() string { return p.line() }

func (p Problem) line() string {
	return fmt.Sprintf("%s%s %s: %s", place(p.Pos), p.Severity, p.Code, visible(p.Message()))
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
	slices.SortStableFunc(sorted, func(a, b Problem) int { return cmp.Or(comparePos(a.Pos, b.Pos), compareText(a, b)) })
	return slices.CompactFunc(sorted, Problem.Same)
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
