package undo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/grapnel-go/grapnel/internal/protected"
	"github.com/grapnel-go/grapnel/internal/snapshot"
)

// Request says what to take back.
type Request struct {
	// Turns is how many of the conversation's last turns with commands are undone; 0 is 1.
	Turns int
	// Redo takes back the conversation's last undo instead.
	Redo bool
	// Dry changes nothing, and returns what would be done.
	Dry bool
	// Latest is the ID of the turn that the caller saw as the latest of [Outcome].Turns: if it is another one by now, nothing is done.
	// "" takes whichever it is.
	Latest string
}

// Outcome is what was done, or would be.
type Outcome struct {
	// Turns are the turns that are undone, or done again, the latest first.
	Turns []Turn
	// Unended: the program ended within the last of them, so that what others changed since cannot be told from what it changed.
	Unended bool
	snapshot.Result
}

// Errors of Undo that callers test for.
var (
	// ErrNothing says that there is no turn to undo, or no undo to take back.
	ErrNothing = errors.New("nothing to undo")
	// ErrRunning says that a turn of the conversation runs.
	ErrRunning = errors.New("a turn of the conversation is running; wait for its end, or cancel it")
	// ErrMoved says that another turn is the latest one by now.
	ErrMoved = errors.New("another turn is the latest one by now, so nothing was changed; look again at what would be")
	// ErrKept says that a turn has no snapshots, or not any more.
	ErrKept = errors.New("cannot be undone")
)

// Undo puts back what turns of a conversation have changed, as far as nobody else changed it later or at the same time. The error is one of
// those above, [snapshot.ErrTooLarge], that of ctx, or one of the store. An undo that was interrupted goes on with the next Undo.
func (b *Book) Undo(ctx context.Context, conversation string, r Request) (out Outcome, err error) {
	err = b.alone(ctx, func() error {
		for _, o := range b.open {
			if o.Conversation == conversation {
				return ErrRunning
			}
		}
		all, err := b.turns.Read()
		if err != nil {
			return err
		}
		chosen, err := choose(latest(all), conversation, r)
		if err != nil {
			return err
		}
		if r.Latest != "" && r.Latest != chosen[0].about()[0] {
			return ErrMoved
		}
		out, err = b.undo(ctx, all, chosen, r)
		return err
	})
	return out, err
}

// choose returns the records to take back, the latest first.
func choose(all []record, conversation string, r Request) (out []record, err error) {
	want := max(r.Turns, 1)
	if r.Redo {
		want = 1
	}
	for _, rec := range all {
		if rec.Conversation != conversation || rec.Undone || (rec.Of != nil) != r.Redo {
			continue
		}
		if rec.Failed != "" {
			return nil, fmt.Errorf("turn %d %w: %s", rec.Number, ErrKept, rec.Failed)
		}
		if out = append(out, rec); len(out) == want {
			return out, nil
		}
	}
	switch {
	case r.Redo:
		return nil, fmt.Errorf("%w: no undo of this conversation is kept", ErrNothing)
	case len(out) == 0:
		return nil, fmt.Errorf("%w: no turn of this conversation has run a command or changed a file, or its snapshots are not kept any more", ErrNothing)
	}
	return nil, fmt.Errorf("%w: snapshots of only %d turns with commands are kept", ErrNothing, len(out))
}

func (b *Book) undo(ctx context.Context, all map[string]record, chosen []record, r Request) (out Outcome, err error) {
	now, _, err := b.store.Take(ctx)
	if err != nil {
		return out, err
	}
	pairs, err := b.pairs(ctx, all, chosen, now, &out)
	if err != nil {
		return out, err
	}
	for _, rec := range chosen {
		for _, id := range rec.about() {
			out.Turns = append(out.Turns, all[id].Turn)
		}
	}
	if r.Dry {
		out.Result, err = b.store.Preview(ctx, now, pairs...)
		return out, kept(err)
	}
	if r.Redo {
		return out, b.redo(ctx, all, chosen[0], now, pairs, &out)
	}
	return out, b.takeBack(ctx, all, chosen, now, pairs, &out)
}

// kept makes a missing snapshot an error that callers test for.
func kept(err error) error {
	if errors.Is(err, snapshot.ErrNoSnapshot) {
		return fmt.Errorf("it %w: %w", ErrKept, err)
	}
	return err
}

