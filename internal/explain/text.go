package explain

import (
	"cmp"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/term"
)

// Text returns what is known of a call, for the terminal: a line about it, a table of who had a
// say, and why which answer counts. Where nothing was recorded, record says how to change that.
func Text(call Call, record string) screen.Text {
	outcome := cmp.Or(string(call.Outcome), "has not ended")
	if call.Failure != "" && string(call.Failure) != outcome {
		outcome += " (" + string(call.Failure) + ")"
	}
	out := []screen.Text{
		screen.Format("%s: %s, a tool of %s: %s\n", call.ID, call.Tool, cmp.Or(call.Owner, "a subsystem that is not known any more"), outcome),
		screen.Format("step %d of turn %s of %s, conversation %s, %s\n", call.Step, call.Turn, call.Agent, call.Conversation, call.Time.Local().Format(time.DateTime)),
	}
	if call.By != "" && !call.Recorded {
		out = append(out, screen.Format("the answer of %s took the place of the tool\n", call.By))
	}
	if call.Others > 0 {
		out = append(out, screen.Format("%d earlier calls of the conversation have the same id\n", call.Others))
	}
	rows := [][]string{{"POINT", "FIELD", "OPTION", "TOOK", "SAID"}}
	var why []screen.Text
	for i, p := range call.Points {
		reason := ""
		for j, r := range p.Runs {
			run := call.Runs[i][j]
			rows = append(rows, []string{p.Point, cmp.Or(r.Field, "?"), cmp.Or(r.Option, "-"), took(run), whatItSaid(run, r.Counts)})
			if r.Counts && r.Reason != "" {
				reason = " It said: " + r.Reason
			}
		}
		if p.Why != "" {
			why = append(why, screen.Format("%s\n", screen.Rows(p.Point+": "+p.Why+"."+reason)))
		}
	}
	if len(rows) > 1 {
		out = append(out, screen.Lit("\n"), term.Aligned(rows, term.MaxCell))
	}
	if len(why) > 0 {
		out = append(out, screen.Lit("\n"), screen.Join(why...))
	}
	if !call.Recorded {
		out = append(out, screen.Format("\nThe hook runs of this turn were not recorded, so who had no opinion, or was overruled, is not known;\n%s.\n", record))
	}
	return screen.Join(out...)
}

func took(r hook.Run) string {
	if r.Duration > 0 {
		return term.Took(r.Duration)
	}
	return "-"
}

// whatItSaid is what a hook said, marked if it counts.
func whatItSaid(r hook.Run, counts bool) string {
	text := cmp.Or(term.RunSaid(r), "-")
	if counts {
		text = "✓ " + text
	}
	return text
}
