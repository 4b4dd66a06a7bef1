package origin

import (
	"strings"
	"unicode"
)

// Text returns the text of a comment as a model reads it: one line for each paragraph and for each item of a list, and without
// characters that a person would not see: control characters, those that change the direction of the text around them, blanks without
// width and of all other kinds than the usual one.
func Text(doc string) string {
	var lines []string
	open := false // the last line continues
	for raw := range strings.SplitSeq(doc, "\n") {
		words := strings.FieldsFunc(raw, func(r rune) bool { return r == ' ' || r == '\t' || !unicode.IsPrint(r) })
		line := strings.Join(words, " ")
		item := strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ")
		switch {
		case line == "":
			open = false
		case open && !item:
			lines[len(lines)-1] += " " + line
		default:
			lines = append(lines, line)
			open = true
		}
	}
	return strings.Join(lines, "\n")
}
