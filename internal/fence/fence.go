// Package fence reads what models put around JSON.
package fence

import "strings"

// Inner returns what is within the one Markdown fence that is the whole text, as many models
// write JSON. The fence may name json or nothing. ok is false if there is none.
func Inner(text string) (inner string, ok bool) {
	text = strings.TrimSpace(text)
	inner, opened := strings.CutPrefix(text, "```")
	inner, closed := strings.CutSuffix(inner, "```")
	info, inner, lines := strings.Cut(inner, "\n")
	info = strings.TrimSpace(info)
	if !opened || !closed || !lines || info != "" && !strings.EqualFold(info, "json") {
		return "", false
	}
	return strings.TrimSpace(inner), true
}

// Trim returns Inner, or the text without blanks around it if it stands in no fence.
func Trim(text string) string {
	if inner, ok := Inner(text); ok {
		return inner
	}
	return strings.TrimSpace(text)
}
