package main

import (
	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/inspect"
	"github.com/grapnel-go/grapnel/internal/target"
)

func (c *command) nodes() *cobra.Command {
	var at target.Daemon
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "nodes",
		Short: "Show the daemons that share the store",
		Long: "Shows the daemons that share the store with the daemon of the project in the working directory, or with the one on\n" +
			"--socket: whether they live, how many turns they run, and which projects they have. A project with ! is not the\n" +
			"same on all of them.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := c.daemonHere(cmd.Context(), at, "")
			if err != nil {
				return err
			}
			all, err := d.Nodes(cmd.Context())
			if err != nil {
				return err
			}
			return inspect.Nodes(&c.Console, all, asJSON)
		},
	}
	daemonFlag(cmd, &at)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	return cmd
}
