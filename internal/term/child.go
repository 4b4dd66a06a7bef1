package term

import (
	"cmp"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/screen"
)

// childCall identifies a call of a child's turn: ids of calls are unique within a turn.
type childCall struct{ turn, call string }

// child shows the turn of a child agent, indented and with the agent's name: its begin and
// end, a line for each ended call, and errors. It does not show the child's text: several
// children may run at once, and the answer is the parent's.
func (p *Printer) child(ev hook.Event) {
	indent, who := screen.Repeat("  ", ev.Depth+1), screen.Format("%s: ", ev.Agent)
	width := max(20, p.width()-indent.Len()-who.Len())
	d := ev.Detail()
	switch ev.Kind {
	case event.SubagentStart:
		p.note(screen.Cyan, screen.Format("%s▸ %s%s", indent, who, line(ev.Text, width)))
	case event.SubagentEnd:
		color, text := screen.Dim, ev.Text
		if d.Stop != hook.StopCompleted {
			color, text = screen.Red, string(d.Stop)+" "+text
		}
		p.note(color, screen.Format("%s◂ %s%s", indent, who, line(text, width)))
	case event.CallStart:
		p.children[childCall{ev.Turn, d.CallID}] = Summary(d.Args, width-len(d.Tool))
	case event.CallProgress:
		p.note(screen.Dim, screen.Format("%s… %s%s", indent, who, line(d.Tool+": "+ev.Text, width)))
	case event.ApprovalGiven:
		p.approval(indent, who, d, ev.Text)
	case event.CallResult:
		p.childResult(indent, ev, d)
	case event.Error:
		p.note(screen.Red, screen.Format("%s✗ %s%s", indent, who, line(ev.Text, failureWidth)))
	default:
		p.told(indent, who, ev)
	}
}

func (p *Printer) childResult(indent screen.Text, ev hook.Event, d hook.EventDetail) {
	key := childCall{ev.Turn, d.CallID}
	args := p.children[key]
	delete(p.children, key)
	mark, color := screen.Lit("✓"), screen.Green
	if wentWrong(d) {
		mark, color = screen.Lit("✗"), screen.Red
	}
	p.end()
	text := p.paint(color, screen.Format("%s%s %s: %s", indent, mark, ev.Agent, d.Tool))
	if !args.Empty() {
		text = screen.Format("%s  %s", text, args)
	}
	if d.Duration > 0 {
		text = screen.Join(text, p.paint(screen.Dim, screen.Format("  %s", Took(d.Duration))))
	}
	p.write(text, screen.Lit("\n"))
	if color == screen.Red {
		p.note(color, screen.Format("%s  %s", indent, line(string(d.Outcome)+": "+ResultText(d.Result), failureWidth)))
	}
}

// wentWrong reports whether a call ended otherwise than its caller wanted.
func wentWrong(d hook.EventDetail) bool {
	return d.Result.IsError() || d.Outcome != message.OutcomeExecuted && d.Outcome != message.OutcomeAnswered
}

// told shows events that are one line for any agent; false for other events.
func (p *Printer) told(indent, who screen.Text, ev hook.Event) bool {
	width := max(20, p.width()-indent.Len()-who.Len())
	say := func(color screen.Style, mark, text string) {
		p.note(color, screen.Format("%s%s %s%s", indent, mark, who, line(text, width)))
	}
	switch ev.Kind {
	case event.HookFailed:
		say(screen.Yellow, "!", ev.Text)
	case event.HookRun:
		if run, ok := ev.Run(); ok && run.Visibility.Reaches(p.hooks) {
			p.note(screen.Dim, screen.Format("%s∙ %s%s", indent, who, RunLine(run, width)))
		}
	case event.SkillLoaded:
		say(screen.Dim, "·", "skill loaded: "+ev.Text)
	case event.PlanUpdated:
		if !strings.HasPrefix(ev.Text, "1. ") {
			say(screen.Dim, "☰", PlanLine(ev.Text))
			break
		}
		for item := range strings.SplitSeq(ev.Text, "\n") { // the numbered plan of a loop is short
			say(screen.Dim, "·", item)
		}
	case event.CompactionAuto:
		say(screen.Dim, "·", "summing up older turns: "+ev.Text)
	case event.ServerConnected:
		say(screen.Dim, "·", "MCP server connected: "+ev.Text)
	case event.ServerLost:
		say(screen.Yellow, "!", "MCP server lost: "+ev.Text)
	case event.Diagnostic:
		// Those that say nothing of it are the runtime's own, for everybody.
		if v := ev.Detail().Visibility; v == "" || v.Reaches(p.hooks) {
			say(screen.Dim, "·", ev.Text)
		}
	case event.Steered:
		say(screen.Plain, ">", ev.Text)
	case event.SteerRefused:
		say(screen.Yellow, "!", "what was said to the turn is not for the model: "+ev.Text)
	case event.ApprovalTimedOut:
		say(screen.Yellow, "!", ev.Detail().Tool+": "+ev.Text)
	case event.ApprovalAsked, event.QuestionAsked:
		p.end() // the approver shows it
	case event.QuestionGiven:
		d := ev.Detail()
		answers := Answered(d.Inquiry, d.Response)
		switch {
		case d.By == ByNobody:
			answers = []string{"nobody is here to answer the question"}
		case len(answers) == 0:
			answers = []string{cmp.Or(ev.Text, "the question is left unanswered")}
		}
		for _, text := range answers {
			say(screen.Yellow, "?", text)
		}
	default:
		return false
	}
	return true
}
