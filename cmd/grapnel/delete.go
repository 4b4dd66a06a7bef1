package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/screen"
)

// eraseFlags are the flags of delete.
type eraseFlags struct {
	daemonFlags
	dry, yes bool
}

func (c *command) erase() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete", Short: "Delete a conversation, what a sender has, or a project, from everywhere", Args: knownCommand,
		Long: "Deletes for good: messages, events, journals, jobs, records of hook runs and the index of words, and what undo,\n" +
			"memories, schedules and sandboxes have of them. It shows first what goes and what stays, and asks at a terminal;\n" +
			"without one it deletes only with --yes. docs/retention.md says where what is kept.",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("say what to delete: `grapnel delete conversation ID`, sender NAME, or project DIR")
		},
	}
	cmd.AddCommand(
		c.eraseOne("conversation ID", "Delete a conversation with its delegated tasks", "`grapnel conversations --all` lists them",
			func(name string) (wire.Deletion, error) { return wire.Deletion{Conversation: name}, nil }),
		c.eraseOne("sender NAME", "Delete all conversations with a sender, in all projects, and the sender's schedules", "`grapnel conversations --all` lists them",
			func(name string) (wire.Deletion, error) { return wire.Deletion{Sender: name}, nil }),
		c.eraseOne("project DIR", "Delete everything that is kept of a project; the directory itself stays", "a project is its directory, or before",
			func(name string) (wire.Deletion, error) { return wire.Deletion{Project: name}, nil }),
	)
	return cmd
}

func (c *command) eraseOne(use, short, hint string, of func(name string) (wire.Deletion, error)) *cobra.Command {
	var f eraseFlags
	cmd := &cobra.Command{
		Use: use, Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return fmt.Errorf("%s takes one name, but got %d; %s", cmd.CommandPath(), len(args), hint)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := of(args[0])
			if err != nil {
				return err
			}
			if in.Project != "" && in.Project != wire.ProjectBefore && f.at.Server == "" { // that of a server is a directory there
				if in.Project, err = projectDir(in.Project); err != nil {
					return err
				}
			}
			return c.overDaemon(cmd.Context(), f.at, func(d *client.Client) error { return c.eraseThere(cmd.Context(), d, in, f) })
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "show what would be deleted, and delete nothing")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "delete without asking")
	return cmd
}

// projectDir returns the name of the project of a directory, which may be gone.
func projectDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	return abs, nil
}

// eraseThere shows what a deletion would do, asks, and does it.
func (c *command) eraseThere(ctx context.Context, d *client.Client, in wire.Deletion, f eraseFlags) error {
	if in.DryRun = f.dry; f.dry || f.yes {
		out, err := d.Delete(ctx, in)
		return c.reportErased(out, err, f.json)
	}
	in.DryRun = true
	out, err := d.Delete(ctx, in)
	if err != nil {
		return err
	}
	a := c.Approver(nil)
	if !a.Attended() {
		return errors.New("nobody is here to answer; --dry-run shows what would be deleted, and --yes deletes it")
	}
	ok, err := a.Confirm(ctx, erasedText(out), "Delete it for good?")
	if err != nil {
		return err
	}
	if !ok {
		return c.Say("nothing was deleted")
	}
	in.DryRun = false
	out, err = d.Delete(ctx, in)
	return c.reportErased(out, err, f.json)
}

func (c *command) reportErased(out wire.Deleted, err error, asJSON bool) error {
	switch {
	case err != nil:
		return err
	case asJSON:
		return c.JSON(out)
	}
	return c.Print(screen.Format("%s\n", screen.Lines(erasedText(out))))
}

// erasedText says what was deleted, or would be, and what stays.
func erasedText(out wire.Deleted) string {
	verb, text := "deleted", ""
	if out.DryRun {
		verb = "would delete"
	}
	for _, p := range out.Places {
		if p.Deleted > 0 || p.Place == "conversations" {
			text += fmt.Sprintf("%s from %s: %d %s", verb, p.Place, p.Deleted, p.What)
			if p.Bytes > 0 {
				text += ", " + inKiB(p.Bytes)
			}
			text += "\n"
		}
	}
	for _, p := range out.Places {
		if p.Kept != "" {
			text += fmt.Sprintf("stays in %s: %s\n", p.Place, p.Kept)
		}
	}
	if !out.DryRun {
		text += "freed: " + inKiB(out.Freed) + "\n"
	}
	return text + "stays elsewhere: exports, backups, and the files of the project"
}

func inKiB(bytes int64) string { return fmt.Sprintf("%d KiB", (bytes+1023)>>10) }
