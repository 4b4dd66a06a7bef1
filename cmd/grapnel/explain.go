package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/explain"
)

// lastCalls is how many calls are listed if no call is named.
const lastCalls = 20

// howToRecord says how to record more.
const howToRecord = "grapnel run --hooks, chat --hooks and serve --hooks record hook runs"

func (c *command) explain() *cobra.Command {
	var conversation string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain [CALL]",
		Short: "Show which subsystems decided about a tool call, and whose answer counted",
		Long: "Shows for one tool call which fields of the composite were asked at which point, under which option, what each\n" +
			"answered, which answer counts and why, and which fields were not asked any more. Without an id it lists the last calls.\n\n" +
			"Turns whose hook runs were recorded show all of it: " + howToRecord + ".\n" +
			"Other turns show only approvals and failures. Arguments and results are never shown.",
		Example: "  grapnel run --hooks \"Tidy up\"\n  grapnel explain\n  grapnel explain call_1_0",
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.explainCall(cmd.Context(), strings.Join(args, ""), conversation, asJSON)
		},
	}
	cmd.Flags().StringVar(&conversation, "conversation", "", "look in this conversation (default: all of this project, the last changed one first)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}

func (c *command) explainCall(ctx context.Context, id, conversation string, asJSON bool) (err error) {
	paths, err := c.paths(place{})
	if err != nil {
		return err
	}
	log, err := app.OpenConversations(ctx, paths, c.Note)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	own := explain.Within(log, paths.Project())
	if id == "" {
		return c.listCalls(ctx, own, asJSON)
	}
	layered, err := app.Plan(ctx, app.Options{Paths: paths, Note: c.Note})
	if err != nil {
		return err
	}
	call, err := explain.Find(ctx, own, id, conversation, layered)
	switch {
	case errors.Is(err, explain.ErrUnknown):
		return fmt.Errorf("no conversation of this project has a tool call with the id %q; `grapnel explain` lists the last ones", id)
	case err != nil:
		return err
	case asJSON:
		return c.JSON(call)
	}
	return c.Print(explain.Text(call, howToRecord))
}

func (c *command) listCalls(ctx context.Context, log explain.Log, asJSON bool) error {
	calls, err := explain.Last(ctx, log, lastCalls)
	if err != nil {
		return err
	}
	if asJSON {
		return c.JSON(calls)
	}
	rows := [][]string{{"CALL", "TOOL", "OUTCOME", "ENDED", "AGENT", "CONVERSATION"}}
	for _, call := range calls {
		rows = append(rows, []string{
			call.ID, call.Tool, string(call.Outcome), call.Time.Local().Format(time.DateTime), call.Agent, call.Conversation,
		})
	}
	if len(rows) == 1 {
		c.Note("no tool was called yet")
	}
	return c.Tables(rows)
}
