package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// InStore calls do with the jobs of the project, where no daemon runs. It opens the store and nothing that would
// run a job: it may be about to be cancelled. note gets a sentence about each damage.
func InStore(ctx context.Context, p app.Paths, note func(string), do func(all StoredJobs) error) (err error) {
	if _, err := os.Stat(p.Conversations); p.Database == "" && errors.Is(err, fs.ErrNotExist) {
		return do(StoredJobs{})
	}
	s, err := app.OpenConversations(ctx, p, note)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return do(StoredJobs{s, p.Project()})
}

// StoredJobs are the jobs of a project in a store, as a client of the daemon has them. Without a store
// there are none.
type StoredJobs struct {
	store   store.Jobs
	project string
}

// Jobs is that of a client.
func (s StoredJobs) Jobs(ctx context.Context, f wire.JobFilter) (out []wire.Job, err error) {
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

// Job is that of a client.
func (s StoredJobs) Job(ctx context.Context, id int64) (wire.Job, error) {
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

// ChangeJob is that of a client.
func (s StoredJobs) ChangeJob(ctx context.Context, id int64, change wire.JobChange) (wire.Job, error) {
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
