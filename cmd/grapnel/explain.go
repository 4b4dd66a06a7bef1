package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/internal/explain"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/term"
)

// lastCalls is how many calls are listed where none is named.
const lastCalls = 20

// howToRecord tells how there will be more to tell.
const howToRecord = "grapnel run --hooks, chat --hooks and serve --hooks record hook runs"

func (c *command) explain() *cobra.Command {
	var conversation string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain [CALL]",
		Short: "Say who had a say in a tool call, and whose answer counted",
		Long: "Says of one tool call which field of the composite was asked at which point, under which option, what each\n" +
			"answered, which answer counts and why, and who was not asked any more. Without an id the last calls are listed.\n\n" +
			"All of it is known of turns whose hook runs were recorded: " + howToRecord + ".\n" +
			"Of others it is what approvals and failures tell. Arguments and results are never shown.",
		Example: "  grapnel run --hooks \"Tidy up\"\n  grapnel explain\n  grapnel explain call_1_0",
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.explainCall(cmd.Context(), strings.Join(args, ""), conversation, asJSON)
		},
	}
	cmd.Flags().StringVar(&conversation, "conversation", "", "look in this conversation (default: in all of this project, the one that changed last first)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}

func (c *command) explainCall(ctx context.Context, id, conversation string, asJSON bool) (err error) {
	paths, err := c.paths(place{})
	if err != nil {
		return err
	}
	log, err := daemon.OpenConversations(ctx, paths, c.note)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	own := explain.Within(log, paths.Project())
	if id == "" {
		return c.listCalls(ctx, own, asJSON)
	}
	layered, err := daemon.Plan(ctx, daemon.Options{Paths: paths, Note: c.note})
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
		return c.writeJSON(call)
	}
	return c.showCall(call)
}

func (c *command) listCalls(ctx context.Context, log explain.Log, asJSON bool) error {
	calls, err := explain.Last(ctx, log, lastCalls)
	if err != nil {
		return err
	}
	if asJSON {
		return c.writeJSON(calls)
	}
	rows := [][]string{{"CALL", "TOOL", "OUTCOME", "ENDED", "AGENT", "CONVERSATION"}}
	for _, call := range calls {
		rows = append(rows, []string{
			call.ID, call.Tool, string(call.Outcome), call.Time.Local().Format(time.DateTime), call.Agent, call.Conversation,
		})
	}
	if len(rows) == 1 {
		c.note("no tool was called yet")
	}
	return c.tables(rows)
}

// showCall writes what is known of a call: a line about it, a table of who had a
// say, and why which answer counts.
func (c *command) showCall(call explain.Call) error {
	outcome := cmp.Or(string(call.Outcome), "has not ended")
	if call.Failure != "" && string(call.Failure) != outcome {
		outcome += " (" + string(call.Failure) + ")"
	}
	out := []screen.Text{
		screen.Format("%s: %s, a tool of %s: %s\n", call.ID, call.Tool, cmp.Or(call.Owner, "a subsystem that is not known any more"), outcome),
		screen.Format("step %d of turn %s of %s, conversation %s, %s\n", call.Step, call.Turn, call.Agent, call.Conversation, call.Time.Local().Format(time.DateTime)),
	}
	if call.Others > 0 {
		out = append(out, screen.Format("%d earlier calls of the conversation have the same id\n", call.Others))
	}
	rows := [][]string{{"POINT", "FIELD", "OPTION", "TOOK", "SAID"}}
	var why []screen.Text
	for _, p := range call.Points {
		reason := ""
		for _, r := range p.Runs {
			rows = append(rows, []string{p.Point, cmp.Or(r.Field, "?"), cmp.Or(r.Option, "-"), took(r), whatItSaid(r)})
			if r.Counts && r.Reason != "" {
				reason = " It said: " + r.Reason
			}
		}
		if p.Why != "" {
			why = append(why, screen.Format("%s\n", screen.Rows(p.Point+": "+p.Why+"."+reason)))
		}
	}
	if len(rows) > 1 {
		out = append(out, screen.Lit("\n"), aligned(rows, maxCell))
	}
	if len(why) > 0 {
		out = append(out, screen.Lit("\n"), screen.Join(why...))
	}
	if !call.Recorded {
		out = append(out, screen.Format("\nThe hook runs of this turn were not recorded, so who had no opinion, or was overruled, is not known;\n%s.\n", howToRecord))
	}
	return c.print(screen.Join(out...))
}

func took(r explain.Run) string {
	if d := r.Recorded().Duration; d > 0 {
		return term.Took(d)
	}
	return "-"
}

// whatItSaid is what a hook said, marked if it counts.
func whatItSaid(r explain.Run) string {
	text := cmp.Or(term.RunSaid(r.Recorded()), "-")
	if r.Counts {
		text = "✓ " + text
	}
	return text
}
