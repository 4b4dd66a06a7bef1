package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/inspect"
	"github.com/grapnel-go/grapnel/internal/target"
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

func (c *command) reloadAgents() *cobra.Command {
	var at target.Daemon
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Make the daemon read the files of its agents again",
		Long: "Makes the running daemon read .grapnel/agents again, and says what has changed. The next turns have what is new; those that\n" +
			"run keep what they have. If a file has a mistake, every agent stays as it is. What an agent requests and nobody has\n" +
			"approved is left out. Rules, MCP servers, skills and hooks.json are read when the daemon starts; if rules or hooks.json have\n" +
			"changed since, nothing is reloaded. Which settings of config.yaml, .mcp.json and prices.json have changed since is said.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := c.daemonHere(cmd.Context(), at, "")
			if err != nil {
				return err
			}
			done, err := d.Reload(cmd.Context())
			if err != nil {
				return err
			}
			if err := inspect.Reloaded(&c.Console, done, asJSON); err != nil {
				return err
			}
			if len(done.Refused) > 0 {
				return &failed{exitFailed, fmt.Errorf("agents that were refused and keep what they had: %d", len(done.Refused))}
			}
			return nil
		},
	}
	daemonFlag(cmd, &at)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c *command) agentStats() *cobra.Command {
	var at target.Daemon
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show what the daemon's agents have done since it began",
		Long: "Shows, for each agent of the running daemon, the turns that run and those that have ended since it began, with their steps,\n" +
			"tool calls, tokens, costs and average time. Turns that an agent has run for another one count as its own.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := c.daemonHere(cmd.Context(), at, "")
			if err != nil {
				return err
			}
			stats, err := d.Stats(cmd.Context())
			if err != nil {
				return err
			}
			return inspect.AgentStats(&c.Console, stats, asJSON)
		},
	}
	daemonFlag(cmd, &at)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
