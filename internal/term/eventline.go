package term

import (
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/screen"
)

// EventLine returns an event as one line, with its time and place; nothing for the pieces of a text
// as the model writes it.
func EventLine(ev hook.Event) screen.Text {
	switch ev.Kind {
	case event.TextStart, event.TextDelta, event.TextEnd,
		event.ReasoningStart, event.ReasoningDelta, event.ReasoningEnd:
		return screen.Text{}
	}
	d := ev.Detail()
	parts := []string{ev.Time.Local().Format("15:04:05.000"), ev.Conversation, ev.Agent, strings.Repeat("▸", ev.Depth), string(ev.Kind), d.Tool}
	switch ev.Kind {
	case event.CallStart:
		parts = append(parts, Summary(d.Args, Width).String())
	case event.CallResult:
		parts = append(parts, string(d.Outcome), Took(d.Duration))
	case event.ApprovalGiven:
		parts = append(parts, string(d.Answer))
	case event.HookRun:
		run, _ := ev.Run()
		parts = append(parts, run.Point.String(), run.Subsystem, Took(run.Duration), RunSaid(run))
		ev.Text = "" // which it says
	case event.Usage:
		parts = append(parts, fmt.Sprintf("%d in, %d out", d.Usage.Input, d.Usage.Output))
	case event.QuestionAsked:
		for _, q := range d.Inquiry.Questions.All() {
			parts = append(parts, q.Text)
		}
	case event.QuestionGiven:
		parts = append(parts, Answered(d.Inquiry, d.Response)...)
	case event.TurnEnd, event.SubagentEnd:
		parts = append(parts, string(d.Stop))
	}
	parts = append(parts, Cut(screen.Line(ev.Text), Width).String())
	return screen.Format("%s\n", screen.Line(strings.Join(parts, " ")))
}
