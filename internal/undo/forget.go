package undo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/grapnel-go/grapnel/internal/snapshot"
)

// Forget deletes the records of the turns of these conversations, with their snapshots, which no
// undo can use any more. Snapshots that a turn of another conversation needs stay. With dry it
// only counts. It may be called again after it has failed. No turn of the conversations may run.
func (b *Book) Forget(ctx context.Context, conversations []string, dry bool) (turns int, freed int64, err error) {
	if _, err := os.Stat(b.dir); errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	err = b.alone(ctx, func() error {
		all, err := b.turns.Read()
		if err != nil {
			return err
		}
		var drop []string
		var ids []snapshot.ID
		var left []record
		for _, r := range latest(all) {
			if !slices.Contains(conversations, r.Conversation) {
				left = append(left, r)
				continue
			}
			drop = append(drop, r.ID)
			ids = append(ids, r.snapshots()...)
		}
		if turns = len(drop); dry || turns == 0 {
			return nil
		}
		freed, err = b.forget(ctx, drop, ids, left)
		return err
	})
	return turns, freed, err
}

// Conversations returns the conversations whose turns the book has.
func (b *Book) Conversations(ctx context.Context) (out []string, err error) {
	if _, err := os.Stat(b.dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	err = b.alone(ctx, func() error {
		all, err := b.turns.Read()
		for _, r := range all {
			if !slices.Contains(out, r.Conversation) {
				out = append(out, r.Conversation)
			}
		}
		return err
	})
	return out, err
}

// forget removes the snapshots first: if it is cut short, the records are still there to go on by.
func (b *Book) forget(ctx context.Context, drop []string, ids []snapshot.ID, left []record) (freed int64, err error) {
	keep := map[snapshot.ID]bool{}
	groups := make([][]snapshot.ID, len(left))
	for i, r := range left {
		groups[i] = r.snapshots()
		for _, id := range groups[i] {
			keep[id] = true
		}
	}
	ids = slices.DeleteFunc(ids, func(id snapshot.ID) bool { return keep[id] })
	if err := b.store.Drop(ctx, ids...); err != nil {
		return 0, err
	}
	out, err := b.store.Prune(ctx, groups, b.o.Bytes)
	if err != nil {
		return 0, err
	}
	return out.Freed, b.turns.Change(func(all map[string]record) error {
		for _, id := range drop {
			delete(all, id)
			delete(b.open, id)
		}
		return nil
	})
}

// snapshots are those that the record names.
func (r record) snapshots() (ids []snapshot.ID) {
	for _, s := range r.Spans {
		ids = append(ids, s.Before)
		if s.After != "" {
			ids = append(ids, s.After)
		}
	}
	return ids
}

// Clear deletes the whole book with all snapshots, and returns how many turns it had. With dry it
// only counts. No turn of the project may run.
func (b *Book) Clear(ctx context.Context, dry bool) (turns int, err error) {
	if _, err := os.Stat(b.dir); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	select {
	case b.busy <- struct{}{}:
		defer func() { <-b.busy }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	all, err := b.turns.Read()
	if err != nil || dry {
		return len(all), err
	}
	b.store, b.open = nil, map[string]*open{}
	return len(all), os.RemoveAll(b.dir)
}
