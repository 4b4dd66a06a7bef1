package undo

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/internal/lockedfile"
	"github.com/grapnel-go/grapnel/internal/privatedir"
	"github.com/grapnel-go/grapnel/internal/snapshot"
)

// Turn names a turn that a person started. Calls of agents that it runs belong to it.
type Turn struct {
	// ID is unique among all conversations.
	ID           string `json:"id"`
	Conversation string `json:"conversation"`
	// Number counts the turns of the conversation from 1; 0 for an undo.
	Number int `json:"number,omitzero"`
}

// record is what is kept of a turn, or of an undo.
type record struct {
	Turn
	Started time.Time `json:"started"`
	// Owner is the process that runs it, as in Options; "" for an undo.
	Owner string `json:"owner,omitzero"`
	Spans []span `json:"spans,omitzero"`
	// Failed is why the turn cannot be undone; "" if it can.
	Failed string `json:"failed,omitzero"`
	// Of are the turns that this undo takes back; nil for a turn.
	Of []string `json:"of,omitzero"`
	// Undone: an undo took this back.
	Undone bool `json:"undone,omitzero"`
}

// about returns the IDs of the turns that taking the record back undoes, or does again, the latest first.
func (r record) about() []string {
	if len(r.Of) == 0 {
		return []string{r.ID}
	}
	return r.Of
}

// span is a time in which the turn's calls ran. After is "" while it lasts, or if the program ended in it.
type span struct {
	Before snapshot.ID `json:"before"`
	After  snapshot.ID `json:"after,omitzero"`
	From   time.Time   `json:"from"`
	To     time.Time   `json:"to,omitzero"`
}

// Options of a Book; nil is all zero values.
type Options struct {
	// Snapshots are the limits of a snapshot.
	Snapshots *snapshot.Options
	// Turns is how many of the last turns with commands can be undone. Default 50.
	Turns int
	// Bytes is how much the snapshots of a project may take. Default 2 GiB. The last turn can be undone even if it takes more.
	Bytes int64
	// Owner names this process, and Gone reports whether the process of that name has ended; nil: every other one has.
	Owner string
	Gone  func(owner string) bool
	// Dropped is told of turns that cannot be undone any more, because of these limits; nil drops it.
	Dropped func(turns int, freed int64)
}

// Book has the turns of one project. It is safe for concurrent use. NewBook makes one.
type Book struct {
	project, dir string
	o            Options
	turns        lockedfile.File[record]

	// busy has a value while an operation works; it guards what follows.
	busy  chan struct{}
	store *snapshot.Store // nil until it is needed
	open  map[string]*open
}

// open is a turn that has made a call and has not ended.
type open struct {
	record
	calls int // that run now
}

// lasts reports whether the last span has no end yet.
func (o *open) lasts() bool { return len(o.Spans) > 0 && o.Spans[len(o.Spans)-1].After == "" }

// NewBook returns the book of a project, in a directory that only the user can read and that may be missing. It does nothing else: a
// project where no command runs costs nothing.
func NewBook(project, dir string, o *Options) *Book {
	b := &Book{project: project, dir: dir, busy: make(chan struct{}, 1), open: map[string]*open{},
		turns: lockedfile.File[record]{Path: filepath.Join(dir, "turns.json")}}
	if o != nil {
		b.o = *o
	}
	if b.o.Gone == nil {
		b.o.Gone = func(string) bool { return true }
	}
	b.o.Turns = cmp.Or(b.o.Turns, 50)
	b.o.Bytes = cmp.Or(b.o.Bytes, 2<<30)
	return b
}

