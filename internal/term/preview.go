package term

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/screen"
)

// previewLines and previewWidth are how many lines of one value, and characters of each, a
// request shows at first.
const previewLines, previewWidth = 30, 500

// Preview returns the arguments of a call for a person's decision: a command behind "$ ", a
// replacement as lines with - and +, new content as lines with +, everything else as
// "key: value". It is safe for a terminal. It shows at most lines of each value, and the
// beginning of long ones; 0 is all. cut says that something is missing. With color it
// underlines part in the command; "" is none.
func Preview(call *hook.ToolCall, part string, lines int, color bool) (text screen.Text, cut bool) {
	p := previewer{lines: lines, color: color}
	ms := members(call.Args())
	if ms == nil {
		p.value(screen.Lit("  "), screen.Plain, string(call.Args()))
	}
	for _, m := range ms {
		switch m.key {
		case "command":
			p.part = part
			p.value(screen.Lit("  $ "), screen.Plain, plain(m.value))
			p.part = ""
		case "old_string":
			p.marked(screen.Lit("  - "), screen.Red, plain(m.value))
		case "new_string", "content":
			p.marked(screen.Lit("  + "), screen.Green, plain(m.value))
		default:
			p.value(screen.Format("  %s: ", m.key), screen.Plain, indented(m.value))
		}
	}
	return screen.Join(p.rows...), p.cut
}

// indented returns a value over several lines if it is an object or a list.
func indented(v json.RawMessage) string {
	if len(v) == 0 || v[0] != '{' && v[0] != '[' {
		return plain(v)
	}
	var buf bytes.Buffer
	if json.Indent(&buf, v, "", "  ") != nil {
		return string(v)
	}
	return buf.String()
}

type previewer struct {
	rows  []screen.Text
	lines int
	color bool
	cut   bool
	part  string
}

// value writes a text with the prefix in front of its first line.
func (p *previewer) value(prefix screen.Text, color screen.Style, text string) {
	p.lined(prefix, screen.Repeat(" ", max(4, prefix.Len())), color, text)
}

// marked writes a text with the mark in front of each of its lines.
func (p *previewer) marked(mark screen.Text, color screen.Style, text string) {
	p.lined(mark, mark, color, text)
}

func (p *previewer) lined(first, next screen.Text, color screen.Style, text string) {
	rows := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	rest := 0
	if p.lines > 0 && len(rows) > p.lines {
		rest, rows = len(rows)-p.lines, rows[:p.lines]
	}
	for _, row := range rows {
		before, after, found := strings.Cut(row, p.part)
		if p.lines > 0 && len(row) > previewWidth || !p.color || p.part == "" || !found {
			before, after, found = row, "", false
		}
		text := screen.Join(first, screen.Exact(before))
		if found {
			text = screen.Join(text, screen.Paint(screen.Underline, screen.Exact(p.part)), screen.Exact(after))
		}
		p.row(color, text)
		first = next
	}
	p.more(rest)
}

func (p *previewer) row(color screen.Style, row screen.Text) {
	if rest := row.Len() - previewWidth; p.lines > 0 && rest > 0 {
		p.cut = true
		row = screen.Format("%s %d more characters", row.Cut(previewWidth), rest+1)
	}
	if p.color {
		row = screen.Paint(color, row)
	}
	p.rows = append(p.rows, row, screen.Lit("\n"))
}

func (p *previewer) more(rest int) {
	if rest > 0 {
		p.cut = true
		p.rows = append(p.rows, screen.Format("    … %d more lines\n", rest))
	}
}
