package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/conffile"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/target"
	"github.com/grapnel-go/grapnel/internal/term/remote"
)

// daemonFlags are the flags of every command that calls the daemon.
type daemonFlags struct {
	at   target.Daemon
	json bool
}

func (f *daemonFlags) add(cmd *cobra.Command) {
	daemonFlag(cmd, &f.at)
	cmd.Flags().BoolVar(&f.json, "json", false, "write JSON, for programs")
}

// onConversation returns a command for one conversation of the daemon.
func (c *command) onConversation(use, short string, f *daemonFlags, run func(ctx context.Context, d *client.Client, id string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.overDaemon(cmd.Context(), f.at, func(d *client.Client) error { return run(cmd.Context(), d, args[0]) })
		},
	}
	f.add(cmd)
	return cmd
}

func oneID(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes the id of one conversation, but got %d; `grapnel conversations` lists them", cmd.CommandPath(), len(args))
	}
	return nil
}

// branches returns the commands that change, move and search conversations.
func (c *command) branches() []*cobra.Command {
	return []*cobra.Command{
		c.cancelTurn(), c.resumeTurn(), c.search(), c.adopt(), c.fork(), c.rewind(), c.undo(), c.compact(), c.export(), c.restore(),
	}
}

func (c *command) cancelTurn() *cobra.Command {
	var f daemonFlags
	return c.onConversation("cancel ID", "Cancel the turn that is running; what has finished is kept", &f,
		func(ctx context.Context, d *client.Client, id string) error {
			out, err := d.Cancel(ctx, id)
			switch {
			case err != nil:
				return err
			case f.json:
				return c.JSON(out)
			case !out.Cancelled:
				return c.Say("no turn of this conversation is running")
			}
			return c.Say("turn " + out.Turn + " is being cancelled")
		})
}

func (c *command) resumeTurn() *cobra.Command {
	var f daemonFlags
	var yes bool
	cmd := c.onConversation("resume ID", "Resume the interrupted turn, or follow the running one", &f,
		func(ctx context.Context, d *client.Client, id string) error {
			health, err := d.Health(ctx)
			if err != nil {
				return err
			}
			turn, err := d.Resume(ctx, id)
			if client.CodeOf(err) == wire.CodeBusy {
				turn, err = d.Running(ctx, id, err)
			}
			if err != nil {
				return err
			}
			return c.attend(ctx, d, turn, askFlags{place: place{json: f.json}, yes: yes}, rootOf(f.at, health), false)
		})
	cmd.Flags().BoolVar(&yes, "yes", false, "allow every tool call without asking")
	return cmd
}

func (c *command) search() *cobra.Command {
	var f daemonFlags
	var q client.Query
	cmd := &cobra.Command{
		Use:   "search WORDS",
		Short: "Find messages that have any of the words; sail* matches all words that begin with sail",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Text = strings.Join(args, " ")
			return c.overDaemon(cmd.Context(), f.at, func(d *client.Client) error {
				found, err := d.Search(cmd.Context(), q)
				switch {
				case err != nil:
					return err
				case f.json:
					return c.JSON(found)
				}
				return c.Print(remote.Matches(found, q.All))
			})
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&q.All, "all", false, "search the conversations of all projects")
	cmd.Flags().StringVar(&q.Agent, "agent", "", "only conversations of this agent")
	cmd.Flags().StringVar(&q.Sender, "sender", "", "only conversations with this sender")
	cmd.Flags().IntVar(&q.Limit, "limit", 0, "how many matches at most, up to 20 (default 5)")
	return cmd
}

