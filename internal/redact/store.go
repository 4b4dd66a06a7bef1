package redact

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Full is a store with everything that stores can do, but [store.Histories], which would show the
// messages of the store in memory as they are.
type Full interface {
	store.Store
	store.Compacter
	store.Forker
	store.Adopter
	store.Eraser
	store.Child
	store.Log
	store.States
	store.Porter
	store.Searcher
	store.Titles
	store.Jobs
	store.Runs
	store.Spending
}

// Store masks what goes into a store, and also what comes out of it, because the store may have
// older data. It is as safe for concurrent use as the store.
type Store struct {
	Full // what neither has nor returns texts of a conversation
	r    *Redactor
}

// Store returns s with everything masked that is written to it or read from it. The caller closes
// s itself.
func (r *Redactor) Store(s Full) *Store { return &Store{s, r} }

// ErrMasked: a job is not queued, because a secret would have to be masked in its payload, and no
// job runs from what is masked.
var ErrMasked = errors.New("redact: the job has a secret, which the store must not keep: queue the name of what it is about")

// Append implements store.Writer.
func (s *Store) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	if err := s.CheckJobs(a.Jobs); err != nil {
		return 0, err
	}
	a.Messages = message.MessagesOf(s.r.messages(a.Messages.Slice())...)
	a.Entries, a.Events, a.States = s.entries(a.Entries), s.events(a.Events), s.values(a.States)
	return s.Full.Append(ctx, id, a)
}

// Note implements store.Writer.
func (s *Store) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	if err := s.CheckJobs(n.Jobs); err != nil {
		return 0, err
	}
	n.Entries, n.Events, n.States = s.entries(n.Entries), s.events(n.Events), s.values(n.States)
	return s.Full.Note(ctx, id, n)
}

// Compact implements store.Compacter.
func (s *Store) Compact(ctx context.Context, id string, at store.At, n int, summary message.Message) (int64, error) {
	at.Events = s.events(at.Events)
	return s.Full.Compact(ctx, id, at, n, s.r.message(summary))
}

// Rewind implements store.Forker.
func (s *Store) Rewind(ctx context.Context, id string, at store.At, turns int) (int64, error) {
	at.Events = s.events(at.Events)
	return s.Full.Rewind(ctx, id, at, turns)
}

// Restore implements store.Porter.
func (s *Store) Restore(ctx context.Context, d store.Dump) (store.Record, error) {
	return s.Full.Restore(ctx, s.dump(d))
}

// CheckJobs returns ErrMasked if something of one of the jobs would be masked. A write with such a job
// fails whole, so who gathers jobs for a write asks first.
func (s *Store) CheckJobs(jobs []store.Job) error {
	for _, j := range jobs {
		if s.r.JSON(j.Payload) != j.Payload || s.r.Text(j.Key) != j.Key {
			return ErrMasked
		}
	}
	return nil
}

// Enqueue implements store.Jobs. The error is ErrMasked if something of the job would be masked.
func (s *Store) Enqueue(ctx context.Context, j store.Job) (bool, error) {
	if err := s.CheckJobs([]store.Job{j}); err != nil {
		return false, err
	}
	return s.Full.Enqueue(ctx, j)
}

// Jobs implements store.Jobs. Its payloads are for people; TakeJob returns the payload that runs.
func (s *Store) Jobs(ctx context.Context, f store.JobFilter) ([]store.Job, error) {
	all, err := s.Full.Jobs(ctx, f)
	for i := range all {
		all[i] = s.job(all[i])
	}
	return all, err
}

// ChangeJob implements store.Jobs.
func (s *Store) ChangeJob(ctx context.Context, project string, id int64, change store.JobChange) (store.Job, error) {
	j, err := s.Full.ChangeJob(ctx, project, id, change)
	return s.job(j), err
}

func (s *Store) job(j store.Job) store.Job {
	j.Payload, j.Key, j.Failure = s.r.JSON(j.Payload), s.r.Text(j.Key), s.r.Text(j.Failure)
	return j
}

// EndJob implements store.Jobs.
func (s *Store) EndJob(ctx context.Context, id, epoch int64, e store.JobEnd) error {
	e.Failure = s.r.Text(e.Failure)
	return s.Full.EndJob(ctx, id, epoch, e)
}

// WriteRuns implements store.Runs.
func (s *Store) WriteRuns(ctx context.Context, runs []store.Run) error {
	return s.Full.WriteRuns(ctx, s.runs(runs))
}

