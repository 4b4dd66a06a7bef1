// Package retention deletes conversations, what one sender has, and projects, from every place
// that has something of them, and keeps projects within limits of age and size.
//
// A deletion is written down first and goes through all places then. If the process ends in
// between, [Keeper.Resume] goes on with it: each step may run twice. The conversations go first,
// so that nothing new comes of them. It knows the stores of conversations; the other places are
// the caller's.
//
// # Locks
//
// Keeper.busy is held for one deletion. Under it no other lock of this package is taken.
package retention

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// Kind is what a deletion is about.
type Kind string

// The kinds of subject.
const (
	Conversation Kind = "conversation" // Name is its id; its children go with it
	Sender       Kind = "sender"       // all conversations with that sender, in all projects
	Project      Kind = "project"      // all that is kept of the project; Name is its directory, or "" for what is older than projects
	expired      Kind = "expired"      // those that the limits name
)

// Subject is what is deleted.
type Subject struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
}

// Scope is a subject with its conversations.
type Scope struct {
	Subject
	// Conversations are the ids, those of children too.
	Conversations []string
	// Projects are those of the conversations.
	Projects []string
}

// Part is what one place has deleted, or would delete.
type Part struct {
	Place string
	// Deleted counts what What names; Bytes is its size, 0 if nobody has counted.
	Deleted int64
	What    string
	Bytes   int64
	// Kept says what stays there and why; "" is nothing.
	Kept string
}

// Place is a place beside the store of conversations.
type Place struct {
	Name string
	// Erase deletes what the place has of the scope, or with dry only counts. It may be called
	// again for the same scope, also after it has failed in the middle.
	Erase func(ctx context.Context, s Scope, dry bool) (Part, error)
}

// Report is the outcome of a deletion.
type Report struct {
	Subject
	DryRun bool
	// Conversations are the ids, those of children too.
	Conversations []string
	Parts         []Part
	// Freed is by how many bytes the files of the conversations became smaller.
	Freed int64
}

// Store is the store of conversations.
type Store interface {
	store.Reader
	store.Child
	store.Eraser
}

// Options of a Keeper.
type Options struct {
	Store Store
	// Delete deletes one conversation, and DeleteRest what a project has beside its conversations;
	// [runtime.Runtime] has both. busy is the error of a conversation that is in use.
	Delete     func(ctx context.Context, id string) (store.Erased, error)
	DeleteRest func(ctx context.Context, project string) (store.Erased, error)
	Busy       error
	// Journal has the deletions that have begun, Places are in the order in which they are asked.
	Journal Journal
	Places  []Place
	// Forget forgets what this machine has of conversations that a daemon of another one has deleted.
	// Resume calls it; nil does nothing.
	Forget func(ctx context.Context) error
	Limits Limits
	// Note is called with a sentence about what the limits deleted, and about each failure.
	Note func(text string)
}

// Journal keeps the deletions that have begun, as JSON by their subjects. [lockedfile.File] is one.
type Journal interface {
	Read() (map[string]json.RawMessage, error)
	// Change calls change with all of them and keeps what that has left, or nothing after an error.
	Change(change func(all map[string]json.RawMessage) error) error
}

// Keeper deletes. It is safe for concurrent use; one deletion runs at a time.
type Keeper struct {
	o    Options
	busy chan struct{}
}

// pending is a deletion that has begun.
type pending struct {
	Subject
	Started time.Time `json:"started"`
	// Roots are the conversations, All those of children too.
	Roots []root   `json:"roots"`
	All   []string `json:"all"`
}

type root struct {
	ID      string `json:"id"`
	Project string `json:"project"`
	// Version is that of the record when the limits chose it; 0 is any.
	Version int64 `json:"version,omitzero"`
}

// New returns a Keeper.
func New(o Options) *Keeper {
	if o.Note == nil {
		o.Note = func(string) {}
	}
	return &Keeper{o: o, busy: make(chan struct{}, 1)}
}

