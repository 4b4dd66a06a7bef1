package contribution

import (
	"html"
	"regexp"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
)

var closing = regexp.MustCompile(`(?i)</(context)`)

// Entry returns the block for the model, in a tag that the text cannot close.
func Entry(b hook.ContextBlock) string {
	var sb strings.Builder
	sb.WriteString("<context")
	attribute(&sb, "domain", b.Domain)
	attribute(&sb, "id", b.ID)
	sb.WriteString(">\n" + closing.ReplaceAllString(b.Text, `<\/$1`) + "\n</context>")
	return sb.String()
}

func attribute(sb *strings.Builder, name, value string) {
	if value = strings.Join(strings.Fields(plain(value)), " "); value != "" {
		sb.WriteString(" " + name + `="` + html.EscapeString(value) + `"`)
	}
}

// Prompt returns the agent's own prompt with the sections behind it, so that its
// beginning is the same in every turn.
func Prompt(own string, sections []hook.PromptSection) string {
	parts := make([]string, 0, len(sections)+1)
	if own != "" {
		parts = append(parts, own)
	}
	for _, s := range sections {
		parts = append(parts, Section(s))
	}
	return strings.Join(parts, "\n\n")
}

// Section returns the section for the model, with its title.
func Section(s hook.PromptSection) string {
	if s.Title == "" {
		return s.Text
	}
	return "## " + s.Title + "\n\n" + s.Text
}
