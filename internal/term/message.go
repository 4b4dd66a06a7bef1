package term

import (
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/screen"
)

// MessageLines returns one stored message: who, and what was said, called or answered.
func MessageLines(m message.Message) []screen.Text {
	who := string(m.Role)
	if m.Label != "" {
		who += " (" + m.Label + ")"
	}
	if m.Role == message.RoleTool {
		mark := "✓"
		if m.Result.IsError() {
			mark = "✗ " + string(m.Result.Failure) + ":"
		}
		return []screen.Text{said(m.Tool, mark+" "+screen.Flow(ResultText(m.Result)).Cut(10*Width).String())}
	}
	var out []screen.Text
	if text := m.Text(); text != "" {
		out = append(out, said(who, text))
	}
	for _, b := range m.Content.All() {
		if b.Kind == message.BlockToolCall {
			out = append(out, said(who, "→ "+b.Tool+"  "+Summary(b.JSON, Width).String()))
		}
	}
	return out
}

// said is lines under a name.
func said(who, text string) screen.Text {
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
	return screen.Format("%s: %s\n", screen.Fold(who), screen.Flow(text))
}
