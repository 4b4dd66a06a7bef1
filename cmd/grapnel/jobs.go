package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/internal/target"
	"github.com/grapnel-go/grapnel/runtime/store"
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
				return c.listJobs(found, f.json)
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
				switch {
				case err != nil:
					return err
				case f.json:
					return c.JSON(j)
				}
				return c.Whole(jobFacts(j))
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
func (c *command) inJobs(ctx context.Context, at target.Daemon, do func(all jobs) error) (err error) {
	d, err := c.client(at, "")
	if err != nil {
		return err
	}
	health, away := d.Health(ctx)
	if at != (target.Daemon{}) || away != nil && !errors.Is(away, client.ErrNotRunning) {
		return do(d)
	}
	paths, err := c.paths(place{})
	if err != nil {
		return err
	}
	if away == nil && daemon.Mismatch(health, paths) == "" {
		return do(d)
	}
	if _, err := os.Stat(paths.Conversations); errors.Is(err, fs.ErrNotExist) {
		return do(storedJobs{})
	}
	s, err := app.OpenConversations(ctx, paths, c.Note)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return do(storedJobs{s, paths.Project()})
}

// storedJobs are the jobs of a project in a store; without a store there are none.
type storedJobs struct {
	store   store.Jobs
	project string
}

// Jobs implements jobs.
func (s storedJobs) Jobs(ctx context.Context, f wire.JobFilter) (out []wire.Job, err error) {
	if s.store == nil {
		return nil, nil
	}
	only := store.JobFilter{Project: s.project, Kind: f.Kind, Conversation: f.Conversation, Before: f.Before, Limit: f.Limit}
	if f.Status != "" {
		only.Statuses = []store.JobStatus{store.JobStatus(f.Status)}
	}
	all, err := s.store.Jobs(ctx, only)
	for _, j := range all {
		one := api.JobOf(j)
		one.Payload = ""
		out = append(out, one)
	}
	return out, err
}

// Job implements jobs.
func (s storedJobs) Job(ctx context.Context, id int64) (wire.Job, error) {
	if s.store == nil {
		return wire.Job{}, unknownJob(id)
	}
	all, err := s.store.Jobs(ctx, store.JobFilter{Project: s.project, ID: id})
	switch {
	case err != nil:
		return wire.Job{}, err
	case len(all) == 0:
		return wire.Job{}, unknownJob(id)
	}
	return api.JobOf(all[0]), nil
}

// ChangeJob implements jobs.
func (s storedJobs) ChangeJob(ctx context.Context, id int64, change wire.JobChange) (wire.Job, error) {
	if s.store == nil {
		return wire.Job{}, unknownJob(id)
	}
	j, err := s.store.ChangeJob(ctx, s.project, id, store.JobChange(change.Change))
	if errors.Is(err, store.ErrUnknown) {
		err = unknownJob(id)
	}
	return api.JobOf(j), err
}

func unknownJob(id int64) error {
	return fmt.Errorf("there is no job %d in this project; `grapnel jobs` lists them", id)
}

func (c *command) listJobs(all []wire.Job, asJSON bool) error {
	if asJSON {
		return c.JSON(wire.Jobs{Jobs: append([]wire.Job{}, all...)})
	}
	if len(all) == 0 {
		c.Note("no job is here that fits")
		return nil
	}
	table := [][]string{{"ID", "QUEUED", "KIND", "STATUS", "TRIES", "WHY", "CONVERSATION"}}
	for _, j := range all {
		table = append(table, []string{
			strconv.FormatInt(j.ID, 10), j.Created.Local().Format(time.DateTime), j.Kind, j.Status, strconv.Itoa(j.Attempts), cmp.Or(j.Failure, "-"), cmp.Or(j.Conversation, "-"),
		})
	}
	return c.Tables(table)
}

// jobFacts is the table of one job.
func jobFacts(j wire.Job) [][]string {
	rows := [][]string{{"JOB", strconv.FormatInt(j.ID, 10)}, {"status", j.Status}, {"kind", j.Kind}, {"key", j.Key}, {"attempts", strconv.Itoa(j.Attempts)}}
	due := ""
	if j.Status == string(store.JobQueued) || j.Status == string(store.JobRunning) {
		due = j.Due.Local().Format(time.DateTime)
	}
	for _, f := range [][2]string{
		{"why", j.Failure}, {"due", due}, {"conversation", j.Conversation}, {"turn", j.Turn}, {"process", j.Owner},
		{"queued", j.Created.Local().Format(time.DateTime)}, {"changed", j.Updated.Local().Format(time.DateTime)}, {"payload", string(j.Payload)},
	} {
		if f[1] != "" {
			rows = append(rows, []string{f[0], f[1]})
		}
	}
	return rows
}
