package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/inspect"
)

func (c *command) runs() *cobra.Command {
	var o inspect.Runs
	var p place
	cmd := &cobra.Command{
		Use:   "runs [ID]",
		Short: "Show the records of hook runs and jobs, with their attempts",
		Long: "Lists the last hook runs and jobs of the project in the working directory, the newest first: those that run, those that wait,\n" +
			"and how the others ended. With an id it shows one with all its attempts. A run of a process that has died is interrupted.\n\n" +
			"Jobs are always recorded, hook runs where they are asked for: " + howToRecord + ".\n" +
			"A record never has what a hook got or gave, and the last 10,000 of a project are kept.",
		Example: "  grapnel runs --status failed\n  grapnel runs --subsystem Policy --limit 5",
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := c.paths(p)
			if err != nil {
				return err
			}
			o.ID, o.JSON = strings.Join(args, ""), p.json
			return inspect.ShowRuns(cmd.Context(), &c.Console, paths, o)
		},
	}
	p.flags(cmd)
	cmd.Flags().StringVar(&o.Conversation, "conversation", "", "only those of this conversation")
	cmd.Flags().StringVar(&o.Subsystem, "subsystem", "", "only those of this field, or of the fields in it: Policy, Core.Guard")
	cmd.Flags().StringVar(&o.Status, "status", "", "only those with this status: running, queued, succeeded, denied, failed, timed_out, panicked, interrupted, skipped")
	cmd.Flags().IntVar(&o.Limit, "limit", 20, "how many to list at most")
	return cmd
}
