package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/target"
)

func (c *command) logLevel() *cobra.Command {
	var at target.Daemon
	cmd := &cobra.Command{
		Use:   "log-level [LEVEL]",
		Short: "Show or change what the running daemon logs: debug, info, warn or error",
		Long: "Shows the lowest level that the daemon writes to its log, or changes it until the daemon ends.\n" +
			"At debug it writes each request with its status, its time and the name of the token.",
		Example: "  grapnel log-level debug",
		Args:    cobra.MaximumNArgs(1), ValidArgs: []string{"debug", "info", "warn", "error"},
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := c.daemonHere(cmd.Context(), at, "")
			if err != nil {
				return err
			}
			if len(args) == 1 {
				err = d.SetLogLevel(cmd.Context(), args[0])
			}
			if err != nil {
				return err
			}
			level, err := d.LogLevel(cmd.Context())
			if err != nil {
				return fmt.Errorf("the level of the log: %w", err)
			}
			return c.Say(level)
		},
	}
	daemonFlag(cmd, &at)
	return cmd
}