// Titles implements store.Titles.
func (s *Store) Titles(ctx context.Context, ids []string) (map[string]string, error) {
	titles, err := s.Full.Titles(ctx, ids)
	for id, title := range titles {
		titles[id] = s.r.Text(title)
	}
	return titles, err
}

// Find implements store.Reader.
func (s *Store) Find(ctx context.Context, id string) (store.Record, error) {
	rec, err := s.Full.Find(ctx, id)
	rec.Title = s.r.Text(rec.Title)
	return rec, err
}

// Messages implements store.Reader.
func (s *Store) Messages(ctx context.Context, id string) ([]message.Message, error) {
	ms, err := s.Full.Messages(ctx, id)
	return s.r.messages(ms), err
}

// Archive implements store.Compacter.
func (s *Store) Archive(ctx context.Context, id string) ([]message.Message, error) {
	ms, err := s.Full.Archive(ctx, id)
	return s.r.messages(ms), err
}

// Journal implements store.Reader.
func (s *Store) Journal(ctx context.Context, id string) ([]store.Entry, error) {
	all, err := s.Full.Journal(ctx, id)
	return s.entries(all), err
}

// Events implements store.Log.
func (s *Store) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	all, err := s.Full.Events(ctx, id, after, limit)
	return s.events(all), err
}

// States implements store.States.
func (s *Store) States(ctx context.Context, id string) ([]hook.StateValue, error) {
	all, err := s.Full.States(ctx, id)
	return s.values(all), err
}

// Dump implements store.Porter.
func (s *Store) Dump(ctx context.Context, id string) (store.Dump, error) {
	d, err := s.Full.Dump(ctx, id)
	return s.dump(d), err
}

// Search implements store.Searcher.
func (s *Store) Search(ctx context.Context, q store.Query) ([]store.Match, error) {
	all, err := s.Full.Search(ctx, q)
	for i := range all {
		m := &all[i]
		m.Record.Title, m.Snippet = s.r.Text(m.Record.Title), s.r.Text(m.Snippet)
		for j := range m.Around {
			m.Around[j].Text = s.r.Text(m.Around[j].Text)
		}
	}
	return all, err
}

// Runs implements store.Runs.
func (s *Store) Runs(ctx context.Context, f store.RunFilter) ([]store.Run, error) {
	all, err := s.Full.Runs(ctx, f)
	return s.runs(all), err
}

func (s *Store) entries(all []store.Entry) []store.Entry {
	out := slices.Clone(all)
	for i := range out {
		out[i].Message = s.r.message(out[i].Message)
		out[i].Data = s.data(out[i])
	}
	return out
}

// data masks what the runtime has written of an entry. The name of a credential stays: what the
// turn costs is counted for it.
func (s *Store) data(e store.Entry) message.JSON {
	var members map[string]json.RawMessage
	masked := s.r.JSON(e.Data)
	if e.Kind != store.EntryTurn || masked == e.Data || json.Unmarshal([]byte(e.Data), &members) != nil || members["token"] == nil {
		return masked
	}
	token := members["token"]
	if json.Unmarshal([]byte(masked), &members) != nil {
		return masked
	}
	members["token"] = token
	text, err := json.Marshal(members)
	if err != nil {
		return masked
	}
	return message.JSON(text)
}

func (s *Store) events(all []store.Event) []store.Event {
	out := slices.Clone(all)
	for i := range out {
		out[i].Data = s.r.JSON(out[i].Data)
	}
	return out
}

func (s *Store) values(all []hook.StateValue) []hook.StateValue {
	out := slices.Clone(all)
	for i := range out {
		out[i].Data = s.r.JSON(out[i].Data)
	}
	return out
}

func (s *Store) runs(all []store.Run) []store.Run {
	out := slices.Clone(all)
	for i := range out {
		out[i].Error = s.r.Text(out[i].Error)
		out[i].Attempts = slices.Clone(out[i].Attempts)
		for j := range out[i].Attempts {
			out[i].Attempts[j].Error = s.r.Text(out[i].Attempts[j].Error)
		}
	}
	return out
}

func (s *Store) dump(d store.Dump) store.Dump {
	masked := func(all []store.Kept) []store.Kept {
		out := slices.Clone(all)
		for i := range out {
			out[i].Message = s.r.message(out[i].Message)
		}
		return out
	}
	d.Archive, d.Messages = masked(d.Archive), masked(d.Messages)
	return d
}
