package diag

import (
	"fmt"
	"slices"
	"strings"
)

// page explains one code.
type page struct {
	code, title, text, example string
}

// Explain returns the page of a code: what it means, why it is a problem, and code that has it with its fix.
func Explain(code string) (string, bool) {
	all := pages()
	i := slices.IndexFunc(all, func(p page) bool { return strings.EqualFold(p.code, code) })
	if i < 0 {
		return "", false
	}
	p := all[i]
	text := fmt.Sprintf("%s: %s\n\n%s\n", p.code, p.title, p.text)
	if p.example != "" {
		text += "\n\t" + strings.ReplaceAll(strings.ReplaceAll(p.example, "\n", "\n\t"), "\t\n", "\n") + "\n"
	}
	return text, true
}

// Codes returns all codes, sorted.
func Codes() []string {
	var out []string
	for _, p := range pages() {
		out = append(out, p.code)
	}
	return out
}