// takeBack restores, and records the undo before it begins, so that it can be taken back even if it is interrupted.
func (b *Book) takeBack(ctx context.Context, all map[string]record, chosen []record, now snapshot.ID, pairs []snapshot.Pair, out *Outcome) (err error) {
	rec := record{Turn: Turn{ID: "undo-" + ulid.Make().String(), Conversation: chosen[0].Conversation}, Started: time.Now(),
		Spans: []span{{Before: now, From: time.Now()}}}
	for _, c := range chosen {
		rec.Of = append(rec.Of, c.ID)
	}
	for _, old := range all { // it was interrupted
		if !old.Undone && old.Conversation == rec.Conversation && slices.Equal(old.Of, rec.Of) && old.Spans[0].After == "" {
			rec = old
		}
	}
	if err := b.save(&rec); err != nil {
		return err
	}
	if out.Result, err = b.store.Restore(ctx, now, pairs...); err != nil {
		return kept(err)
	}
	after, _, err := b.store.Take(ctx)
	if err != nil {
		return err
	}
	rec.Spans[0].After, rec.Spans[0].To = after, time.Now()
	saved := []*record{&rec}
	for _, c := range chosen {
		c.Undone = true
		saved = append(saved, &c)
	}
	return b.save(saved...)
}

func (b *Book) redo(ctx context.Context, all map[string]record, undo record, now snapshot.ID, pairs []snapshot.Pair, out *Outcome) (err error) {
	if out.Result, err = b.store.Restore(ctx, now, pairs...); err != nil {
		return kept(err)
	}
	undo.Undone = true
	saved := []*record{&undo}
	for _, id := range undo.Of {
		if rec, ok := all[id]; ok {
			rec.Undone = false
			saved = append(saved, &rec)
		}
	}
	return b.save(saved...)
}

// pairs returns the spans of the records, the latest first, without what others changed within them.
func (b *Book) pairs(ctx context.Context, all map[string]record, chosen []record, now snapshot.ID, out *Outcome) (pairs []snapshot.Pair, err error) {
	for _, rec := range chosen {
		for _, s := range slices.Backward(rec.Spans) {
			if s.After == "" {
				if !b.gone(rec) {
					return nil, ErrRunning
				}
				s.After, s.To = now, time.Now()
				out.Unended = true
			}
			except, err := b.others(ctx, all, rec, s, now)
			if err != nil {
				return nil, kept(err)
			}
			pairs = append(pairs, snapshot.Pair{Before: s.Before, After: s.After, Except: except})
		}
	}
	return pairs, nil
}

// others returns the paths that turns of other conversations changed within the time of a span.
func (b *Book) others(ctx context.Context, all map[string]record, of record, s span, now snapshot.ID) (map[string]string, error) {
	var except map[string]string
	for _, rec := range all {
		if rec.Conversation == of.Conversation {
			continue
		}
		for _, other := range rec.Spans {
			if other.After == "" {
				other.After, other.To = b.until(all, rec, other, now)
			}
			if !other.From.Before(s.To) || !s.From.Before(other.To) {
				continue
			}
			changes, err := b.store.Changes(ctx, other.Before, other.After)
			if err != nil {
				return nil, err
			}
			passing, err := b.passing(ctx, s)
			if err != nil {
				return nil, err
			}
			for _, path := range append(passing, paths(changes)...) {
				if except == nil {
					except = map[string]string{}
				}
				except[path] = "conversation " + rec.Conversation + " may have changed it at the same time"
			}
		}
	}
	return except, nil
}

// passing returns the protected paths that were there when the span began, and were not when it ended: a command of another
// conversation may have made them, and they were moved away because of that.
func (b *Book) passing(ctx context.Context, s span) ([]string, error) {
	changes, err := b.store.Changes(ctx, s.Before, s.After)
	return slices.DeleteFunc(paths(changes), func(path string) bool {
		_, protected := protected.Match(path)
		_, err := os.Lstat(filepath.Join(b.project, filepath.FromSlash(path)))
		return !protected || err == nil
	}), err
}

func paths(changes []snapshot.Change) (out []string) {
	for _, c := range changes {
		out = append(out, c.Path)
	}
	return out
}

// gone reports whether nobody runs the turn any more.
func (b *Book) gone(rec record) bool {
	return b.open[rec.ID] == nil && (rec.Owner == b.o.Owner || b.o.Gone(rec.Owner))
}

// until returns the end of a span of another turn that has none: now, or the next snapshot, if the program ended within the span.
func (b *Book) until(all map[string]record, of record, s span, now snapshot.ID) (snapshot.ID, time.Time) {
	id, at := now, time.Now()
	if !b.gone(of) {
		return id, at
	}
	for _, rec := range all {
		for _, other := range rec.Spans {
			if other.From.After(s.From) && other.From.Before(at) {
				id, at = other.Before, other.From
			}
		}
	}
	return id, at
}
