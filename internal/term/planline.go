package term

import (
	"fmt"
	"strings"
)

// PlanLine returns a plan or a list of tasks in Markdown as one short line: how many tasks are
// done, and the one in progress or else the next one. A plan without tasks is its first line.
func PlanLine(markdown string) string {
	done, all, now, next := 0, 0, "", ""
	first := ""
	for row := range strings.Lines(markdown) {
		row = strings.TrimSpace(row)
		mark, text, task := cutTask(row)
		switch {
		case !task:
			if first == "" {
				first = strings.TrimSpace(strings.TrimLeft(row, "#"))
			}
			continue
		case mark == 'x' || mark == 'X':
			done++
		case mark == '~' && now == "":
			now = text
		case mark == ' ' && next == "":
			next = text
		}
		all++
	}
	switch {
	case all == 0 && first == "":
		return "the plan is empty"
	case all == 0:
		return "plan: " + first
	case now != "":
		return fmt.Sprintf("%d of %d done · now: %s", done, all, now)
	case next != "":
		return fmt.Sprintf("%d of %d done · next: %s", done, all, next)
	}
	return fmt.Sprintf("%d of %d done", done, all)
}

// cutTask returns the mark and the text of a line of a Markdown task list.
func cutTask(row string) (mark byte, text string, ok bool) {
	if len(row) < 6 || row[:3] != "- [" || row[4:6] != "] " {
		return 0, "", false
	}
	return row[3], strings.TrimSpace(row[6:]), true
}
