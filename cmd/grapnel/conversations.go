package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/client"
	"github.com/grapnel-go/grapnel/internal/terminal"
)

func (c *command) conversations() *cobra.Command {
	var socket string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "conversations [ID]",
		Short: "List conversations, show one, or change, move and search them",
		Long: "Lists the conversations or shows one: over the running daemon, or where there is none in this process, which then\n" +
			"knows the agents of the working directory.",
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.overDaemon(cmd.Context(), socket, func(d *client.Client) error {
				if len(args) == 0 {
					return c.listConversations(cmd.Context(), d, asJSON)
				}
				return c.showConversation(cmd.Context(), d, args[0], asJSON)
			})
		},
	}
	socketFlag(cmd, &socket)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	cmd.AddCommand(c.branches()...)
	return cmd
}

func (c *command) listConversations(ctx context.Context, d *client.Client, asJSON bool) error {
	all, err := d.Conversations(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return c.writeJSON(all)
	}
	rows := [][]string{{"ID", "AGENT", "SENDER", "TURNS", "LAST CHANGE", "NOW"}}
	for _, conv := range all {
		now := "-"
		switch {
		case conv.Inquiries > 0:
			now = "asks"
		case conv.Turn != "":
			now = "running"
		case conv.Interrupted:
			now = "interrupted"
		}
		rows = append(rows, []string{
			conv.ID, conv.Agent, cut(conv.Sender, 40), strconv.Itoa(conv.Turns), conv.Updated.Local().Format(time.DateTime), now,
		})
	}
	return c.tables(rows)
}

func (c *command) showConversation(ctx context.Context, d *client.Client, id string, asJSON bool) error {
	messages, err := d.Messages(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		return c.writeJSON(messages)
	}
	for _, m := range messages {
		c.showMessage(m)
	}
	return nil
}

// showMessage writes one message: who, and what was said, called or answered.
func (c *command) showMessage(m hook.Message) {
	who := string(m.Role)
	if m.Label != "" {
		who += " (" + m.Label + ")"
	}
	if m.Role == hook.RoleTool {
		mark := "✓"
		if m.Result.IsError() {
			mark = "✗ " + string(m.Result.Failure) + ":"
		}
		c.said(m.Tool, mark+" "+cut(m.Result.Text(), 10*terminal.Width))
		return
	}
	if text := m.Text(); text != "" {
		c.said(who, text)
	}
	for _, b := range m.Content.All() {
		if b.Kind == hook.BlockToolCall {
			c.said(who, "→ "+b.Tool+"  "+terminal.Summary(b.JSON, terminal.Width))
		}
	}
}

// said writes lines under a name.
func (c *command) said(who, text string) {
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
	fmt.Fprintf(c.out, "%s: %s\n", terminal.Clean(who), terminal.Clean(text))
}
