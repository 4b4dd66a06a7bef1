package term

import (
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/screen"
)

// RunLine returns a hook run in columns: point, path, time and result. It cuts the result,
// so that all have at most width characters.
func RunLine(r hook.Run, width int) screen.Text {
	took := "-"
	if r.Status != event.RunSkipped {
		took = Took(r.Duration)
	}
	head := screen.Exact(fmt.Sprintf("%-17s %-16s %6s", r.Point, r.Subsystem, took))
	said := line(RunSaid(r), max(20, width-head.Len()-2))
	if said.Empty() {
		return head
	}
	return screen.Format("%s  %s", head, said)
}

// RunSaid returns the result of a hook run: its answer with the reason, a change, its
// failure, or why it did not run; "" if it had no opinion.
func RunSaid(r hook.Run) string {
	said := ""
	switch r.Status {
	case event.RunSkipped:
		return "not asked: " + r.By + " had ended it"
	case event.RunQueued:
		return "queued as a job"
	case event.RunSucceeded, event.RunDenied:
		return answered(r)
	case event.RunFailed:
		said = "failed"
	case event.RunPanicked:
		said = "panicked"
	case event.RunTimedOut:
		said = "took too long"
	case event.RunInterrupted:
		said = "was interrupted"
	}
	if r.Answer != hook.AnswerNone {
		said += ", which counts as " + string(r.Answer)
	}
	return said
}

func answered(r hook.Run) string {
	said := string(r.Answer)
	switch {
	case r.Changed && point.InfoOf(r.Point).Kind == "contribute":
		said = "added something"
	case r.Changed:
		said = "changed it"
	}
	if r.Reason != "" && said != "" {
		return said + ": " + r.Reason
	}
	return said + r.Reason
}