func (c *command) adopt() *cobra.Command {
	var f daemonFlags
	var from string
	var a wire.Adoption
	cmd := &cobra.Command{
		Use: "adopt ID…", Short: "Move conversations here whose project no longer exists",
		Long: "Moves conversations to the project in the working directory: those that are older than projects (project\n" +
			"\"before\"), and those of a project whose directory was moved or deleted. Approvals given in them end, and an\n" +
			"interrupted turn is resumed only by `grapnel conversations resume`.",
		Example: "  grapnel conversations --all\n  grapnel conversations adopt 01JX…\n  grapnel conversations adopt --from before",
		RunE: func(cmd *cobra.Command, ids []string) error {
			if (len(ids) == 0) == (from == "") {
				return errors.New("give the IDs of conversations, or --from with a project, but not both; `grapnel conversations --all` lists them")
			}
			return c.overDaemon(cmd.Context(), f.at, func(d *client.Client) (err error) {
				if from != "" {
					if ids, err = d.OfProject(cmd.Context(), from); err != nil {
						return err
					}
				}
				return c.adoptAll(cmd.Context(), d, ids, a, f.json)
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&from, "from", "", "adopt all conversations of this project: before, or the directory that it was in")
	cmd.Flags().StringVar(&a.Agent, "agent", "", "their new agent (default: the agent that they have)")
	cmd.Flags().StringVar(&a.Sender, "sender", "", "their new sender (default: the sender that they have)")
	return cmd
}

// adoptAll adopts the conversations one after the other, and stops at the first error.
func (c *command) adoptAll(ctx context.Context, d *client.Client, ids []string, a wire.Adoption, asJSON bool) error {
	for _, id := range ids {
		conv, err := d.Adopt(ctx, id, a)
		if err := c.report(conv, err, asJSON, "adopted"); err != nil {
			return err
		}
	}
	return nil
}

func (c *command) fork() *cobra.Command {
	var f daemonFlags
	var fork wire.NewFork
	cmd := c.onConversation("fork ID", "Make a conversation with the first turns of this one", &f,
		func(ctx context.Context, d *client.Client, id string) error {
			if fork.Turns < 0 {
				conv, err := d.ConversationByID(ctx, id)
				if err != nil {
					return err
				}
				fork.Turns = conv.Turns
			}
			conv, err := d.Fork(ctx, id, fork)
			return c.report(conv, err, f.json, "made")
		})
	cmd.Flags().IntVar(&fork.Turns, "turns", -1, "how many of the first turns it has (default: all)")
	cmd.Flags().StringVar(&fork.Sender, "sender", "", "the sender of the new conversation (default: a new one)")
	return cmd
}

func (c *command) rewind() *cobra.Command {
	var f daemonFlags
	turns := -1
	cmd := c.onConversation("rewind ID", "Remove everything after the first turns; effects of tools are not undone", &f,
		func(ctx context.Context, d *client.Client, id string) error {
			if turns < 0 {
				return errors.New("say with --turns how many of the first turns stay; 0 removes all")
			}
			conv, err := d.Rewind(ctx, id, wire.Rewind{Turns: turns})
			return c.report(conv, err, f.json, "rewound")
		})
	cmd.Flags().IntVar(&turns, "turns", turns, "how many of the first turns stay")
	return cmd
}

func (c *command) compact() *cobra.Command {
	var f daemonFlags
	var o wire.NewCompaction
	cmd := c.onConversation("compact ID", "Let the model replace older turns by a summary", &f,
		func(ctx context.Context, d *client.Client, id string) error {
			out, err := d.Compact(ctx, id, o)
			switch {
			case err != nil:
				return err
			case f.json:
				return c.JSON(out)
			}
			return c.Say(fmt.Sprintf("a summary of %d bytes replaces %d messages, and %d follow it", len(out.Summary), out.Archived, out.Kept))
		})
	cmd.Flags().IntVar(&o.Keep, "keep", 0, "how many of the last turns stay as they are (default 2)")
	cmd.Flags().StringVar(&o.Focus, "focus", "", "what the summary must preserve")
	return cmd
}

// report prints the new state of a conversation.
func (c *command) report(conv wire.Conversation, err error, asJSON bool, what string) error {
	switch {
	case err != nil:
		return err
	case asJSON:
		return c.JSON(conv)
	}
	turns := fmt.Sprintf("%d turns", conv.Turns)
	if conv.Turns == 1 {
		turns = "1 turn"
	}
	return c.Say(fmt.Sprintf("%s: conversation %s of %s with %s, %s", what, conv.ID, conv.Agent, conv.Sender, turns))
}

func (c *command) export() *cobra.Command {
	var f daemonFlags
	cmd := &cobra.Command{
		Use: "export ID", Short: "Write a conversation to standard output, as lines of JSON that import reads", Args: oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.overDaemon(cmd.Context(), f.at, func(d *client.Client) error { return d.Export(cmd.Context(), args[0], screen.JSONWriter(c.Written)) })
		},
	}
	daemonFlag(cmd, &f.at)
	return cmd
}

func (c *command) restore() *cobra.Command {
	var f daemonFlags
	var agent, sender string
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Make a conversation from an exported one; - is standard input",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s takes one file, but got %d", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			from, err := c.openFile(args[0])
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, from.Close()) }()
			return c.overDaemon(cmd.Context(), f.at, func(d *client.Client) error {
				conv, err := d.Import(cmd.Context(), from, agent, sender)
				return c.report(conv, err, f.json, "made")
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&agent, "agent", "", "the agent of the conversation (default: that of the file)")
	cmd.Flags().StringVar(&sender, "sender", "", "the sender of the conversation (default: that of the file)")
	return cmd
}

// openFile opens a file for reading; - is standard input, which stays open.
func (c *command) openFile(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(c.In), nil
	}
	f, err := conffile.Open(name)
	if err != nil {
		return nil, fmt.Errorf("there is nothing to import: %w (- reads standard input)", err)
	}
	return f, nil
}
