package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/target"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/term/remote"
)

func (c *command) conversations() *cobra.Command {
	var at target.Daemon
	var asJSON, everywhere bool
	cmd := &cobra.Command{
		Use:   "conversations [ID]",
		Short: "List conversations, show one, or change, move and search them",
		Long: "Lists the conversations of the project in the working directory, or shows one. It asks the project's daemon, or reads\n" +
			"the store itself if none is running. With --all it lists those of all projects. The project \"before\" has conversations\n" +
			"that are older than projects.",
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.overDaemon(cmd.Context(), at, func(d *client.Client) error {
				if len(args) == 0 {
					return c.listConversations(cmd.Context(), d, everywhere, asJSON)
				}
				return c.showConversation(cmd.Context(), d, args[0], asJSON)
			})
		},
	}
	daemonFlag(cmd, &at)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	cmd.Flags().BoolVar(&everywhere, "all", false, "list the conversations of all projects")
	cmd.AddCommand(c.branches()...)
	return cmd
}

func (c *command) listConversations(ctx context.Context, d *client.Client, everywhere, asJSON bool) error {
	list := d.Conversations
	if everywhere {
		list = d.AllConversations
	}
	all, err := list(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return c.JSON(all)
	}
	if len(all) == 0 && !everywhere {
		c.Note("there are no conversations in this project yet; --all lists those of others")
	}
	return c.Print(remote.Conversations(all, everywhere))
}

func (c *command) showConversation(ctx context.Context, d *client.Client, id string, asJSON bool) error {
	messages, err := d.Messages(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		return c.JSON(messages)
	}
	var out []screen.Text
	for _, m := range messages {
		out = append(out, term.MessageLines(m)...)
	}
	return c.Print(screen.Join(out...))
}
