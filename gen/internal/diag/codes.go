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

// Page explains a code. Example has the mistake, marked // wrong, and the correction, marked // right; "" for none.
type Page struct{ Code, Title, Text, Example string }

// PageOf returns the page of a code, in any case of letters.
func PageOf(code string) (Page, bool) {
	all := pages()
	i := slices.IndexFunc(all, func(p page) bool { return strings.EqualFold(p.code, code) })
	if i < 0 {
		return Page{}, false
	}
	return Page{all[i].code, all[i].title, all[i].text, all[i].example}, true
}

// Explain returns the page of a code for a terminal.
func Explain(code string) (string, bool) {
	p, ok := PageOf(code)
	if !ok {
		return "", false
	}
	text := fmt.Sprintf("%s: %s\n\n%s\n", p.Code, p.Title, p.Text)
	if p.Example != "" {
		text += "\n\t" + strings.ReplaceAll(strings.ReplaceAll(p.Example, "\n", "\n\t"), "\t\n", "\n") + "\n"
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
