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
		Short: "Show the effect of the rules for tool calls",
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
	agent, sender := app.DefaultAgent, ""
	cmd := &cobra.Command{
		Use:   "explain TOOL ARGS",
		Short: "Show what the rules decide about a call, which rules match, and why",
		Long: "Shows what the rules decide about a call of TOOL with ARGS, a JSON object: whether it is denied or needs approval,\n" +
			"and every rule that matches, with its place and a * before the one that decides. Nothing is run.",
		Example: `  grapnel policy explain bash '{"command": "git log | head"}'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("policy explain takes a tool and its arguments as JSON, but got %d arguments; write: grapnel policy explain bash '{\"command\": \"git log\"}'", len(args))
			}
			return c.explainRules(cmd.Context(), p, agent, sender, t, args[0], message.JSON(args[1]))
		},
	}
	p.flags(cmd)
	cmd.Flags().StringVar(&agent, "agent", agent, "the agent that makes the call")
	cmd.Flags().StringVar(&sender, "sender", sender, "who sends the message; without it rules for some senders restrict, and allow nothing")
	t.add(cmd)
	return cmd
}

func (c *command) explainRules(ctx context.Context, p place, agent, sender string, t trustFlags, tool string, args message.JSON) error {
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
		e, err := opened.Explain(ctx, a, sender, tool, args)
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
