// Package term shows a turn to a person: it prints events for people ([Printer]) or
// for programs ([JSONPrinter]), and asks for approvals and answers ([Approver]).
package term

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) }

// Shower shows a turn: a [Printer] or a [JSONPrinter].
type Shower interface {
	OnEvent(ev hook.Event)
	Outcome(out hook.TurnOutcome)
}

// Colored reports whether to use colour on f: on a terminal, unless NO_COLOR is
// set (https://no-color.org) or the terminal is "dumb".
func Colored(f *os.File) bool {
	return IsTerminal(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Width is the maximum length of a line about a call, in characters. Errors get more,
// because they say what to do.
const (
	Width        = 100
	failureWidth = 3 * Width
	// timeWidth is the room for the time, so that a result is cut at the same place for
	// any duration.
	timeWidth = 10
)

// Printer shows a turn to a person: streamed text, a line for each tool call with its
// arguments, result and time, failures of hooks, child agents with their calls, indented,
// and the end of the turn. It only appends, so that a pipe gets the same output as a
// terminal. It is safe for concurrent use.
type Printer struct {
	mu    sync.Mutex
	out   *screen.Output
	err   error // the first one of writing
	color bool

	// open is the kind of the last line, if it is not complete; else "".
	open openLine
	// shown: the step has shown something of an answer.
	shown bool
	// alone is the id of the step's only call; its result ends its line.
	alone   string
	batch   int
	numbers map[string]int
	// children has the arguments of the running calls of child turns.
	children map[childCall]screen.Text

	// answer renders the model's text, source its reasoning.
	answer screen.Markdown
	source screen.Stream
	// hooks is the least visibility of the hook runs that are shown.
	hooks hook.Visibility
	// columns returns the width of the screen; nil is no limit.
	columns func() int
}

type openLine string

const (
	openText openLine = "text"
	openCall openLine = "call"
)

// NewPrinter returns a printer to out.
func NewPrinter(out io.Writer, color bool) *Printer {
	return &Printer{out: screen.New(out), color: color, hooks: event.VisibleUser, numbers: map[string]int{}, children: map[childCall]screen.Text{}}
}

// ForScreen sets the printer up for a conversation at a terminal, and returns it. With
// colour it renders answers as Markdown. It cuts lines about calls at the smaller of
// [Width] and columns(). Call it before the first event.
func (p *Printer) ForScreen(columns func() int) *Printer {
	p.answer.Color = p.color
	p.columns = columns
	return p
}

// ShowHooks makes the printer show hook runs that are at least as visible as level, a line
// each, and returns the printer. The default, also for "", is those for users. Call it
// before the first event.
func (p *Printer) ShowHooks(level hook.Visibility) *Printer {
	p.hooks = cmp.Or(level, event.VisibleUser)
	return p
}

// width returns the length at which a line is cut. A very narrow screen wraps it instead.
func (p *Printer) width() int {
	if p.columns == nil {
		return Width
	}
	return min(Width, max(p.columns(), 40))
}

// OnEvent shows one event. Events come in the order of their sequence.
func (p *Printer) OnEvent(ev hook.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ev.Depth > 0 {
		p.child(ev)
		return
	}
	switch ev.Kind {
	case event.TextDelta:
		p.said(ev.Text)
	case event.ReasoningDelta:
		p.reasoned(ev.Text)
	case event.TextEnd, event.ReasoningEnd, event.StepEnd:
		p.end()
	case event.StepStart:
		p.end()
		p.shown = false
		if ev.Step > 1 { // a blank line between the steps of a turn
			p.write(screen.Lit("\n"))
		}
	case event.TurnRetried:
		p.retried(ev)
	case event.Error: // Outcome shows it
		p.end()
	default:
		if !p.told(screen.Lit("  "), screen.Text{}, ev) {
			p.call(ev)
		}
	}
}

func (p *Printer) call(ev hook.Event) {
	d := ev.Detail()
	switch ev.Kind {
	case event.CallsBegin:
		p.batch, p.alone = 0, ""
		clear(p.numbers)
		if d.Tools.Len() > 1 {
			p.batch = d.Tools.Len()
		}
	case event.CallStart:
		p.start(d)
	case event.CallProgress:
		p.note(screen.Dim, screen.Format("  … %s%s", p.number(d.CallID), line(d.Tool+": "+ev.Text, p.width())))
	case event.ApprovalGiven:
		p.approval(screen.Lit("  "), p.number(d.CallID), d, ev.Text)
	case event.CallResult:
		p.result(d)
	}
}

func (p *Printer) start(d hook.EventDetail) {
	p.end()
	p.numbers[d.CallID] = len(p.numbers) + 1
	head := screen.Format("  → %s%s", p.number(d.CallID), d.Tool)
	summary := Summary(d.Args, max(10, p.width()-head.Len()-2))
	if !summary.Empty() {
		summary = screen.Join(screen.Lit("  "), summary)
	}
	p.write(p.paint(screen.Cyan, head), summary)
	if p.batch > 1 {
		p.write(screen.Lit("\n"))
		return
	}
	p.open, p.alone = openCall, d.CallID
}

// number returns the call's number in a step with several calls.
func (p *Printer) number(id string) screen.Text {
	if n := p.numbers[id]; p.batch > 1 && n > 0 {
		return screen.Format("%d ", n)
	}
	return screen.Text{}
}

// approval shows the answer to an ask; who is its call's number or agent.
func (p *Printer) approval(indent, who screen.Text, d hook.EventDetail, reason string) {
	p.end()
	said := "allowed"
	switch {
	case d.Answer == hook.AnswerModify:
		said = "allowed with other arguments"
	case d.Answer != hook.AnswerApprove && reason == approval.Interrupted:
		said = "interrupted"
	case d.Answer != hook.AnswerApprove:
		said = "refused"
	}
	switch by := d.By[strings.LastIndexByte(d.By, '.')+1:]; by {
	case hook.ByRule:
		said += ", as was remembered"
	case hook.ByTimeout:
		said += ", as nobody answered in time"
	}
	text := screen.Format("%s? %s%s asks first: %s", indent, who, d.Tool, said)
	if reason != "" && d.Answer == hook.AnswerApprove {
		text = screen.Format("%s, %s", text, line(reason, p.width()))
	}
	p.note(screen.Yellow, text)
}

// result ends the open line of a single call, or writes a new one. The output of a command
// follows.
func (p *Printer) result(d hook.EventDetail) {
	mark, color := screen.Lit("✓"), screen.Green
	text, out, isCommand := outputOf(d.Result.Text())
	if wentWrong(d) {
		mark, color = screen.Lit("✗"), screen.Red
		text = string(d.Outcome) + ": " + text
	}
	took := ""
	if d.Duration > 0 {
		took = Took(d.Duration)
	}
	if p.open == openCall && p.alone == d.CallID {
		p.write(screen.Lit("  "), p.paint(color, screen.Format("%s %s", mark, took)), screen.Lit("\n"))
		p.open = ""
		if color == screen.Red {
			p.note(color, screen.Format("    %s", line(text, failureWidth)))
		} else if first := line(text, p.width()-4); !first.Empty() {
			p.note(screen.Dim, screen.Format("    %s", first))
		}
	} else {
		if one, all := out.single(); isCommand && all && text == "" {
			text, isCommand = one, false
		}
		p.ofSeveral(d, mark, color, took, text)
	}
	if isCommand {
		for _, row := range out.rows(p.width()) {
			p.write(p.paint(row.color, row.text))
		}
	}
}

// ofSeveral writes the line of a call in a step with several.
func (p *Printer) ofSeveral(d hook.EventDetail, mark screen.Text, color screen.Style, took, text string) {
	p.end()
	head := screen.Format("  %s %s%s", mark, p.number(d.CallID), d.Tool)
	rest := p.paint(screen.Dim, line(text, max(20, p.width()-head.Len()-timeWidth)))
	if color == screen.Red {
		rest = p.paint(color, line(text, failureWidth))
	}
	if took != "" {
		took = "  " + took
	}
	p.write(p.paint(color, head), p.paint(screen.Dim, screen.Exact(took)))
	if text != "" {
		p.write(screen.Lit("  "), rest)
	}
	p.write(screen.Lit("\n"))
}

// Outcome shows the end of the turn in one line. If the turn failed, the reason comes first.
func (p *Printer) Outcome(out hook.TurnOutcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	for _, b := range out.Message.Content.All() {
		if b.IsMedia() { // a terminal cannot show it; the conversation keeps it
			p.note(screen.Dim, screen.Format("[%s, %s, %d bytes]", string(b.Kind), line(b.MIME, 40), len(b.Data)/4*3))
		}
	}
	if cause := strings.TrimSpace(strings.ReplaceAll(Cause(out), "\r\n", "\n")); cause != "" {
		p.note(screen.Red, screen.Format("✗ %s", screen.Rows(cause)))
	}
	cost := ""
	if out.Cost > 0 {
		cost = " · " + out.Cost.String()
	}
	p.note(screen.Dim, screen.Format("— %s · %s · %s · %d tokens in, %d out%s · %s", string(out.Stop),
		count(out.Steps, "step"), count(out.Calls, "tool call"), out.Usage.Input, out.Usage.Output, cost, Took(out.Duration)))
}

// Note writes a line of the program's own.
func (p *Printer) Note(text string) { p.line(screen.Plain, screen.Rows(text)) }

// Hint writes a line of the program's own that may be overlooked.
func (p *Printer) Hint(text string) { p.line(screen.Dim, screen.Rows(text)) }

// Wrong writes a line about an error.
func (p *Printer) Wrong(text string) {
	p.line(screen.Red, screen.Format("✗ %s", screen.Rows(text)))
}

func (p *Printer) line(color screen.Style, text screen.Text) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(color, text)
}

func (p *Printer) said(s string) {
	p.flows()
	p.shown = true
	p.wrote(p.answer.Add(s))
}

func (p *Printer) reasoned(s string) {
	p.flows()
	p.shown = true
	p.wrote(p.paint(screen.Dim, p.source.Add(s)))
}

// retried says why the model is asked again, and how long that takes.
func (p *Printer) retried(ev hook.Event) {
	text := screen.Lit("~ ")
	if p.shown {
		text = screen.Lit("~ the answer above is dropped: ")
	}
	text = screen.Join(text, line(ev.Text, p.width()))
	if d := ev.Detail(); d.Answer == hook.AnswerRetry {
		text = screen.Join(text, screen.Format("; asking again in %s", d.Duration.Round(100*time.Millisecond)))
	}
	p.note(screen.Yellow, text)
	p.shown = false
}

// flows ends the line of a call.
func (p *Printer) flows() {
	if p.open == openCall {
		p.end()
	}
}

// wrote writes text and records whether the last line is complete.
func (p *Printer) wrote(t screen.Text) {
	if t.Empty() {
		return
	}
	p.write(t)
	p.open = openText
	if t.EndsLine() {
		p.open = ""
	}
}

// end completes an open line.
func (p *Printer) end() {
	p.wrote(p.answer.End())
	p.wrote(p.paint(screen.Dim, p.source.End()))
	if p.open != "" {
		p.write(screen.Lit("\n"))
		p.open = ""
	}
}

func (p *Printer) note(color screen.Style, text screen.Text) {
	p.end()
	p.write(p.paint(color, text), screen.Lit("\n"))
}

// Err returns the first error of writing.
func (p *Printer) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *Printer) write(parts ...screen.Text) {
	if err := p.out.Print(screen.Join(parts...)); p.err == nil {
		p.err = err
	}
}

func (p *Printer) paint(color screen.Style, t screen.Text) screen.Text {
	if !p.color {
		return t
	}
	return screen.Paint(color, t)
}

// line returns text on one line of at most width characters.
func line(text string, width int) screen.Text { return screen.Line(text).Cut(width) }

// Took returns a duration for people: "3 ms", "1.2 s", "2m5s".
func Took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "<1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
