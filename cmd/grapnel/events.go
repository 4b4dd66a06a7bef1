package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/target"
	"github.com/grapnel-go/grapnel/internal/term"
)

type eventsFlags struct {
	at    target.Daemon
	after string
	json  bool
	hooks hook.Visibility
}

func (c *command) events() *cobra.Command {
	var f eventsFlags
	cmd := &cobra.Command{
		Use:   "events [CONVERSATION]",
		Short: "Show what happens in the running daemon, until it is interrupted",
		Long: "Shows the events of a conversation, or of all conversations, one on a line: new events, or those after an id. The\n" +
			"daemon is the one of the project in the working directory, or the one on --socket or --server.\n" +
			"Only --json shows the pieces of a text as the model writes it.",
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.daemonHere(cmd.Context(), f.at, f.hooks)
			if err != nil {
				return err
			}
			return c.showEvents(cmd.Context(), d, strings.Join(args, ""), f)
		},
	}
	daemonFlag(cmd, &f.at)
	cmd.Flags().StringVar(&f.after, "after", "", "begin after the event with this id, as far as the events are kept")
	cmd.Flags().BoolVar(&f.json, "json", false, "write JSON, for programs")
	hooksFlag(cmd, &f.hooks, "show hook runs, if the daemon records them (grapnel serve --hooks)")
	return cmd
}

func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%[1]s takes one id at most, but got %[2]q; write `%[1]s ID`, or `%[1]s --help` for the flags", cmd.CommandPath(), args)
	}
	return nil
}

func (c *command) showEvents(ctx context.Context, d *client.Client, conversation string, f eventsFlags) error {
	lines := term.NewJSONPrinter(c.Written)
	for item, err := range d.Events(ctx, conversation, f.after) {
		switch {
		case errors.Is(err, client.ErrClosed):
			c.Note("the daemon has ended")
			return nil
		case ctx.Err() != nil:
			return nil // an interrupt is the usual end
		case err != nil:
			return err
		case item.Missed > 0:
			if !item.Kept { // if Kept, only events are missing that are not shown
				c.Note(fmt.Sprintf("%d events were missed", item.Missed))
			}
		case item.Restarted:
			c.Note("the daemon was started again")
		case f.json:
			lines.OnEvent(item.Event)
		default:
			if err := c.Print(term.EventLine(item.Event)); err != nil {
				return err
			}
		}
	}
	return nil
}
