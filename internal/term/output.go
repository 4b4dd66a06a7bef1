package term

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/screen"
)

// shownLines is how many lines of each output of a command are shown: half from its
// beginning, half from its end.
const shownLines = 10

// commandOutput is the answer of a tool that runs a command. It is recognised by its
// members, because the tool may have any name.
type commandOutput struct {
	Stdout    *string `json:"stdout"`
	Stderr    *string `json:"stderr"`
	ExitCode  *int    `json:"exit_code"`
	Truncated bool    `json:"truncated"`
	TimedOut  bool    `json:"timed_out"`
}

// outputOf reads the answer of a command from the last line of a result. before has the
// other lines; for another result it has all.
func outputOf(result string) (before string, out commandOutput, ok bool) {
	at := strings.LastIndexByte(result, '\n') + 1
	dec := json.NewDecoder(strings.NewReader(result[at:]))
	dec.DisallowUnknownFields()
	if dec.Decode(&out) != nil || dec.More() || out.Stdout == nil || out.Stderr == nil || out.ExitCode == nil {
		return result, commandOutput{}, false
	}
	return strings.TrimSuffix(result[:at], "\n"), out, true
}

// linesOf returns the lines of an output; none if it is empty.
func linesOf(output string) []string {
	output = strings.TrimRight(strings.ReplaceAll(output, "\r\n", "\n"), "\n")
	if output == "" {
		return nil
	}
	return strings.Split(output, "\n")
}

// single returns the line of a command that has written only one.
func (o commandOutput) single() (string, bool) {
	if o.Stdout == nil {
		return "", false
	}
	lines := linesOf(*o.Stdout)
	return strings.Join(lines, ""), len(lines) <= 1 && *o.Stderr == "" && *o.ExitCode == 0
}

// rows returns the lines of the outputs, each behind a mark, so that they cannot pass for
// lines of the program. They name standard error, and an exit code other than 0.
func (o commandOutput) rows(width int) []shownRow {
	rows := o.part(*o.Stdout, screen.Lit("    │ "), screen.Dim, width)
	rows = append(rows, o.part(*o.Stderr, screen.Lit("    stderr │ "), screen.Yellow, width)...)
	if *o.ExitCode != 0 {
		rows = append(rows, shownRow{screen.Format("    exit code %d\n", *o.ExitCode), screen.Yellow})
	}
	return rows
}

// part returns the rows of one output: its beginning, how much is left out, and its end.
func (o commandOutput) part(output string, mark screen.Text, color screen.Style, width int) (rows []shownRow) {
	lines := linesOf(output)
	head, left := len(lines), len(lines)-shownLines
	if left > 1 { // a note instead of one line would save nothing
		head = shownLines / 2
	}
	for _, l := range lines[:head] {
		rows = append(rows, shownRow{screen.Format("%s%s\n", mark, screen.Exact(l).Cut(width-mark.Len())), color})
	}
	if head == len(lines) {
		return rows
	}
	note := screen.Format("    … %d lines are left out\n", left)
	if o.Truncated {
		note = screen.Format("    … %d lines are left out, and what the tool has not kept\n", left)
	}
	rows = append(rows, shownRow{note, screen.Dim})
	for _, l := range lines[head+left:] {
		rows = append(rows, shownRow{screen.Format("%s%s\n", mark, screen.Exact(l).Cut(width-mark.Len())), color})
	}
	return rows
}

// shownRow is a line with its end.
type shownRow struct {
	text  screen.Text
	color screen.Style
}

// ResultText returns a tool's result for people: for a command its output, standard error
// behind "stderr: ", and an exit code other than 0. It is not safe for a terminal yet.
func ResultText(r message.ToolResult) string {
	before, out, ok := outputOf(r.Text())
	if !ok {
		return before
	}
	lines := linesOf(before)
	lines = append(lines, linesOf(*out.Stdout)...)
	for _, l := range linesOf(*out.Stderr) {
		lines = append(lines, "stderr: "+l)
	}
	if *out.ExitCode != 0 {
		lines = append(lines, fmt.Sprintf("exit code %d", *out.ExitCode))
	}
	return strings.Join(lines, "\n")
}
