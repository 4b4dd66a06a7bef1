package tasks

import (
	"strings"
	"unicode"
)

// Status is how far a task is.
type Status string

// The statuses.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
)

// List is the plan and the tasks of a conversation. Its JSON is what the store keeps under
// [Key]; names of members stay.
type List struct {
	// Plan is Markdown; "" is none.
	Plan string `json:"plan,omitempty"`
	// Todos are in the order of the model.
	Todos []Todo `json:"todos,omitempty"`
}

// Todo is one task.
type Todo struct {
	Content string `json:"content"`
	Status  Status `json:"status"`
	// ActiveForm is what to show while the task is in progress: "Running the tests"; "" is
	// Content.
	ActiveForm string `json:"active_form,omitempty"`
}

// Open is how many tasks are not completed.
func (l List) Open() int {
	n := 0
	for _, t := range l.Todos {
		if t.Status != Completed {
			n++
		}
	}
	return n
}

// done reports whether there is nothing that a model still needs: no plan and no tasks, or
// only completed ones.
func (l List) done() bool { return l.Open() == 0 && (l.Plan == "" || len(l.Todos) > 0) }

// marks are those of the task lists of Markdown, and one for what is in progress.
var marks = [...]struct {
	status Status
	mark   string
}{{Pending, "- [ ] "}, {InProgress, "- [~] "}, {Completed, "- [x] "}}

// Markdown returns the plan and the tasks, each as a line with a mark: [ ], [~] or [x]. It is ""
// if there are none.
func (l List) Markdown() string {
	var sb strings.Builder
	sb.WriteString(l.Plan)
	if l.Plan != "" && len(l.Todos) > 0 {
		sb.WriteString("\n\n")
	}
	for i, t := range l.Todos {
		if i > 0 {
			sb.WriteByte('\n')
		}
		for _, m := range marks {
			if m.status == t.Status {
				sb.WriteString(m.mark)
			}
		}
		sb.WriteString(t.Content)
		if t.Status == InProgress && t.ActiveForm != "" {
			sb.WriteString(" (" + t.ActiveForm + ")")
		}
	}
	return sb.String()
}

// visible returns what a person sees of a text.
func visible(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if blank(r) {
			return -1
		}
		return r
	}, text)), " ")
}

// blank reports whether nobody sees the character.
func blank(r rune) bool {
	switch r {
	case '\u2800', '\u3164', '\uffa0', '\u034f', '\u115f', '\u1160':
		return true
	}
	return unicode.Is(unicode.Cf, r) || unicode.In(r, unicode.Variation_Selector)
}

// oneLine returns a text without anything that breaks or hides a line, so that no task looks
// like two.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\u2028' || r == '\u2029' || unicode.IsControl(r):
			return ' '
		case blank(r) && r != '\u200c' && r != '\u200d': // joiners are part of words
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// lines returns a text with its line breaks, and without other characters that hide something.
func lines(text string) string {
	rows := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, row := range rows {
		indent := row[:len(row)-len(strings.TrimLeft(row, " "))]
		rows[i] = strings.TrimRight(indent+oneLine(row), " ")
	}
	return strings.Trim(strings.Join(rows, "\n"), "\n")
}
