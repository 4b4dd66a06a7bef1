package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/internal/inspect"
	"github.com/grapnel-go/grapnel/internal/target"
)

// jobs returns the command that lists jobs, with those that show and change one.
func (c *command) jobs() *cobra.Command {
	var f daemonFlags
	var only wire.JobFilter
	cmd := &cobra.Command{
		Use: "jobs", Short: "List queued jobs, and cancel, retry or drop them", Args: knownCommand,
		Long: "Lists the jobs of the project in the working directory, the one that was queued last first: background hooks and what\n" +
			"else turns have queued. One that has failed is not tried again until somebody retries it.",
		Example: "  grapnel jobs --status failed\n  grapnel jobs show 7\n  grapnel jobs retry 7",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if only.Limit < 1 || only.Limit > 1000 {
				return fmt.Errorf("--limit %d is no number from 1 to 1000", only.Limit)
			}
			if known := []string{"queued", "running", "succeeded", "failed", "cancelled"}; only.Status != "" && !slices.Contains(known, only.Status) {
				return fmt.Errorf("--status %q is not known; write one of %s", only.Status, strings.Join(known, ", "))
			}
			return c.inJobs(cmd.Context(), f.at, func(all jobs) error {
				found, err := all.Jobs(cmd.Context(), only)
				if err != nil {
					return err
				}
				return inspect.Jobs(&c.Console, found, f.json)
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&only.Status, "status", "", "only those with this status: queued, running, succeeded, failed, cancelled")
	cmd.Flags().StringVar(&only.Kind, "kind", "", "only those of this kind")
	cmd.Flags().StringVar(&only.Conversation, "conversation", "", "only those that this conversation has queued")
	cmd.Flags().Int64Var(&only.Before, "before", 0, "only those with a lower ID, to go on with a list")
	cmd.Flags().IntVar(&only.Limit, "limit", 20, "how many to list at most")
	cmd.AddCommand(
		c.onJob("show", "Show a job, and why its last attempt failed", func(ctx context.Context, all jobs, id int64) (wire.Job, error) { return all.Job(ctx, id) }),
		c.changeJob("cancel", "Cancel a job that waits or runs"),
		c.changeJob("retry", "Queue a job again that has failed or was cancelled"),
		c.changeJob("drop", "Forget a job that has failed or was cancelled"),
	)
	return cmd
}

func (c *command) changeJob(change, short string) *cobra.Command {
	return c.onJob(change, short, func(ctx context.Context, all jobs, id int64) (wire.Job, error) {
		return all.ChangeJob(ctx, id, wire.JobChange{Change: change})
	})
}

// onJob returns a command for one job, which it shows at the end.
func (c *command) onJob(verb, short string, do func(ctx context.Context, all jobs, id int64) (wire.Job, error)) *cobra.Command {
	var f daemonFlags
	cmd := &cobra.Command{
		Use: verb + " ID", Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s takes the ID of one job, but got %d; `grapnel jobs` lists them", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || id < 1 {
				return fmt.Errorf("%.20q is no ID of a job, which is a number; `grapnel jobs` lists them", args[0])
			}
			return c.inJobs(cmd.Context(), f.at, func(all jobs) error {
				j, err := do(cmd.Context(), all, id)
				if err != nil {
					return err
				}
				return inspect.Job(&c.Console, j, f.json)
			})
		},
	}
	f.add(cmd)
	return cmd
}

// jobs are those of a daemon, or of the store.
type jobs interface {
	Jobs(ctx context.Context, f wire.JobFilter) ([]wire.Job, error)
	Job(ctx context.Context, id int64) (wire.Job, error)
	ChangeJob(ctx context.Context, id int64, change wire.JobChange) (wire.Job, error)
}

// inJobs calls do with the jobs of the daemon. If none runs for this project and the flags name none, they are
// those of the store: nothing is opened that would run jobs, as one may be about to be cancelled.
func (c *command) inJobs(ctx context.Context, at target.Daemon, do func(all jobs) error) error {
	d, paths, err := c.daemonOrPaths(ctx, at)
	if err != nil {
		return err
	}
	if d != nil {
		return do(d)
	}
	return daemon.InStore(ctx, paths, c.Note, func(all daemon.StoredJobs) error { return do(all) })
}
