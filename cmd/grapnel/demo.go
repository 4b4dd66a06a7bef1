package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/demo"
	"github.com/grapnel-go/grapnel/internal/term"
)

func (c *command) demo() *cobra.Command {
	var p place
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See it work: a scripted model, real tools, no key, no network",
		Long: "Plays a task with a scripted model over all subsystems, each doing real work in a directory of its own.\n" +
			"Run it twice: the second run recalls what the first one remembered.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program's executable: %w", err)
			}
			return demo.Run(cmd.Context(), demo.Options{
				Dir: p.dir, Getenv: c.getenv, Executable: self, Out: c.Written, JSON: p.json, Color: term.Colored(c.Out),
			})
		},
	}
	cmd.Flags().StringVar(&p.dir, "dir", "", "where to work: an empty directory or that of an earlier demo (default: a new temporary one, which is kept)")
	cmd.Flags().BoolVar(&p.json, "json", false, "write JSON, for programs")
	return cmd
}

// serveDemo is the demo's MCP server, which the demo starts as a child process.
func (c *command) serveDemo() *cobra.Command {
	return &cobra.Command{
		Use: demo.ServerCommand, Hidden: true, Args: noArgs, Annotations: map[string]string{outlives: "it talks to its client"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := demo.Serve(cmd.Context()); err != nil {
				return &failed{exitFailed, err}
			}
			return nil
		},
	}
}
