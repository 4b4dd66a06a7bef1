package reference

import (
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/directive"
	"github.com/grapnel-go/grapnel/gen/internal/schema"
)

// Explain returns the page of a code for a terminal, with the grammar if the code is about words; ok is false if there is no such
// code.
func Explain(code string) (page string, ok bool) {
	page, ok = diag.Explain(code)
	if !ok {
		return "", false
	}
	var sb strings.Builder
	sb.WriteString(page)
	switch strings.ToUpper(code) {
	case "HG005", "HG007", "HG008":
		fmt.Fprint(&sb, "\nThe directives:\n\n", directive.Manual())
	case "HG009", "HG043", "HG044", "HG046":
		memberWords(&sb)
	case "HG045":
		memberWords(&sb)
		matchKinds(&sb)
	case "HG033":
		inputWords(&sb)
	}
	return sb.String(), true
}

func matchKinds(sb *strings.Builder) {
	sb.WriteString("\nWhat match= looks at:\n\n")
	for _, word := range plan.MatchKinds() {
		fmt.Fprintf(sb, "\t%-12s%s\n", word.Word, word.Doc)
	}
}

func memberWords(sb *strings.Builder) {
	for _, point := range []bool{false, true} {
		title := "For the field:"
		if point {
			title = "Behind a point:"
		}
		fmt.Fprintf(sb, "\n%s\n\n", title)
		for _, word := range plan.Words() {
			if word.Point == point {
				fmt.Fprintf(sb, "\t%-12s%s\n", word.Word, word.Doc)
			}
		}
	}
	sb.WriteString("\nThe points are the interfaces of package hook with the directive //hook:point.\n")
}

func inputWords(sb *strings.Builder) {
	sb.WriteString("\nThe words:\n\n")
	for _, word := range schema.TagWords() {
		fmt.Fprintf(sb, "\t%-12s%s\n", word.Word, word.Doc)
	}
	fmt.Fprintf(sb, "\nThe formats: %s.\n", strings.Join(schema.Formats(), ", "))
}
