package inspect

import (
	"cmp"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// shortID is how many characters of an id are shown, unless more are needed to tell
// one from another.
const shortID = 8

// RememberedTable returns a table of answers that were given for good. It cuts no sentence: a person
// has agreed to all of it. path writes a path as people do.
func RememberedTable(all []approval.Remembered, path func(string) string) screen.Text {
	if len(all) == 0 {
		return screen.Text{}
	}
	rows := [][]string{{"ID", "ANSWER", "SINCE", "BY", "PROJECT", "WHAT"}}
	for _, r := range all {
		if r.Problem != "" {
			rows = append(rows, []string{r.ID, "unusable", "-", "-", "-", r.Problem})
			continue
		}
		what := r.Text
		if r.Args != "" {
			what += ": " + term.Summary(message.JSON(r.Args), term.Width).String()
		}
		rows = append(rows, []string{
			short(r.ID, all), string(r.Answer), r.Since.Local().Format(time.DateTime), cmp.Or(r.By, "-"), path(r.Project), what,
		})
	}
	return term.Aligned(rows, 0)
}

// short is the beginning of an id that no other has.
func short(id string, all []approval.Remembered) string {
	n := min(shortID, len(id))
	for _, r := range all {
		for r.ID != id && n < len(id) && strings.HasPrefix(r.ID, id[:n]) {
			n++
		}
	}
	return id[:n]
}
