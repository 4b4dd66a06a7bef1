package diag

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Format is an output format of problems.
type Format string

// The formats.
const (
	// Text is for people and editors: place and code, the source line with a caret, notes, the fix, and one last line on how to
	// read more.
	Text Format = "text"
	// GitHub is a workflow command for each problem.
	GitHub Format = "github"
	// JSON is one object on a line for each problem.
	JSON Format = "json"
)

// Formats returns all formats.
func Formats() []Format { return []Format{Text, GitHub, JSON} }

// Printer writes problems. The zero value writes text without source lines.
type Printer struct {
	Format Format
	// Source returns the text of a file by the name in positions. If it is nil or fails, no source lines are printed.
	Source func(name string) ([]byte, error)
}

// Print writes problems as text without source lines.
func Print(w io.Writer, problems []Problem) { _ = (&Printer{}).Print(w, problems) }

// Print writes the problems in the order given. The error is the writer's.
func (p *Printer) Print(w io.Writer, problems []Problem) error {
	var sb strings.Builder
	lines := &sources{read: p.Source}
	for _, problem := range problems {
		switch p.Format {
		case GitHub:
			github(&sb, problem)
		case JSON:
			object(&sb, problem)
		default:
			p.text(&sb, problem, lines)
		}
	}
	if p.Source != nil && (p.Format == Text || p.Format == "") {
		more(&sb, problems)
	}
	_, err := io.WriteString(w, sb.String())
	return err
}

func (p *Printer) text(sb *strings.Builder, problem Problem, lines *sources) {
	fmt.Fprintln(sb, problem.line())
	if line, ok := lines.line(problem.Pos); ok {
		sb.WriteString(excerpt(line, problem.Pos, problem.End))
	}
	for _, n := range problem.Notes {
		fmt.Fprintf(sb, "\t%s%s\n", place(n.Pos), visible(n.Message))
	}
	if problem.Fix() != "" {
		fmt.Fprintf(sb, "\tfix: %s\n", fix(problem.Fix()))
	}
}

// fix indents a fix of several lines.
func fix(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = visible(line)
	}
	return strings.Join(lines, "\n\t\t")
}

// more prints how to read about the codes.
func more(sb *strings.Builder, problems []Problem) {
	var codes []string
	for _, p := range problems {
		codes = append(codes, p.Code)
	}
	slices.Sort(codes)
	if codes = slices.Compact(codes); len(codes) > 0 {
		fmt.Fprintf(sb, "more: hookgen explain %s\n", strings.Join(codes, " "))
	}
}
