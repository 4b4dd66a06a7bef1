// Package aliases says what other agents and frameworks call the points and
// answers of package hook: a dictionary for people who come from elsewhere.
package aliases

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

//go:embed table.txt
var table string

// Alias is one name from elsewhere.
type Alias struct {
	// From is the system that has the name; the five designs that this project began
	// with are numbered, 000 to 004.
	From string `json:"from"`
	// Kind is what the name is there: point, answer or event.
	Kind   string `json:"kind"`
	Theirs string `json:"theirs"`
	// Ours are names of package hook: points, answers of decisions, or kinds of
	// event. Empty where there is nothing of the kind; Remark then says why.
	Ours   []string `json:"ours"`
	Remark string   `json:"remark,omitzero"`
}

// All returns the dictionary, system by system.
func All() []Alias {
	var out []Alias
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if strings.HasPrefix(line, "#") || len(cells) < 5 {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		out = append(out, Alias{cells[0], cells[1], cells[2], strings.Fields(cells[3]), strings.Join(cells[4:], "|")})
	}
	return out
}

// Find returns the aliases in which the word occurs, theirs or ours, whatever the
// case; "" finds all.
func Find(word string) []Alias {
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(word)) }
	return slices.DeleteFunc(All(), func(a Alias) bool {
		return !has(a.Theirs) && !has(a.From) && !slices.ContainsFunc(a.Ours, has)
	})
}

// Text writes the aliases as columns.
func Text(w io.Writer, all []Alias) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FROM\tKIND\tTHEIRS\tHERE\tREMARK")
	for _, a := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", a.From, a.Kind, a.Theirs, a.ours(", "), a.Remark)
	}
	return t.Flush()
}

// Markdown writes the aliases as a table for each system.
func Markdown(w io.Writer, all []Alias) {
	from := ""
	for _, a := range all {
		if a.From != from {
			from = a.From
			fmt.Fprintf(w, "\n## %s\n\n| kind | there | here | |\n|---|---|---|---|\n", title(from))
		}
		ours := a.ours("`, `")
		if len(a.Ours) > 0 {
			ours = "`" + ours + "`"
		}
		fmt.Fprintf(w, "| %s | `%s` | %s | %s |\n", a.Kind, a.Theirs, ours, a.Remark)
	}
}

func (a Alias) ours(between string) string {
	if len(a.Ours) == 0 {
		return "-"
	}
	return strings.Join(a.Ours, between)
}

// title is the heading of a system.
func title(from string) string {
	names := map[string]string{
		"000": "A design of lifecycle hooks (000)", "001": "Phases and contributions (001)", "002": "Hooks of an agent framework in PHP (002)",
		"003": "Hooks of a coding agent in Rust (003)", "004": "The daemon whose trait this contract goes on with (004)",
	}
	if name := names[from]; name != "" {
		return name
	}
	return from
}
