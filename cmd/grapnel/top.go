package main

import (
	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/inspect"
	"github.com/grapnel-go/grapnel/internal/target"
)

func (c *command) top() *cobra.Command {
	var at target.Daemon
	var o inspect.TopOptions
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show what the running daemon does",
		Long: "Shows the running turns and the calls of their tools, what waits for people, queues, streams, abandoned calls, and\n" +
			"what models have cost today, of the daemon of the project in the working directory, or of the one on --socket.\n" +
			"It is drawn again each second until you press q; once if the output is no terminal.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := c.daemonHere(cmd.Context(), at, "")
			if err != nil {
				return err
			}
			return inspect.Top(cmd.Context(), &c.Console, d.Activity, o)
		},
	}
	daemonFlag(cmd, &at)
	cmd.Flags().BoolVar(&o.Once, "once", false, "show it once")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "write JSON once, for programs")
	return cmd
}
