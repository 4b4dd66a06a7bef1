package remote

import (
	"strconv"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/term"
)

// Conversations returns a table of conversations, with their projects if everywhere.
func Conversations(all []wire.Conversation, everywhere bool) screen.Text {
	rows := [][]string{{"ID", "AGENT", "SENDER", "TURNS", "LAST CHANGE", "NOW", "TITLE"}}
	for _, conv := range all {
		now := "-"
		switch {
		case conv.Inquiries > 0:
			now = "asks"
		case conv.Turn != "":
			now = "running"
		case conv.Interrupted:
			now = "interrupted"
		}
		rows = append(rows, []string{
			conv.ID, conv.Agent, term.Cut(screen.Line(conv.Sender), 40).String(), strconv.Itoa(conv.Turns), conv.Updated.Local().Format(time.DateTime), now, conv.Title,
		})
	}
	if everywhere {
		term.ProjectColumn(rows, func(i int) string { return all[i].Project })
	}
	return term.Tables(rows)
}

// Matches returns a table of what a search has found, with the projects of everything if everywhere.
func Matches(found []wire.Match, everywhere bool) screen.Text {
	if len(found) == 0 {
		return screen.Lit("nothing was found\n")
	}
	rows := [][]string{{"CONVERSATION", "AGENT", "SENDER", "LAST CHANGE", "WHO", "WHAT"}}
	for _, m := range found {
		who := string(m.Role)
		if m.Archived {
			who += " (archived)"
		}
		rows = append(rows, []string{m.Conversation, m.Agent, term.Cut(screen.Line(m.Sender), 24).String(), m.Updated.Local().Format(time.DateTime), who, m.Snippet})
	}
	if everywhere {
		term.ProjectColumn(rows, func(i int) string { return found[i].Project })
	}
	return term.Tables(rows)
}
