package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/snapshot"
	"github.com/grapnel-go/grapnel/internal/undo"
)

// undoFlags are the flags of undo.
type undoFlags struct {
	daemonFlags
	wire.NewUndo
	yes bool
}

func (c *command) undo() *cobra.Command {
	var f undoFlags
	cmd := &cobra.Command{
		Use: "undo [ID]", Short: "Put back the files that the last turn changed; the messages stay",
		Long: "Puts back the files that the last turns with commands changed, as far as nobody else changed them later. It shows\n" +
			"what it would do, and asks at a terminal; without one it changes something only with --yes. Without an ID it is about\n" +
			"the conversation that changed last.",
		Example: "  grapnel conversations undo --dry-run\n  grapnel conversations undo --turns 2 01JX…\n  grapnel conversations undo --redo --yes",
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("turns") && (f.Turns < 1 || f.Redo) {
				return errors.New("--turns is how many of the last turns to undo, 1 or more, and not for --redo")
			}
			return c.overDaemon(cmd.Context(), f.at, func(d *client.Client) error {
				id, err := c.lastChanged(cmd.Context(), d, args)
				if err != nil {
					return err
				}
				return c.undoIn(cmd.Context(), d, id, f)
			})
		},
	}
	f.add(cmd)
	cmd.Flags().IntVar(&f.Turns, "turns", 0, "how many of the last turns with commands are undone (default 1)")
	cmd.Flags().BoolVar(&f.Redo, "redo", false, "take back the last undo instead")
	cmd.Flags().BoolVar(&f.DryRun, "dry-run", false, "show what would be done, and change nothing")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do it without asking")
	return cmd
}

// lastChanged returns the conversation that is named, or the one of the project that changed last.
func (c *command) lastChanged(ctx context.Context, d *client.Client, args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	all, err := d.Conversations(ctx)
	switch {
	case err != nil:
		return "", err
	case len(all) == 0:
		return "", errors.New("there are no conversations in this project yet, so nothing can be undone")
	}
	return all[0].ID, nil
}

// undoIn shows what an undo would do, asks, and does it.
func (c *command) undoIn(ctx context.Context, d *client.Client, id string, f undoFlags) error {
	dry := f.NewUndo
	dry.DryRun = true
	if !f.yes || f.DryRun {
		out, err := d.Undo(ctx, id, dry)
		if err != nil || f.DryRun {
			return c.reportUndo(out, err, dry, f.json)
		}
		if len(out.Turns) == 0 || len(out.Restored)+len(out.Removed) == 0 {
			return c.reportUndo(out, nil, dry, f.json)
		}
		a := c.Approver(nil)
		if !a.Attended() {
			return errors.New("nobody is here to answer; --dry-run shows what would be done, and --yes does it")
		}
		if ok, err := a.Confirm(ctx, "conversation "+id+"\n"+outcomeOf(out).Text(undo.Request{Dry: true}, shownPaths), "Do it?"); err != nil {
			return err
		} else if !ok {
			return c.Say("nothing was changed")
		}
		f.Latest = out.Turns[0].ID // what was shown, also if another turn has run meanwhile
	}
	out, err := d.Undo(ctx, id, f.NewUndo)
	return c.reportUndo(out, err, f.NewUndo, f.json)
}

// shownPaths is how many paths of a kind people are shown; --json has all.
const shownPaths = 100

func (c *command) reportUndo(out wire.Undone, err error, in wire.NewUndo, asJSON bool) error {
	switch {
	case err != nil:
		return err
	case asJSON:
		return c.JSON(out)
	}
	for _, t := range out.Turns {
		if err := c.Say(fmt.Sprintf("turn %d", t.Number)); err != nil {
			return err
		}
	}
	return c.Print(screen.Format("%s\n", screen.Lines(outcomeOf(out).Text(undo.Request{Redo: in.Redo, Dry: in.DryRun}, shownPaths))))
}

func outcomeOf(u wire.Undone) undo.Outcome {
	out := undo.Outcome{Unended: u.Unended, Result: snapshot.Result{Restored: u.Restored, Removed: u.Removed}}
	for _, c := range u.Conflicts {
		out.Conflicts = append(out.Conflicts, snapshot.Conflict(c))
	}
	for _, l := range u.Lost {
		out.Lost = append(out.Lost, snapshot.LeftOut{Path: l.Path, Why: l.Why})
	}
	return out
}
