package inspect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/term/console"
	"github.com/grapnel-go/grapnel/internal/term/edit"
)

// TopOptions say how Top shows what a daemon does.
type TopOptions struct {
	// Once shows it once, as if nobody watched.
	Once bool
	// JSON writes JSON once, for programs.
	JSON bool
}

// topEvery is the time between two looks.
const topEvery = time.Second

// Top shows what a daemon does, again and again until q or Ctrl-C is pressed; once if that is wanted, or if nobody sees it at a terminal.
// An error of look ends it.
func Top(ctx context.Context, c *console.Console, look func(context.Context) (wire.Activity, error), o TopOptions) (err error) {
	a, err := look(ctx)
	switch {
	case err != nil:
		return err
	case o.JSON:
		return c.JSON(a)
	case o.Once || !term.IsTerminal(c.Out) || !term.IsTerminal(c.In):
		return c.Print(topText(a))
	}
	keys, err := edit.OpenKeyboard(ctx, c.In)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keys.Close(), c.Print(screen.Lit("\n"))) }()
	for {
		columns, rows := edit.Size(c.Out)
		if err := c.Print(topFrame(a, columns, rows)); err != nil {
			return err
		}
		pressed, err := keys.Wait(topEvery)
		switch {
		case errors.Is(err, io.EOF) || bytes.ContainsAny(pressed, "qQ\x03"):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		if a, err = look(ctx); err != nil {
			return err
		}
	}
}

// topFrame is what a screen shows of it, in the place of what it showed before.
func topFrame(a wire.Activity, columns, rows int) screen.Text {
	lines := strings.SplitAfter(topText(a).String(), "\n")
	at, whole, out := 0, topText(a), []screen.Text{screen.Lit("\x1b[H")}
	for i, line := range lines[:len(lines)-1] {
		if i >= rows-2 {
			out = append(out, screen.Lit("…\x1b[K\r\n"))
			break
		}
		out = append(out, term.Cut(whole.Slice(at, at+len(line)-1), columns-1), screen.Lit("\x1b[K\r\n"))
		at += len(line)
	}
	return screen.Join(append(out, screen.Paint(screen.Dim, screen.Lit("q ends")), screen.Lit("\x1b[K\x1b[J"))...)
}

// topText is what a daemon does, as lines.
func topText(a wire.Activity) screen.Text {
	lines := []string{
		fmt.Sprintf("grapnel %s, up %s", a.Status, span(a.Time.Sub(a.Started))),
		fmt.Sprintf("turns %d, waiting: %d for approval, %d for an answer, %d for a client", len(a.Turns), a.Approvals, a.Questions, a.ClientCalls),
		"queued: " + queues(a),
		fmt.Sprintf("streams %d, %d lagging, %d events missed", a.Streams, a.Lagging, a.Missed),
		"today: " + today(a.Today),
	}
	if len(a.Abandoned) > 0 || a.LateHooks > 0 {
		lines = append(lines, "abandoned: "+abandoned(a))
	}
	if len(a.Unanswered) > 0 {
		lines = append(lines, "no answer, so what they do is missing: "+strings.Join(a.Unanswered, ", "))
	}
	out := make([]screen.Text, len(lines), len(lines)+2)
	for i, line := range lines {
		out[i] = screen.Format("%s\n", screen.Line(line))
	}
	return screen.Join(append(out, screen.Lit("\n"), turnsTable(a), ownersTable(a))...)
}

// ownersTable lists the owners of tokens whose programs are open.
func ownersTable(a wire.Activity) screen.Text {
	if len(a.Tenants) == 0 {
		return screen.Text{}
	}
	rows := [][]string{{"OWNER", "TURNS", "WAITING", "REQUESTS", "TODAY"}}
	for _, t := range a.Tenants {
		rows = append(rows, []string{t.Owner, fmt.Sprint(t.Turns), fmt.Sprint(t.Waiting), fmt.Sprint(t.Requests), today(t.Today)})
	}
	return screen.Join(screen.Lit("\n"), term.AlignedTables(0, rows))
}

// turnsTable lists the running turns.
func turnsTable(a wire.Activity) screen.Text {
	if len(a.Turns) == 0 {
		return screen.Lit("No turn is running.\n")
	}
	rows := [][]string{{"AGENT", "SENDER", "STATE", "FOR", "STEP", "CALL", "CONVERSATION"}}
	for _, t := range a.Turns {
		row := []string{t.Agent, t.Sender, t.State, "-", "-", "-", t.Conversation}
		if !t.Since.IsZero() {
			row[3] = span(a.Time.Sub(t.Since))
		}
		if t.Step > 0 {
			row[4] = fmt.Sprint(t.Step)
		}
		if n := len(t.Calls); n > 0 {
			row[5] = t.Calls[0].Tool + " " + span(a.Time.Sub(t.Calls[0].Since))
			if n > 1 {
				row[5] += fmt.Sprintf(" and %d more", n-1)
			}
		}
		for i := range row[:6] {
			row[i] = term.Cut(screen.Line(row[i]), 32).String()
		}
		rows = append(rows, row)
	}
	return term.AlignedTables(0, rows)
}

func queues(a wire.Activity) string {
	text := fmt.Sprintf("%d messages", a.QueuedMessages)
	if a.QueuedJobs != nil {
		text += fmt.Sprintf(", %d jobs", *a.QueuedJobs)
	}
	return text
}

func today(s *wire.SpentToday) string {
	if s == nil {
		return "not known"
	}
	text := fmt.Sprintf("%v, %d calls of models, %d tokens in, %d out", s.Cost, s.Calls, s.Usage.Input, s.Usage.Output)
	if s.Unpriced > 0 {
		text += fmt.Sprintf(" (%d without a price)", s.Unpriced)
	}
	return text
}

func abandoned(a wire.Activity) string {
	var parts []string
	for _, one := range a.Abandoned {
		name := cmp.Or(one.Tool, strings.TrimSpace(one.Hook+" "+one.Point))
		parts = append(parts, fmt.Sprintf("%s ×%d", name, one.Count))
	}
	if a.LateHooks > 0 {
		parts = append(parts, fmt.Sprintf("late hooks ×%d", a.LateHooks))
	}
	return strings.Join(parts, ", ")
}

// span is a time for people: 12s, 3m05s, 2h07m, 3d04h.
func span(d time.Duration) string {
	s := max(0, int(d.Seconds()))
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	}
	return fmt.Sprintf("%dd%02dh", s/86400, s/3600%24)
}
