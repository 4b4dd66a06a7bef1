package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/composite/plan/picture"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/aliases"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/inspect"
	"github.com/grapnel-go/grapnel/internal/screen"
)

func (c *command) tools() *cobra.Command {
	var p place
	var t trustFlags
	var above app.Settings
	agent := app.DefaultAgent
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List the tools of an agent, and those out of its scope",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.listTools(cmd.Context(), p, agent, t, above)
		},
	}
	p.flags(cmd)
	cmd.Flags().StringVar(&agent, "agent", agent, "the agent")
	t.add(cmd)
	setFlag(cmd, &above)
	return cmd
}

func (c *command) listTools(ctx context.Context, p place, agent string, t trustFlags, above app.Settings) error {
	paths, err := c.paths(p)
	if err != nil {
		return err
	}
	var tools []app.Tool
	var sizes fmt.Stringer
	o := app.Options{Paths: paths, Note: c.Note, Trust: c.trust(c.Approver(nil), t), Set: above}
	err = app.With(ctx, o, func(opened *app.App) error {
		a, err := opened.Register(ctx, agent, hook.AgentConfig{})
		if err == nil {
			tools, sizes = opened.Tools(a), opened.ToolSizes(a)
		}
		return err
	})
	if err != nil {
		return err
	}
	return inspect.Tools(&c.Console, tools, sizes, p.json)
}

func (c *command) agents() *cobra.Command {
	var p place
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "List the agents and the files that define them",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			paths, err := c.paths(p)
			if err != nil {
				return err
			}
			agents, err := app.Agents(paths, c.Note)
			if err != nil {
				return err
			}
			return inspect.Agents(&c.Console, paths, agents, p.json)
		},
	}
	p.flags(cmd)
	cmd.AddCommand(c.showAgent(), c.reloadAgents(), c.agentStats())
	return cmd
}

func (c *command) plan() *cobra.Command {
	var p place
	var names bool
	var above app.Settings
	format := string(picture.Text)
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show how the subsystems are put together",
		Long: "Shows the composite that the generator made: the order of the subsystems, the tools that each owns,\n" +
			"and for every point who is called there, in the order of the calls, with what the tags say and\n" +
			"hooks.json, the user's and the project's, has over them.\n" +
			"With --aliases it shows instead what other agents and frameworks call the points and the answers;\n" +
			"a word finds the names that contain it: grapnel plan --aliases PreToolUse",
		Args: func(cmd *cobra.Command, args []string) error {
			if names && len(args) <= 1 {
				return nil
			}
			return noArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if names {
				return c.aliases(strings.Join(args, ""), p.json)
			}
			if p.json {
				format = string(picture.JSON)
			}
			return c.showPlan(cmd.Context(), p, format, above)
		},
	}
	cmd.Flags().StringVar(&format, "format", format, "text, md (with a picture) or json")
	p.flags(cmd)
	setFlag(cmd, &above)
	cmd.Flags().BoolVar(&names, "aliases", false, "show the names of points and answers in other frameworks")
	return cmd
}

// aliases prints the names in other frameworks that contain the word.
func (c *command) aliases(word string, asJSON bool) error {
	found := aliases.Find(word)
	switch {
	case asJSON:
		return c.JSON(found)
	case len(found) == 0:
		return fmt.Errorf("no alias contains %q; grapnel plan --aliases shows all", word)
	}
	return aliases.Text(screen.New(c.Written), found)
}

func (c *command) showPlan(ctx context.Context, p place, format string, above app.Settings) error {
	f, err := picture.ParseFormat(format)
	if err != nil {
		return err
	}
	paths, err := c.paths(p)
	if err != nil {
		return err
	}
	text, err := app.Picture(ctx, app.Options{Paths: paths, Note: c.Note, Set: above}, f)
	if err != nil {
		return err
	}
	return c.Print(text)
}