// ErrStarted: a part of the deletion is done. The rest is done by the same call again, or by
// Resume.
var ErrStarted = errors.New("the deletion has begun and is not finished; repeat it, or the daemon goes on with it when it starts, and once a day")

// Delete deletes the subject everywhere, or with dry says what it would delete. The error is
// store.ErrUnknown without such a conversation, Options.Busy if a conversation is in use and
// nothing was deleted, and ErrStarted with the reason if a part is deleted; the report then has
// that part. A sender or project without conversations is no error.
func (k *Keeper) Delete(ctx context.Context, s Subject, dry bool) (Report, error) {
	if err := k.lock(ctx); err != nil {
		return Report{}, err
	}
	defer k.unlock()
	p, err := k.find(ctx, s, time.Now())
	if err != nil {
		return Report{}, err
	}
	if dry {
		return k.preview(ctx, p)
	}
	return k.begin(ctx, p)
}

func (k *Keeper) lock(ctx context.Context) error {
	select {
	case k.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *Keeper) unlock() { <-k.busy }

// begin writes the deletion down and executes it.
func (k *Keeper) begin(ctx context.Context, p pending) (Report, error) {
	key := string(p.Kind) + " " + p.Name
	found := p
	err := k.o.Journal.Change(func(all map[string]json.RawMessage) (err error) {
		p = found
		if text, ok := all[key]; ok { // it goes on
			var old pending
			if err := json.Unmarshal(text, &old); err != nil {
				return err
			}
			p.All = union(old.All, p.All)
			p.Roots = append(old.Roots, p.Roots...)
		}
		all[key], err = json.Marshal(p)
		return err
	})
	if err != nil {
		return Report{}, fmt.Errorf("write the deletion down: %w", err)
	}
	return k.execute(ctx, key, p)
}

// Resume goes on with the deletions that were interrupted. It calls Options.Note for each, and then
// Options.Forget.
func (k *Keeper) Resume(ctx context.Context) error {
	if err := k.lock(ctx); err != nil {
		return err
	}
	defer k.unlock()
	all, err := k.o.Journal.Read()
	if err != nil {
		return err
	}
	for key, text := range all {
		var p pending
		var r Report
		err := json.Unmarshal(text, &p)
		if err == nil {
			r, err = k.execute(ctx, key, p)
		}
		if err != nil {
			k.o.Note(fmt.Sprintf("a deletion (%s) that was interrupted is not finished: %v", p.Kind, err))
			continue
		}
		k.o.Note(fmt.Sprintf("a deletion (%s) that was interrupted is finished: %d conversations", p.Kind, len(r.Conversations)))
	}
	if k.o.Forget == nil {
		return nil
	}
	return k.o.Forget(ctx)
}

// find returns the subject's conversations that were there at the time.
func (k *Keeper) find(ctx context.Context, s Subject, at time.Time) (pending, error) {
	p := pending{Subject: s, Started: at}
	all, err := k.o.Store.List(ctx)
	if err != nil {
		return p, err
	}
	for _, rec := range all {
		if s.has(rec) && !rec.Created.After(at) {
			p.Roots = append(p.Roots, root{ID: rec.ID, Project: rec.Key.Project})
		}
	}
	if s.Kind == Conversation && len(p.Roots) == 0 {
		return p, fmt.Errorf("%w: %q", store.ErrUnknown, s.Name)
	}
	return p, k.complete(ctx, &p)
}

// has reports whether the conversation is the subject's.
func (s Subject) has(rec store.Record) bool {
	switch s.Kind {
	case Conversation:
		return rec.ID == s.Name
	case Sender:
		return rec.Key.Sender == s.Name
	case Project:
		return rec.Key.Project == s.Name
	}
	return false
}

// complete finds the children of the roots.
func (k *Keeper) complete(ctx context.Context, p *pending) error {
	for _, r := range p.Roots {
		ids := []string{r.ID}
		for len(ids) > 0 {
			p.All = union(p.All, ids[:1])
			below, err := k.o.Store.Children(ctx, ids[0])
			if err != nil && !errors.Is(err, store.ErrUnknown) {
				return err
			}
			ids = ids[1:]
			for _, rec := range below {
				ids = append(ids, rec.ID)
			}
		}
	}
	return nil
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

func (p pending) scope() Scope {
	s := Scope{Subject: p.Subject, Conversations: p.All}
	for _, r := range p.Roots {
		s.Projects = union(s.Projects, []string{r.Project})
	}
	return s
}

// preview says what would be deleted.
func (k *Keeper) preview(ctx context.Context, p pending) (Report, error) {
	r := Report{Subject: p.Subject, DryRun: true, Conversations: p.All}
	part := Part{Place: "conversations", What: "conversations", Deleted: int64(len(p.All))}
	for _, root := range p.Roots {
		n, err := k.o.Store.Weigh(ctx, root.ID)
		if err != nil && !errors.Is(err, store.ErrUnknown) {
			return r, err
		}
		part.Bytes += n
	}
	r.Parts = append(r.Parts, part)
	return r, k.places(ctx, p, true, &r)
}

func (k *Keeper) places(ctx context.Context, p pending, dry bool, r *Report) (err error) {
	for _, place := range k.o.Places {
		part, failed := place.Erase(ctx, p.scope(), dry)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", place.Name, failed))
			continue
		}
		if part.Place = place.Name; part.Deleted > 0 || part.Bytes > 0 || part.Kept != "" {
			r.Parts = append(r.Parts, part)
		}
	}
	return err
}

// execute deletes. If nothing could be deleted, because a conversation is in use, it takes the
// deletion back.
func (k *Keeper) execute(ctx context.Context, key string, p pending) (Report, error) {
	r := Report{Subject: p.Subject, Conversations: p.All}
	part := Part{Place: "conversations", What: "conversations"}
	var failed error
	for _, c := range p.Roots {
		if p.Kind == expired && k.changed(ctx, c) {
			continue
		}
		out, err := k.o.Delete(ctx, c.ID)
		switch {
		case errors.Is(err, store.ErrUnknown): // it is gone already
		case err != nil:
			failed = errors.Join(failed, err)
		default:
			part.Deleted += int64(len(out.Conversations))
			part.Bytes += out.Bytes
		}
	}
	r.Parts = append(r.Parts, part)
	if failed != nil {
		return r, k.unfinished(key, part.Deleted == 0 && errors.Is(failed, k.o.Busy), failed)
	}
	if p.Kind == Project {
		out, err := k.o.DeleteRest(ctx, p.Name)
		if err != nil {
			return r, k.unfinished(key, part.Deleted == 0 && errors.Is(err, k.o.Busy), err)
		}
		r.Parts = append(r.Parts, Part{Place: "jobs", What: "jobs and records of hook runs", Deleted: out.Jobs + out.Runs})
	}
	err := k.places(ctx, p, false, &r)
	var shrunk error
	if p.Kind != expired { // of which there may be many: Sweep does it once
		r.Freed, shrunk = k.o.Store.Shrink(ctx)
	}
	if errors.Join(err, shrunk) != nil {
		return r, fmt.Errorf("%w: %w", ErrStarted, errors.Join(err, shrunk))
	}
	return r, k.drop(key)
}

// unfinished returns the error of a deletion that stopped. undone: nothing was deleted, and it is
// taken back.
func (k *Keeper) unfinished(key string, undone bool, err error) error {
	if undone {
		return errors.Join(err, k.drop(key))
	}
	return fmt.Errorf("%w: %w", ErrStarted, err)
}

func (k *Keeper) drop(key string) error {
	return k.o.Journal.Change(func(all map[string]json.RawMessage) error { delete(all, key); return nil })
}

// changed reports whether somebody has used the conversation since the limits chose it.
func (k *Keeper) changed(ctx context.Context, c root) bool {
	rec, err := k.o.Store.Find(ctx, c.ID)
	return err == nil && (rec.Version != c.Version || rec.Journaled)
}
