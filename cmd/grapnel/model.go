package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/choose"
	"github.com/grapnel-go/grapnel/internal/models"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/runtime"
)

// modelFlags adds the flags that say which model answers instead of the agent's, and how.
func modelFlags(cmd *cobra.Command, to *choose.Flags) {
	cmd.Flags().StringVar(&to.Name, "model", "", "the model to use instead of the agent's: VENDOR:NAME, a NAME that only one vendor has, or script:FILE")
	cmd.Flags().Var(&to.Reasoning, "reasoning", "how much the model may think: off, low, medium, high, or a number of tokens")
	cmd.Flags().Var(&to.Temperature, "temperature", "how freely the model chooses its words, from 0 on")
	cmd.Flags().Var(&to.MaxTokens, "max-tokens", "the longest answer of the model, in tokens")
}

// register registers the agent with the overriding configuration, and checks its model. Without
// a model it offers one of a server on this machine, and otherwise says what to do.
func (c *command) register(ctx context.Context, opened *app.App, name string, over hook.AgentConfig, ask *term.Approver) (*runtime.Agent, hook.AgentConfig, error) {
	agent, err := opened.Register(ctx, name, over)
	if err != nil {
		return nil, over, err
	}
	err = opened.CheckModel(agent.Config())
	if !errors.Is(err, models.ErrNone) {
		return agent, over, err
	}
	none := err
	id, ways, err := choose.Offer(ctx, opened, c.ports(), ask)
	switch {
	case err != nil:
		return nil, over, err
	case id == "":
		return nil, over, &failed{exitWrong, c.showWays(none, ways)}
	}
	if err := opened.Runtime.Unregister(ctx, name); err != nil {
		return nil, over, err
	}
	over.Model.Name = id
	agent, err = opened.Register(ctx, name, over)
	return agent, over, err
}

// showWays shows the error of the missing model and the ways to one.
func (c *command) showWays(none error, ways []string) error {
	where, _, _ := strings.Cut(none.Error(), models.ErrNone.Error()) // an agent's file may be named before it
	first := where + models.ErrNone.Error() + "; there are three ways forward:"
	err := screen.New(c.Err).Print(screen.Format("grapnel: %s\n", screen.Line(first)))
	for _, line := range ways {
		err = errors.Join(err, screen.New(c.Err).Print(screen.Format("  %s\n", screen.Line(line))))
	}
	return err
}
