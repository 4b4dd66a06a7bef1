package main

import (
	"fmt"
	"strings"
)

// writeDaemons writes what the gates about several daemons have measured. They run the whole program, so internal/test/prove runs them,
// and their figures come from its page.
func writeDaemons(b *strings.Builder, gates string) {
	var rows [][]string
	for line := range strings.Lines(gates) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if name, ok := strings.CutPrefix(cells[0], "| daemons: "); ok && len(cells) > 2 && strings.TrimSpace(cells[2]) != "" {
			rows = append(rows, []string{name, cells[1], cells[2]})
		}
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprint(b, "## Several daemons over one PostgreSQL\n\n`make prove` measure this beside the database on one machine; [evidence.md](evidence.md) "+
		"says what each row shows. Ratios count, not rates: daemons and database share the processors.\n\n")
	table(b, []string{"gate", "result", "figures"}, rows)
}
