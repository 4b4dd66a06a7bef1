package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
)

// previewLines is how much of one value an ask shows at once.
const previewLines = 30

// Preview returns the arguments of a call as a person judges them: a command
// behind "$ ", a replacement as lines with - and +, new content as lines with +,
// everything else as "key: value". Nothing of it can act on the terminal. Of
// each value at most lines are shown, and cut says that something is missing; 0
// shows all.
func Preview(call *hook.ToolCall, lines int, color bool) (text string, cut bool) {
	p := previewer{lines: lines, color: color}
	ms := members(call.Args())
	if ms == nil {
		p.value("  ", "", string(call.Args()))
	}
	for _, m := range ms {
		switch m.key {
		case "command":
			p.value("  $ ", "", plain(m.value))
		case "old_string":
			p.value("  - ", red, plain(m.value))
		case "new_string", "content":
			p.value("  + ", green, plain(m.value))
		default:
			p.value("  "+Clean(m.key)+": ", "", indented(m.value))
		}
	}
	return p.sb.String(), p.cut
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
	sb    strings.Builder
	lines int
	color bool
	cut   bool
}

func (p *previewer) value(prefix, color, text string) {
	rows := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	rest := 0
	if p.lines > 0 && len(rows) > p.lines {
		rest, rows = len(rows)-p.lines, rows[:p.lines]
	}
	for i, row := range rows {
		if i > 0 && !strings.HasSuffix(prefix, "- ") && !strings.HasSuffix(prefix, "+ ") {
			prefix = strings.Repeat(" ", len(prefix))
		}
		p.row(color, prefix+Clean(row))
	}
	p.more(rest)
}

func (p *previewer) row(color, row string) {
	if p.color && color != "" {
		row = "\x1b[" + color + "m" + row + "\x1b[0m"
	}
	p.sb.WriteString(row + "\n")
}

// more says how many lines are left out.
func (p *previewer) more(rest int) {
	if rest > 0 {
		p.cut = true
		fmt.Fprintf(&p.sb, "    … %d more lines\n", rest)
	}
}
