// Package reference writes the words that hookgen understands, and the problems that it reports, as one Markdown page, from the
// declarations that the parsers use.
package reference

import (
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/directive"
	"github.com/grapnel-go/grapnel/gen/internal/schema"
)

// Markdown returns the page. The same program returns the same page.
func Markdown() string {
	var sb strings.Builder
	sb.WriteString("# Reference of hookgen\n\n" +
		"This page is written by `hookgen explain -all` from the declarations that the parsers use; a test keeps it so.\n\n" +
		"- [Directives](#directives)\n- [The tag of a member](#the-tag-of-a-member)\n" +
		"- [The tag of an input field](#the-tag-of-an-input-field)\n- [Problems](#problems)\n")
	directives(&sb)
	members(&sb)
	inputs(&sb)
	problems(&sb)
	return sb.String()
}

func directives(sb *strings.Builder) {
	sb.WriteString("\n## Directives\n\n" +
		"A directive is a line comment at the end of a doc comment, without a blank behind the slashes. Options are separated by blanks;\n" +
		"an option with a blank in it stands in quotes as a whole. What is not understood is an error.\n")
	for _, d := range directive.Docs() {
		fmt.Fprintf(sb, "\n### //hook:%s\n\n%s\n\nAbove %s.\n", d.Verb, d.Text, places(d.Places))
		if len(d.Options) == 0 {
			continue
		}
		sb.WriteString("\n| option | |\n|---|---|\n")
		for _, o := range d.Options {
			row(sb, o.Name, o.Text)
		}
	}
}

func places(all []directive.Place) string {
	if all == nil {
		return "any declaration, or on a line of its own"
	}
	var names []string
	for _, p := range all {
		names = append(names, string(p))
	}
	return strings.Join(names, " or ")
}

func members(sb *strings.Builder) {
	sb.WriteString("\n## The tag of a member\n\n" +
		"The fields of a composite are configured by a tag: options of the field, then for single points, behind the point's name, those\n" +
		"of the point.\n\n```go\nSkills *skills.Skills `hook:\"optional,before=Memory; BeforeTool: timeout=2m\"`\n```\n")
	for _, point := range []bool{false, true} {
		title := "For the field"
		if point {
			title = "Behind a point"
		}
		fmt.Fprintf(sb, "\n### %s\n\n| word | |\n|---|---|\n", title)
		for _, w := range plan.Words() {
			if w.Point == point {
				row(sb, w.Word, w.Doc)
			}
		}
	}
}

func inputs(sb *strings.Builder) {
	sb.WriteString("\n## The tag of an input field\n\n" +
		"The fields of a tool's input are constrained by a tag; schema and decoder keep the same constraints.\n\n" +
		"```go\nTitle string `json:\"title\" hook:\"minlen=1,maxlen=80\"`\n```\n\n| word | |\n|---|---|\n")
	for _, w := range schema.TagWords() {
		row(sb, w.Word, w.Doc)
	}
	sb.WriteString("\nThe formats are `" + strings.Join(schema.Formats(), "`, `") + "`.\n")
}

func problems(sb *strings.Builder) {
	sb.WriteString("\n## Problems\n")
	for _, code := range diag.Codes() {
		p, _ := diag.PageOf(code)
		fmt.Fprintf(sb, "\n### %s: %s\n\n%s\n", code, p.Title, p.Text)
		if p.Example != "" {
			fmt.Fprintf(sb, "\n```go\n%s\n```\n", p.Example)
		}
	}
}

// row writes one line of a table; a bar would end the cell.
func row(sb *strings.Builder, name, text string) {
	cell := strings.NewReplacer("\n", " ", "|", "\\|")
	fmt.Fprintf(sb, "| `%s` | %s |\n", cell.Replace(name), cell.Replace(text))
}
