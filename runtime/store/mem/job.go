package mem

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/runtime/store"
)

var _ store.Jobs = (*Store)(nil)

type jobKey struct{ project, kind, key string }

// Enqueue implements store.Jobs.
func (s *Store) Enqueue(_ context.Context, j store.Job) (bool, error) {
	if err := store.CheckJob(j.Job); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, store.ErrClosed
	}
	return s.queueLocked(j), nil
}

func (s *Store) enqueueLocked(jobs []store.Job) {
	for _, j := range jobs {
		s.queueLocked(j)
	}
}

func (s *Store) queueLocked(j store.Job) (queued bool) {
	if s.erasedLocked(j.Conversation) {
		return false
	}
	now := s.now()
	made := store.Job{
		Job: j.Job, ID: int64(len(s.jobs)) + 1, Project: j.Project, Conversation: j.Conversation, Turn: j.Turn,
		Contract: max(1, j.Contract), Status: store.JobQueued, Due: now, Created: now, Updated: now,
	}
	made.Version = max(1, j.Version)
	if j.Due.After(now) {
		made.Due = j.Due
	}
	if i, known := s.jobAt[jobKey{j.Project, j.Kind, j.Key}]; known {
		old := s.jobs[i]
		if old.Status != store.JobFailed {
			return false
		}
		made.ID, made.Created, made.Epoch, made.Owner = old.ID, old.Created, old.Epoch, old.Owner
		s.jobs[i] = made
		return true
	}
	if s.jobAt == nil {
		s.jobAt = map[jobKey]int{}
	}
	s.jobAt[jobKey{j.Project, j.Kind, j.Key}] = len(s.jobs)
	s.jobs = append(s.jobs, made)
	return true
}

// TakeJob implements store.Jobs.
func (s *Store) TakeJob(_ context.Context, t store.JobTake) (store.Job, error) {
	if err := t.Check(); err != nil {
		return store.Job{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.Job{}, store.ErrClosed
	}
	s.buryLocked()
	now, best := s.now(), -1
	var next time.Time
	for i, j := range s.jobs {
		if t.ID != 0 && j.ID != t.ID || j.Project != t.Project || j.Status != store.JobQueued && j.Status != store.JobRunning || !slices.Contains(t.Kinds, j.Kind) || slices.Contains(t.Except, j.ID) {
			continue
		}
		if next.IsZero() || j.Due.Before(next) {
			next = j.Due
		}
		left := j.Status == store.JobRunning && slices.Contains(t.Gone, j.Owner)
		if (left || !j.Due.After(now)) && (best < 0 || j.Due.Before(s.jobs[best].Due)) {
			best = i
		}
	}
	if best < 0 {
		return store.Job{Due: next}, store.ErrNoJob
	}
	j := &s.jobs[best]
	j.Status, j.Owner, j.Due, j.Updated = store.JobRunning, t.Owner, now.Add(t.Hold), now
	j.Attempts++
	j.Epoch++
	return *j, nil
}

// HoldJob implements store.Jobs.
func (s *Store) HoldJob(_ context.Context, id, epoch int64, hold time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.runningLocked(id, epoch)
	if err == nil {
		j.Due = s.now().Add(hold)
	}
	return err
}

func (s *Store) runningLocked(id, epoch int64) (*store.Job, error) {
	switch {
	case s.closed:
		return nil, store.ErrClosed
	case id < 1 || id > int64(len(s.jobs)) || s.jobs[id-1].Status == "":
		return nil, fmt.Errorf("%w: job %d", store.ErrUnknown, id)
	}
	j := &s.jobs[id-1]
	if j.Epoch != epoch || j.Status != store.JobRunning {
		return nil, fmt.Errorf("%w: job %d", store.ErrFenced, id)
	}
	return j, nil
}

// EndJob implements store.Jobs.
func (s *Store) EndJob(_ context.Context, id, epoch int64, e store.JobEnd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := s.runningLocked(id, epoch)
	if err != nil {
		return err
	}
	j.Status, j.Due, j.Failure, j.Updated = e.Status, e.Due, e.Failure, s.now()
	if e.Uncounted {
		j.Attempts--
	}
	if e.Status == store.JobSucceeded {
		j.Payload = ""
	}
	return nil
}

// ChangeJob implements store.Jobs.
func (s *Store) ChangeJob(_ context.Context, project string, id int64, change store.JobChange) (store.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.Job{}, store.ErrClosed
	}
	if id < 1 || id > int64(len(s.jobs)) || s.jobs[id-1].Status == "" || s.jobs[id-1].Project != project {
		return store.Job{}, fmt.Errorf("%w: job %d", store.ErrUnknown, id)
	}
	j := &s.jobs[id-1]
	if !slices.Contains(change.From(), j.Status) {
		return *j, &store.JobStateError{ID: id, Status: j.Status, Change: change}
	}
	switch now := s.now(); change {
	case store.JobCancel:
		j.Status, j.Failure, j.Due, j.Updated = store.JobCancelled, string(store.JobCancelled), now, now
		j.Epoch++
	case store.JobRetry:
		j.Status, j.Failure, j.Attempts, j.Due, j.Updated = store.JobQueued, "", 0, now, now
	case store.JobDrop:
		was := *j
		delete(s.jobAt, jobKey{j.Project, j.Kind, j.Key})
		*j = store.Job{}
		return was, nil
	}
	return *j, nil
}

// Jobs implements store.Jobs.
func (s *Store) Jobs(_ context.Context, f store.JobFilter) ([]store.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, store.ErrClosed
	}
	var out []store.Job
	for _, j := range slices.Backward(s.jobs) {
		if j.Status != "" && f.Match(j) {
			out = append(out, j)
		}
		if len(out) == f.Most() {
			break
		}
	}
	return out, nil
}

// CountJobs implements store.Jobs.
func (s *Store) CountJobs(_ context.Context, f store.JobFilter) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, store.ErrClosed
	}
	for _, j := range s.jobs {
		if j.Status != "" && f.Match(j) {
			n++
		}
	}
	return n, nil
}
