package terminal

import (
	"cmp"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
)

// childCall names a call of a child's turn: ids of calls are unique within one.
type childCall struct{ turn, call string }

// child shows what happens in the turn of an agent that another one runs: its
// beginning and its end, a line for each call when it has ended, and what went
// wrong, all with the agent's name and further to the right. What it says is not
// shown as it says it: several may talk at once, and the answer is another's.
func (p *Printer) child(ev hook.Event) {
	indent, who := strings.Repeat("  ", ev.Depth+1), ev.Agent+": "
	width := max(20, p.width()-len(indent)-len(who))
	d := ev.Detail()
	switch ev.Kind {
	case hook.EventSubagentStart:
		p.note(cyan, indent+"▸ "+Clean(who)+line(ev.Text, width))
	case hook.EventSubagentEnd:
		color, text := dim, ev.Text
		if d.Stop != hook.StopCompleted {
			color, text = red, string(d.Stop)+" "+text
		}
		p.note(color, indent+"◂ "+Clean(who)+line(text, width))
	case hook.EventCallStart:
		p.children[childCall{ev.Turn, d.CallID}] = Summary(d.Args, width-len(d.Tool))
	case hook.EventCallProgress:
		p.note(dim, indent+"… "+Clean(who)+line(d.Tool+": "+ev.Text, width))
	case hook.EventApprovalGiven:
		p.approval(indent, Clean(who), d, ev.Text)
	case hook.EventCallResult:
		p.childResult(indent, ev, d)
	case hook.EventError:
		p.note(red, indent+"✗ "+Clean(who)+line(ev.Text, failureWidth))
	default:
		p.told(indent, Clean(who), ev)
	}
}

func (p *Printer) childResult(indent string, ev hook.Event, d hook.EventDetail) {
	key := childCall{ev.Turn, d.CallID}
	args := p.children[key]
	delete(p.children, key)
	mark, color := "✓", green
	if wentWrong(d) {
		mark, color = "✗", red
	}
	p.end()
	text := p.paint(color, indent+mark+" "+Clean(ev.Agent)+": "+Clean(d.Tool))
	if args != "" {
		text += "  " + args
	}
	if d.Duration > 0 {
		text += p.paint(dim, "  "+Took(d.Duration))
	}
	p.write(text + "\n")
	if color == red {
		p.note(red, indent+"  "+line(string(d.Outcome)+": "+d.Result.Text(), failureWidth))
	}
}

// wentWrong reports whether a call ended otherwise than its caller wanted.
func wentWrong(d hook.EventDetail) bool {
	return d.Result.IsError() || d.Outcome != hook.OutcomeExecuted && d.Outcome != hook.OutcomeAnswered
}

// told shows what is told in one line wherever it happens; false for everything
// else.
func (p *Printer) told(indent, who string, ev hook.Event) bool {
	width := max(20, p.width()-len(indent)-len(who))
	say := func(color, mark, text string) { p.note(color, indent+mark+" "+who+line(text, width)) }
	switch ev.Kind {
	case hook.EventHookFailed:
		say(yellow, "!", ev.Text)
	case hook.EventHookRun:
		if run, ok := ev.Run(); ok && run.Visibility.Reaches(p.hooks) {
			p.note(dim, indent+"∙ "+Clean(who)+RunLine(run, width))
		}
	case hook.EventSkillLoaded:
		say(dim, "·", "skill loaded: "+ev.Text)
	case hook.EventServerConnected:
		say(dim, "·", "MCP server connected: "+ev.Text)
	case hook.EventServerLost:
		say(yellow, "!", "MCP server lost: "+ev.Text)
	case hook.EventDiagnostic:
		say(dim, "·", ev.Text)
	case hook.EventSteered:
		say("", ">", ev.Text)
	case hook.EventSteerRefused:
		say(yellow, "!", "what was said to the turn is not for the model: "+ev.Text)
	case hook.EventApprovalTimedOut:
		say(yellow, "!", ev.Detail().Tool+": "+ev.Text)
	case hook.EventApprovalAsked, hook.EventQuestionAsked:
		p.end() // who asks shows it
	case hook.EventQuestionGiven:
		d := ev.Detail()
		answers := Answered(d.Inquiry, d.Response)
		switch {
		case d.By == ByNobody:
			answers = []string{"nobody is here to answer the question"}
		case len(answers) == 0:
			answers = []string{cmp.Or(ev.Text, "the question is left unanswered")}
		}
		for _, text := range answers {
			say(yellow, "?", text)
		}
	default:
		return false
	}
	return true
}
