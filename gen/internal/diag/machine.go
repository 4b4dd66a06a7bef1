package diag

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/token"
	"strings"
)

// github writes a problem as a workflow command of GitHub.
func github(sb *strings.Builder, p Problem) {
	kind := map[Severity]string{Error: "error", Warning: "warning", Info: "notice"}[p.Severity]
	var properties []string
	property := func(name, value string) {
		properties = append(properties, name+"="+strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(value))
	}
	if p.Pos.Filename != "" {
		property("file", p.Pos.Filename)
		property("line", fmt.Sprint(max(p.Pos.Line, 1)))
		if p.Pos.Column > 0 {
			property("col", fmt.Sprint(p.Pos.Column))
		}
		if p.End.Line >= p.Pos.Line && p.End.IsValid() {
			property("endLine", fmt.Sprint(p.End.Line))
			property("endColumn", fmt.Sprint(p.End.Column))
		}
	}
	property("title", p.Code)
	message := visible(p.Message())
	for _, n := range p.Notes {
		message += "\n" + place(n.Pos) + visible(n.Message)
	}
	if p.Fix() != "" {
		message += "\nfix: " + fix(p.Fix())
	}
	fmt.Fprintf(sb, "::%s %s::%s\n", kind, strings.Join(properties, ","),
		strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(message))
}

// A problem as JSON. Lines and columns begin at 1, columns count bytes, an end is behind the last byte.
type (
	jsonProblem struct {
		Code     string     `json:"code"`
		Severity string     `json:"severity"`
		Pos      *jsonPlace `json:"pos,omitempty"`
		End      *jsonPlace `json:"end,omitempty"`
		Message  string     `json:"message"`
		Notes    []jsonNote `json:"notes,omitempty"`
		Fix      *jsonFix   `json:"fix,omitempty"`
	}
	jsonPlace struct {
		File   string `json:"file"`
		Line   int    `json:"line,omitempty"`
		Column int    `json:"column,omitempty"`
	}
	jsonNote struct {
		Pos     *jsonPlace `json:"pos,omitempty"`
		Message string     `json:"message"`
	}
	jsonFix struct {
		Message string     `json:"message"`
		Edits   []jsonEdit `json:"edits,omitempty"`
	}
	jsonEdit struct {
		Pos  *jsonPlace `json:"pos"`
		End  *jsonPlace `json:"end"`
		Text string     `json:"text"`
	}
)

// object writes a problem as one line of JSON.
func object(sb *strings.Builder, p Problem) {
	out := jsonProblem{Code: p.Code, Severity: p.Severity.String(), Pos: at(p.Pos), End: at(p.End), Message: p.Message()}
	for _, n := range p.Notes {
		out.Notes = append(out.Notes, jsonNote{at(n.Pos), n.Message})
	}
	if p.Fix() != "" || p.Edits != nil {
		out.Fix = &jsonFix{Message: p.Fix()}
		for _, e := range p.Edits {
			out.Fix.Edits = append(out.Fix.Edits, jsonEdit{at(e.Pos), at(e.End), e.Text})
		}
	}
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err == nil { // strings and numbers always encode
		sb.Write(line.Bytes())
	}
}

func at(pos token.Position) *jsonPlace {
	if pos.Filename == "" && pos.Line == 0 {
		return nil
	}
	return &jsonPlace{pos.Filename, pos.Line, pos.Column}
}
