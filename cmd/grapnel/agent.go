package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/inspect"
)

func (c *command) showAgent() *cobra.Command {
	var p place
	var above app.Settings
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show one agent, and the project's instruction files that it gets",
		Long: "Shows one agent: its file, its model, and the instruction files of the project (AGENTS.md, CLAUDE.md, …) that are in its\n" +
			"prompt, in their order there, each with its estimated tokens, who imports it, and what is cut; then the files that are\n" +
			"left out, and why. Nothing is started.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("agents show takes the name of one agent, but got %d arguments; `grapnel agents` lists them", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := c.paths(p)
			if err != nil {
				return err
			}
			d, err := app.Describe(cmd.Context(), app.Options{Paths: paths, Note: c.Note, Set: above}, args[0])
			if err != nil {
				return err
			}
			return inspect.Agent(&c.Console, paths, d, p.json)
		},
	}
	p.flags(cmd)
	setFlag(cmd, &above)
	return cmd
}
