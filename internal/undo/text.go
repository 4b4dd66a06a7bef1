package undo

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/internal/snapshot"
)

// Text says what was done, or would be, one path in a line; of each kind at most most paths, 0 is all. A path with anything but
// printable characters is quoted.
func (o Outcome) Text(r Request, most int) string {
	var b strings.Builder
	restore, remove := "restored", "removed"
	if r.Dry {
		restore, remove = "would restore", "would remove"
	}
	section := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		fmt.Fprintf(&b, "%s (%d):\n", title, len(lines))
		for i, line := range lines {
			if most > 0 && i == most {
				fmt.Fprintf(&b, "  … and %d more\n", len(lines)-i)
				break
			}
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	section(restore, each(o.Restored, Shown))
	section(remove, each(o.Removed, Shown))
	section("left as they are", each(o.Conflicts, func(c snapshot.Conflict) string { return Shown(c.Path) + ": " + c.Why }))
	section("not kept, so they cannot come back", each(o.Lost, func(l snapshot.LeftOut) string { return Shown(l.Path) + ": " + l.Why }))
	if o.Unended {
		b.WriteString("the program ended within the turn: what others changed since then counts as its own\n")
	}
	if b.Len() == 0 {
		return "nothing differs from before\n"
	}
	return b.String()
}

// Changes reports whether there is anything to do.
func (o Outcome) Changes() bool { return len(o.Restored)+len(o.Removed) > 0 }

func each[T any](all []T, text func(T) string) []string {
	out := make([]string, len(all))
	for i, one := range all {
		out[i] = text(one)
	}
	return out
}

// Shown returns a path for people: as it is if all of it can be printed, else quoted.
func Shown(path string) string {
	if utf8.ValidString(path) && !strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return path
	}
	return strconv.Quote(path)
}
