package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/client"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/term"
)

func (c *command) conversations() *cobra.Command {
	var socket string
	var asJSON, everywhere bool
	cmd := &cobra.Command{
		Use:   "conversations [ID]",
		Short: "List conversations, show one, or change, move and search them",
		Long: "Lists the conversations of the project in the working directory, or shows one: over its daemon, or where none is\n" +
			"running in this process. With --all it lists those of other projects too. The project \"before\" has those that were\n" +
			"stored before there were projects.",
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.overDaemon(cmd.Context(), socket, func(d *client.Client) error {
				if len(args) == 0 {
					return c.listConversations(cmd.Context(), d, everywhere, asJSON)
				}
				return c.showConversation(cmd.Context(), d, args[0], asJSON)
			})
		},
	}
	socketFlag(cmd, &socket)
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
		return c.writeJSON(all)
	}
	if len(all) == 0 && !everywhere {
		c.note("there are no conversations in this project yet; --all lists those of others")
	}
	rows := [][]string{{"ID", "AGENT", "SENDER", "TURNS", "LAST CHANGE", "NOW", "TITLE"}}
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
			conv.ID, conv.Agent, cut(screen.Line(conv.Sender), 40).String(), strconv.Itoa(conv.Turns), conv.Updated.Local().Format(time.DateTime), now, conv.Title,
		})
	}
	if everywhere {
		withProject(rows, func(i int) string { return all[i].Project })
	}
	return c.tables(rows)
}

// withProject adds a column to a table, behind the first one.
func withProject(rows [][]string, project func(i int) string) {
	for i, row := range rows {
		cell := "PROJECT"
		if i > 0 {
			cell = project(i - 1)
		}
		rows[i] = slices.Insert(row, 1, cell)
	}
}

func (c *command) showConversation(ctx context.Context, d *client.Client, id string, asJSON bool) error {
	messages, err := d.Messages(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		return c.writeJSON(messages)
	}
	var out []screen.Text
	for _, m := range messages {
		out = append(out, shownMessage(m)...)
	}
	return c.print(screen.Join(out...))
}

// shownMessage is one message: who, and what was said, called or answered.
func shownMessage(m message.Message) []screen.Text {
	who := string(m.Role)
	if m.Label != "" {
		who += " (" + m.Label + ")"
	}
	if m.Role == message.RoleTool {
		mark := "✓"
		if m.Result.IsError() {
			mark = "✗ " + string(m.Result.Failure) + ":"
		}
		return []screen.Text{said(m.Tool, mark+" "+screen.Flow(term.ResultText(m.Result)).Cut(10*term.Width).String())}
	}
	var out []screen.Text
	if text := m.Text(); text != "" {
		out = append(out, said(who, text))
	}
	for _, b := range m.Content.All() {
		if b.Kind == message.BlockToolCall {
			out = append(out, said(who, "→ "+b.Tool+"  "+term.Summary(b.JSON, term.Width).String()))
		}
	}
	return out
}

// said is lines under a name.
func said(who, text string) screen.Text {
	text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
	return screen.Format("%s: %s\n", screen.Fold(who), screen.Flow(text))
}