// alone calls f while no other operation of the book works.
func (b *Book) alone(ctx context.Context, f func() error) error {
	select {
	case b.busy <- struct{}{}:
		defer func() { <-b.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if b.store == nil {
		if err := privatedir.Make(b.dir); err != nil {
			return err
		}
		s, err := snapshot.Open(b.project, filepath.Join(b.dir, "store"), b.o.Snapshots)
		if err != nil {
			return err
		}
		b.store = s
	}
	return f()
}

// ErrNotCovered says that an earlier call of the turn could not be covered; the error of that call says why.
var ErrNotCovered = errors.New("the turn cannot be undone, because an earlier call was not covered")

// Begin is called before each call of a turn that may change files, and takes a snapshot if the turn needs one. Report is that of the
// turn's first one. Without an error, Done has to be called after the call. After an error the turn cannot be undone, and later calls
// return [ErrNotCovered] as far as the book could be written.
func (b *Book) Begin(ctx context.Context, t Turn) (report snapshot.Report, err error) {
	err = b.alone(ctx, func() error {
		o := b.open[t.ID]
		if o == nil {
			o = &open{record: record{Turn: t, Started: time.Now(), Owner: b.o.Owner}}
			if err := b.resumed(o); err != nil {
				return err
			}
			b.open[t.ID] = o
		}
		if o.Failed != "" {
			return ErrNotCovered
		}
		if !o.lasts() {
			if report, err = b.takeStart(ctx, o); err != nil {
				return err
			}
		}
		o.calls++
		return nil
	})
	return report, err
}

// takeStart begins a span.
func (b *Book) takeStart(ctx context.Context, o *open) (snapshot.Report, error) {
	id, report, err := b.store.Take(ctx)
	if err == nil {
		now := time.Now()
		o.Spans = append(o.Spans, span{Before: id, From: now})
		err = errors.Join(b.save(&o.record), b.endOthers(o, id, now))
	}
	if err != nil {
		o.Failed = err.Error()
		return report, errors.Join(err, b.save(&o.record))
	}
	if len(o.Spans) > 1 {
		report = snapshot.Report{}
	}
	return report, nil
}

// resumed continues the record of a turn that another process began.
func (b *Book) resumed(o *open) error {
	all, err := b.turns.Read()
	if old, ok := all[o.ID]; ok {
		o.record = old
		o.Owner = b.o.Owner
	}
	return err
}

// endOthers ends the spans of other turns in which no call runs.
func (b *Book) endOthers(but *open, id snapshot.ID, now time.Time) (err error) {
	for _, o := range b.open {
		if o != but && o.calls == 0 && o.lasts() {
			err = errors.Join(err, b.end(o, id, now))
		}
	}
	return err
}

func (b *Book) end(o *open, id snapshot.ID, now time.Time) error {
	last := &o.Spans[len(o.Spans)-1]
	last.After, last.To = id, now
	return b.save(&o.record)
}

// Done is called after each call for which Begin was called. While other turns change files too, it takes a snapshot.
func (b *Book) Done(ctx context.Context, t Turn) error {
	return b.alone(ctx, func() error {
		o := b.open[t.ID]
		if o == nil {
			return nil
		}
		if o.calls--; o.calls > 0 || len(b.open) == 1 {
			return nil
		}
		return b.takeEnd(ctx, o)
	})
}

// Finish is called when a turn has ended, in any way. It takes the snapshot after its commands; covered is false if there were none.
func (b *Book) Finish(ctx context.Context, t Turn) (covered bool, err error) {
	if !b.began(ctx, t) {
		return false, nil
	}
	err = b.alone(ctx, func() error {
		o := b.open[t.ID]
		if o == nil {
			return nil
		}
		delete(b.open, t.ID)
		covered = true
		return b.takeEnd(ctx, o)
	})
	return covered, err
}

func (b *Book) began(ctx context.Context, t Turn) bool {
	select {
	case b.busy <- struct{}{}:
		defer func() { <-b.busy }()
		return b.open[t.ID] != nil
	case <-ctx.Done():
		return false
	}
}

func (b *Book) takeEnd(ctx context.Context, o *open) error {
	if o.Failed != "" || !o.lasts() {
		return nil
	}
	id, _, err := b.store.Take(ctx)
	if err != nil {
		o.Failed = err.Error()
		return errors.Join(err, b.save(&o.record))
	}
	return b.end(o, id, time.Now())
}

func (b *Book) save(records ...*record) error {
	return b.turns.Change(func(all map[string]record) error {
		for _, r := range records {
			all[r.ID] = *r
		}
		return nil
	})
}

// latest sorts records, the latest first.
func latest(all map[string]record) []record {
	return slices.SortedFunc(maps.Values(all), func(a, b record) int {
		return cmp.Or(b.Started.Compare(a.Started), strings.Compare(b.ID, a.ID))
	})
}

// slack is how many turns more than Options.Turns are kept, and how often the size is measured, because both take time.
const slack = 10

// Prune drops turns over the limits. It is called after a turn, best in the background, and seldom has anything to do.
func (b *Book) Prune(ctx context.Context) error {
	return b.alone(ctx, func() error {
		all, err := b.turns.Read()
		if err != nil || len(all)%slack != 0 && len(all) < b.o.Turns+slack {
			return err
		}
		if len(all) < b.o.Turns+slack {
			if size, err := b.store.Size(ctx); err != nil || size <= b.o.Bytes {
				return err
			}
		}
		return b.prune(ctx, latest(all))
	})
}

func (b *Book) prune(ctx context.Context, sorted []record) error {
	sorted = sorted[:min(len(sorted), b.o.Turns)]
	groups := make([][]snapshot.ID, len(sorted))
	for i, r := range sorted {
		for _, s := range r.Spans {
			groups[i] = append(groups[i], s.Before)
			if s.After != "" {
				groups[i] = append(groups[i], s.After)
			}
		}
	}
	out, err := b.store.Prune(ctx, groups, b.o.Bytes)
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, r := range sorted[:out.Kept] {
		keep[r.ID] = true
	}
	dropped := 0
	err = b.turns.Change(func(all map[string]record) error {
		for id := range all {
			if !keep[id] && b.open[id] == nil {
				delete(all, id)
				dropped++
			}
		}
		return nil
	})
	if dropped > 0 && b.o.Dropped != nil {
		b.o.Dropped(dropped, out.Freed)
	}
	return err
}
