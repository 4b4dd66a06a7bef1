package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/screen"
)

func (c *command) policy() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Show what the rules for tool calls say",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return errors.New("say what to do: `grapnel policy explain TOOL ARGS`")
		},
	}
	cmd.AddCommand(c.explainPolicy())
	return cmd
}

func (c *command) explainPolicy() *cobra.Command {
	var p place
	var t trustFlags
	agent := app.DefaultAgent
	cmd := &cobra.Command{
		Use:   "explain TOOL ARGS",
		Short: "Say what the rules make of a call, which of them match, and why",
		Long: "Says what the rules make of a call of TOOL with ARGS, a JSON object: whether it is denied or asked about,\n" +
			"every rule that matches, with its place, and a * in front of the one that decides. Nothing is run.",
		Example: `  grapnel policy explain bash '{"command": "git log | head"}'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("name the tool and give its arguments as JSON: grapnel policy explain bash '{\"command\": \"git log\"}', but there are %d words", len(args))
			}
			return c.explainRules(cmd.Context(), p, agent, t, args[0], message.JSON(args[1]))
		},
	}
	p.flags(cmd)
	cmd.Flags().StringVar(&agent, "agent", agent, "the agent that makes the call")
	t.add(cmd)
	return cmd
}

func (c *command) explainRules(ctx context.Context, p place, agent string, t trustFlags, tool string, args message.JSON) error {
	paths, err := c.paths(p)
	if err != nil {
		return err
	}
	o := app.Options{Paths: paths, Note: c.Note, Trust: c.trust(c.Approver(nil), t)}
	return app.With(ctx, o, func(opened *app.App) error {
		a, err := opened.Register(ctx, agent, hook.AgentConfig{})
		if err != nil {
			return err
		}
		e, err := opened.Explain(ctx, a, tool, args)
		if err != nil {
			return err
		}
		for _, t := range opened.Tools(a) {
			if t.Name == e.Tool && t.OutOfScope != "" {
				c.Note(fmt.Sprintf("the agent %s cannot call %s at all: %s", agent, t.Name, t.OutOfScope))
			}
		}
		if p.json {
			return c.JSON(e)
		}
		return c.Print(screen.Format("%s\n", screen.Lines(e.String())))
	})
}
