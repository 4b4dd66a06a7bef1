package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/inspect"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

func (c *command) approvals() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "Show the remembered answers to approvals, and forget them",
		Args:  knownCommand,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("say what to do: `grapnel approvals list` or `grapnel approvals forget ID`")
		},
	}
	cmd.AddCommand(c.listApprovals(), c.forgetApprovals())
	return cmd
}

func (c *command) listApprovals() *cobra.Command {
	var asJSON, everywhere bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what was allowed or refused for good in this project",
		Long: "Lists what was allowed or refused for good in the project of the working directory, or with --all in all projects,\n" +
			"the oldest first, and files that cannot be read. Each answer holds until you forget it.\n" +
			"Answers for one conversation only are listed by /approvals in that conversation.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.inAnswers(cmd.Context(), func(all []approval.Remembered, _ approval.Store, paths app.Paths) error {
				if !everywhere {
					all = slices.DeleteFunc(all, func(r approval.Remembered) bool { return r.Problem == "" && r.Project != paths.Project() })
				}
				if asJSON {
					return c.JSON(all)
				}
				if len(all) == 0 && !everywhere {
					c.Note("nothing is remembered in this project; --all lists those of other projects")
				}
				return c.Print(inspect.RememberedTable(all, paths.Short))
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON, for programs")
	cmd.Flags().BoolVar(&everywhere, "all", false, "list the answers of all projects")
	return cmd
}

// inAnswers calls do with all answers that outlive a conversation, which is never nil, and their store.
func (c *command) inAnswers(ctx context.Context, do func(all []approval.Remembered, in approval.Store, paths app.Paths) error) error {
	return c.inStores(ctx, place{}, func(s *app.Stores, paths app.Paths) error {
		all, err := approval.List(s.Answers())
		if err != nil {
			return err
		}
		if all == nil {
			all = []approval.Remembered{}
		}
		return do(all, s.Answers(), paths)
	})
}

func (c *command) forgetApprovals() *cobra.Command {
	var everything, asJSON bool
	cmd := &cobra.Command{
		Use:   "forget ID…",
		Short: "Forget what was allowed or refused for good, so that calls need approval again",
		Long: "Forgets what was allowed or refused for good. Calls that an answer covered need approval again, also in a running\n" +
			"daemon. Calls that run already continue.",
		Example: "  grapnel approvals forget 46cfb54b\n  grapnel approvals forget --all",
		RunE: func(cmd *cobra.Command, ids []string) error {
			switch {
			case len(ids) == 0 && !everything:
				return errors.New("say what to forget: an ID of `grapnel approvals list --all`, or --all")
			case len(ids) > 0 && everything:
				return errors.New("--all forgets everything; leave out the IDs or --all")
			}
			var all []approval.Remembered
			err := c.inAnswers(cmd.Context(), func(known []approval.Remembered, in approval.Store, _ app.Paths) (err error) {
				if all = known; !everything {
					if all, err = chosen(known, ids); err != nil {
						return err
					}
				}
				for _, r := range all {
					if err := approval.Forget(in, r.ID); err != nil {
						return &failed{exitFailed, err}
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			if asJSON {
				return c.JSON(all)
			}
			var lines []screen.Text
			for _, r := range all {
				lines = append(lines, screen.Format("forgotten: %s\n", cmp.Or(r.Text, r.ID)))
			}
			return c.Print(screen.Join(lines...))
		},
	}
	cmd.Flags().BoolVar(&everything, "all", false, "forget everything, in all projects")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write what was forgotten as JSON, for programs")
	return cmd
}

// chosen returns the answers whose ids begin with the given ones, exactly one for each.
func chosen(all []approval.Remembered, ids []string) ([]approval.Remembered, error) {
	var out []approval.Remembered
	taken := map[string]bool{}
	for _, id := range ids {
		var found []approval.Remembered
		for _, r := range all {
			if r.ID == id {
				found = []approval.Remembered{r}
				break
			}
			if id != "" && strings.HasPrefix(r.ID, id) {
				found = append(found, r)
			}
		}
		switch {
		case len(found) == 0:
			return nil, fmt.Errorf("no remembered answer has the ID %q, and nothing was forgotten; `grapnel approvals list --all` lists them", id)
		case len(found) > 1:
			return nil, fmt.Errorf("%d remembered answers begin with %q, and nothing was forgotten; write more of the ID", len(found), id)
		case !taken[found[0].ID]:
			taken[found[0].ID] = true
			out = append(out, found[0])
		}
	}
	return out, nil
}
