// Package diag has the problems that the generator reports, as data, and makes their text: cause.go lists the causes, texts.go
// their texts, pages.go explains the codes.
package diag

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// Severity says whether a problem stops the run. The zero value is Error.
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

// Problem is one finding, as data: [Problem.Message] and [Problem.Fix] make its text. Make one with [New].
type Problem struct {
	Cause Cause
	// Code is the cause's, one of [Codes]. A problem of the planner has the planner's code.
	Code     string
	Severity Severity
	// Pos is exact to the column.
	Pos token.Position
	// End is the end of the wrong text, in the file of Pos; zero if unknown. [Locate] sets it.
	End token.Position
	// Subject is the type, field, tool or file that the problem is about.
	Subject string
	// Method is the method or point of the subject that the problem is about; "" for none.
	Method string
	// Facts are the other words that the text of the cause needs, in the order of its table.
	Facts []string
	// Remedy replaces the fix of the cause if other errors suggest a better one; "" otherwise.
	Remedy string
	Notes  []Note
	// Edits apply Fix automatically; nil if a person has to decide.
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

// Of returns the problem with its Method set.
func (p Problem) Of(method string) Problem {
	p.Method = method
	return p
}

// Message returns the problem and its reason, in one line, lower case, without a full stop.
func (p Problem) Message() string { return p.fill(texts[p.Cause].message) }

// Fix returns the text to write instead, ready to copy; "" if the message has it.
func (p Problem) Fix() string {
	if p.Remedy != "" {
		return p.Remedy
	}
	return p.fill(texts[p.Cause].fix)
}

// fill puts subject, method and facts into a text of the table.
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

// Same reports whether two problems are equal except for notes and edits.
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

// Moved returns the problem with f applied to every position.
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

// Sort sorts problems by file, line, column and code, and removes duplicates.
func Sort(problems []Problem) []Problem {
	sorted := slices.Clone(problems)
	slices.SortStableFunc(sorted, func(a, b Problem) int { return cmp.Or(comparePos(a.Pos, b.Pos), compareText(a, b)) })
	return slices.CompactFunc(sorted, Problem.Same)
}

func comparePos(a, b token.Position) int {
	return cmp.Or(strings.Compare(a.Filename, b.Filename), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// HasErrors reports whether one of the problems stops the run.
func HasErrors(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == Error })
}

// Strict returns the problems with warnings as errors.
func Strict(problems []Problem) []Problem {
	out := slices.Clone(problems)
	for i := range out {
		if out[i].Severity == Warning {
			out[i].Severity = Error
		}
	}
	return out
}
