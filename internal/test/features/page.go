package main

import (
	"fmt"
	"strings"
)

const intro = `# Features

Written by ` + "`go test ./internal/test/features -update`" + `. Five published designs are this project's starting point; these rows are
what they have, and what is owed here. Each row that works names its proof, tests, and a counter-proof: a change of one place with
which a test of the proof fails. The subsystem or a part of it is left out, an option is off, or, for rows of the framework, the
code has a mistake (a mutant). Where nothing works yet the row says so.

` + "`go run ./internal/test/features -only '^A1$'`" + ` runs the proof of a row and its counter-proof, ` + "`make prove`" + ` those of all
rows.

`

// writePage returns the page of the table.
func writePage(all []row) string {
	var b strings.Builder
	b.WriteString(intro)
	fmt.Fprintf(&b, "%d of %d rows have a proof.\n", len(proved(all)), len(all))
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s. %s\n\n| row | what | proof | counter-proof |\n|---|---|---|---|\n", g.letter, g.title)
		for _, r := range all {
			if strings.HasPrefix(r.id, g.letter) {
				b.WriteString(r.line())
			}
		}
	}
	return b.String()
}

func (r row) line() string {
	what := strings.ReplaceAll(r.what, "|", `\|`)
	if r.tests == "" {
		return fmt.Sprintf("| %s | %s | not yet | |\n", r.id, what)
	}
	pkg := strings.TrimPrefix(r.pkg, "./")
	return fmt.Sprintf("| %s | %s | [%s](../%s): %s | %s: %s ([%s](../%s)) |\n",
		r.id, what, pkg, pkg, "`"+strings.Join(r.names(), "`, `")+"`", r.kind, strings.ReplaceAll(r.wrong, "|", `\|`), base(r.file), r.file)
}

// base is the file's name with its directory, which says most.
func base(file string) string {
	parts := strings.Split(file, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}
