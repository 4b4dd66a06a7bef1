package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/client"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/term"
)

type eventsFlags struct {
	socket, after string
	json          bool
	hooks         hook.Visibility
}

func (c *command) events() *cobra.Command {
	var f eventsFlags
	cmd := &cobra.Command{
		Use:   "events [CONVERSATION]",
		Short: "Show what happens in the running daemon, until it is interrupted",
		Long: "Shows the events of a conversation, or of all of them, one on a line, from now on or from after an id. The daemon is\n" +
			"the one of the project in the working directory, or the one on --socket.\n" +
			"The pieces of a text as the model writes it are shown with --json only.",
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.daemonHere(cmd.Context(), f.socket, f.hooks)
			if err != nil {
				return err
			}
			return c.showEvents(cmd.Context(), d, strings.Join(args, ""), f)
		},
	}
	socketFlag(cmd, &f.socket)
	cmd.Flags().StringVar(&f.after, "after", "", "begin after the event with this id, as far as the events are kept")
	cmd.Flags().BoolVar(&f.json, "json", false, "write JSON, for programs")
	hooksFlag(cmd, &f.hooks, "show hook runs, if the daemon records them (grapnel serve --hooks)")
	return cmd
}

func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%[1]s takes one id at most, but got %[2]q; write `%[1]s ID`, or `%[1]s --help` for what else there is", cmd.CommandPath(), args)
	}
	return nil
}

func (c *command) showEvents(ctx context.Context, d *client.Client, conversation string, f eventsFlags) error {
	lines := term.NewJSONPrinter(c.written)
	for item, err := range d.Events(ctx, conversation, f.after) {
		switch {
		case errors.Is(err, client.ErrClosed):
			c.note("the daemon has ended")
			return nil
		case ctx.Err() != nil:
			return nil // to interrupt it is how one ends it
		case err != nil:
			return err
		case item.Missed > 0:
			if !item.Kept { // nothing is missing that is shown here
				c.note(fmt.Sprintf("%d events were missed", item.Missed))
			}
		case item.Restarted:
			c.note("the daemon was started again")
		case f.json:
			lines.OnEvent(item.Event)
		default:
			if err := c.showEvent(item.Event); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *command) showEvent(ev hook.Event) error {
	switch ev.Kind {
	case event.TextStart, event.TextDelta, event.TextEnd,
		event.ReasoningStart, event.ReasoningDelta, event.ReasoningEnd:
		return nil
	}
	d := ev.Detail()
	parts := []string{ev.Time.Local().Format("15:04:05.000"), ev.Conversation, ev.Agent, strings.Repeat("▸", ev.Depth), string(ev.Kind), d.Tool}
	switch ev.Kind {
	case event.CallStart:
		parts = append(parts, term.Summary(d.Args, term.Width).String())
	case event.CallResult:
		parts = append(parts, string(d.Outcome), term.Took(d.Duration))
	case event.ApprovalGiven:
		parts = append(parts, string(d.Answer))
	case event.HookRun:
		run, _ := ev.Run()
		parts = append(parts, run.Point.String(), run.Subsystem, term.Took(run.Duration), term.RunSaid(run))
		ev.Text = "" // which it says
	case event.Usage:
		parts = append(parts, fmt.Sprintf("%d in, %d out", d.Usage.Input, d.Usage.Output))
	case event.QuestionAsked:
		for _, q := range d.Inquiry.Questions.All() {
			parts = append(parts, q.Text)
		}
	case event.QuestionGiven:
		parts = append(parts, term.Answered(d.Inquiry, d.Response)...)
	case event.TurnEnd, event.SubagentEnd:
		parts = append(parts, string(d.Stop))
	}
	parts = append(parts, cut(screen.Line(ev.Text), term.Width).String())
	return c.print(screen.Format("%s\n", screen.Line(strings.Join(parts, " "))))
}
