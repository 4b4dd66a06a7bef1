package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/subsystems/memory"
)

func (c *command) memory() *cobra.Command {
	cmd := &cobra.Command{
		Use: "memory", Short: "Show, review and forget what agents have remembered", Args: knownCommand,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("say what to do: `grapnel memory list`, or show, forget, export, review, approve, reject, eval or adopt")
		},
	}
	cmd.AddCommand(c.listMemories(), c.showMemory(), c.forgetMemory(), c.exportMemories(), c.reviewMemories(), c.approveMemory(), c.rejectMemory(),
		c.evaluateMemories(), c.adoptMemories())
	return cmd
}

// inMemories opens the memories, calls do and closes them.
func (c *command) inMemories(ctx context.Context, do func(m *memory.Memory) error) error {
	return c.inStores(ctx, place{}, func(s *app.Stores, _ app.Paths) (err error) {
		m, err := s.Memories(ctx, c.Note)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, m.OnClose(context.WithoutCancel(ctx))) }()
		return do(m)
	})
}

func (c *command) listMemories() *cobra.Command {
	var asJSON, everywhere bool
	cmd := &cobra.Command{
		Use: "list", Short: "List what the agents of this project have remembered", Args: noArgs,
		Long: "Lists the memories of the agents of the project in the working directory: those of the project, and those of the user,\n" +
			"which all projects share. With --all it lists those of all projects; the project \"before\" has memories that are older\n" +
			"than projects.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.inMemories(cmd.Context(), func(m *memory.Memory) error {
				list := m.List
				if everywhere {
					list = m.ListAll
				}
				all, err := list(cmd.Context())
				if err != nil {
					return err
				}
				return c.showMemories(all, everywhere, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	cmd.Flags().BoolVar(&everywhere, "all", false, "list the memories of all projects")
	return cmd
}

func (c *command) showMemories(all []memory.Remembered, everywhere, asJSON bool) error {
	for i, r := range all {
		if r.Project == "" && !r.User {
			all[i].Project = wire.ProjectBefore
		}
	}
	if asJSON {
		return c.JSON(append([]memory.Remembered{}, all...))
	}
	if len(all) == 0 && !everywhere {
		c.Note("nothing is remembered in this project yet; --all lists those of other projects")
	}
	rows := [][]string{{"NAME", "KIND", "ORIGIN", "OF", "SINCE", "WHAT"}}
	for _, r := range all {
		rows = append(rows, []string{r.Name, string(r.Kind), string(r.Origin), owner(&r), r.Updated.Local().Format(time.DateTime), r.Content})
	}
	if everywhere {
		term.ProjectColumn(rows, func(i int) string { return all[i].Project })
	}
	return c.Tables(rows)
}

func (c *command) adoptMemories() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use: "adopt --from PROJECT", Short: "Move memories here whose project no longer exists", Args: noArgs,
		Long: "Moves memories to the project in the working directory: those that are older than projects (project \"before\"), or\n" +
			"those of a project whose directory was moved or deleted. A memory stays where it is if an agent already has one with\n" +
			"its name here.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			project := from
			switch {
			case from == "":
				return errors.New("name a project with --from; `grapnel memory list --all` lists them")
			case from == wire.ProjectBefore:
				project = ""
			case !app.Abandoned(from):
				return fmt.Errorf("the project %s still exists and keeps its memories; only those of a moved or deleted project can be adopted", from)
			}
			return c.inMemories(cmd.Context(), func(m *memory.Memory) error {
				moved, kept, err := m.Adopt(cmd.Context(), project)
				if err != nil {
					return err
				}
				text := fmt.Sprintf("adopted: %d memories", moved)
				if kept > 0 {
					text += fmt.Sprintf("; %d stay where they are, because an agent has one with that name here", kept)
				}
				return c.Say(text)
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the project of the memories: before, or the directory that it was in")
	return cmd
}
