// Package undo lets people take back what agents changed in a project. It takes a snapshot before the first call of a turn that may change
// files, after all others have allowed the call, and one when the turn has ended; package internal/undo keeps both and undoes.
//
//	undo.New(undo.NewBook(project, dir), nil) // a member of a composite; people type /undo and /redo
//
// A turn without such calls costs nothing. Calls of child agents belong to the turn that a person started. If a snapshot fails, the call
// runs all the same, and the person is told once that the turn cannot be undone, and why. A snapshot that takes long is told as progress
// of the call. Turns of ephemeral conversations are not covered, because nothing of them is kept.
//
// What a command changes after its turn has ended, because it runs in the background, counts as changed by somebody else.
package undo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/snapshot"
	"github.com/grapnel-go/grapnel/internal/undo"
)

// Undo takes the snapshots. New makes one; it is safe for concurrent use.
//
//hook:subsystem
type Undo struct {
	hook.Nop
	book   *undo.Book
	except map[string]bool
	turn   hook.TurnState[progress]

	mu sync.Mutex
	// left is what people were told last of what snapshots leave out.
	left string
}

// progress is how far a turn that a person started is.
type progress struct {
	// told: the person knows that the turn cannot be undone.
	told bool
	// ended: its AfterTurn was called; an agent that it runs may still be at work.
	ended bool
}

// The points at which snapshots are taken and people ask for an undo.
var (
	_ hook.BeforeTurn = (*Undo)(nil)
	_ hook.WrapTool   = (*Undo)(nil)
	_ hook.AfterTurn  = (*Undo)(nil)
)

// The codes of what people are told.
const (
	// CodeNotCovered: the turn cannot be undone.
	CodeNotCovered hook.DiagnosticCode = "undo.not_covered"
	// CodeLeftOut: snapshots lack some files.
	CodeLeftOut hook.DiagnosticCode = "undo.left_out"
)

// Book has the turns of a project; [NewBook] makes one.
type Book = undo.Book

// NewBook returns the book of the project, with the usual limits. dir is outside the project, private to the user, and may be missing.
func NewBook(project, dir string) *Book { return undo.NewBook(project, dir, nil) }

// Options of New; nil is all zero values.
type Options struct {
	// Except names tools that change no files of the project although they are not read-only, such as one that writes to a database.
	Except []string
}

// New returns the subsystem over a book. It panics without one.
func New(book *Book, o *Options) *Undo {
	if book == nil {
		panic("undo: New: a book is required")
	}
	u := &Undo{book: book, except: map[string]bool{}}
	if o != nil {
		for _, name := range o.Except {
			u.except[name] = true
		}
	}
	return u
}

// turnOf returns the turn that a person started; ok is false if it is not covered.
func turnOf(t *hook.Turn) (undo.Turn, bool) {
	if t == nil {
		return undo.Turn{}, false
	}
	t = t.Root()
	c := t.Conversation()
	if c == nil || c.Ephemeral() {
		return undo.Turn{}, false
	}
	return undo.Turn{ID: t.ID(), Conversation: c.ID(), Number: t.Number()}, true
}

// WrapTool takes the snapshot before the first call of the turn that may change files: of a tool that is not read-only. All gates
// have allowed the call by then.
func (u *Undo) WrapTool(ctx context.Context, call *hook.ToolCall, next hook.ToolNext) message.ToolResult {
	if call.Step() == nil || call.Tool().Annotations.ReadOnly || u.except[call.Name()] {
		return next.Run(ctx)
	}
	turn, ok := turnOf(call.Step().Turn())
	if !ok || !u.begin(ctx, call, turn) {
		return next.Run(ctx)
	}
	defer func() {
		ctx := context.WithoutCancel(ctx)
		if err := u.book.Done(ctx, turn); err != nil {
			u.notCovered(ctx, call.Step().Turn().Root(), err)
		}
	}()
	return next.Run(ctx)
}

// patience is how long a snapshot may take until the client sees it.
const patience = 300 * time.Millisecond

// begin takes the snapshot, if the turn needs one. It reports false if the turn is not covered.
func (u *Undo) begin(ctx context.Context, call *hook.ToolCall, turn undo.Turn) bool {
	stop := make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-stop:
		case <-timer.C:
			call.Host().Emit(ctx, hook.Event{Kind: event.CallProgress, Text: "taking a snapshot of the project first, so that this can be undone"}.
				WithDetail(hook.EventDetail{CallID: call.ID(), Tool: call.Name()}))
		}
	})
	report, err := u.book.Begin(ctx, turn)
	close(stop)
	shown.Wait()
	root := call.Step().Turn().Root()
	if err != nil {
		if ctx.Err() == nil {
			u.notCovered(ctx, root, err)
		}
		return false
	}
	u.leftOut(ctx, root, report)
	return true
}

// notCovered tells the person once in a turn.
func (u *Undo) notCovered(ctx context.Context, root *hook.Turn, err error) {
	first := false
	u.turn.Update(root, func(p progress) progress {
		first, p.told = !p.told, true
		return p
	})
	if first && !errors.Is(err, undo.ErrNotCovered) {
		root.Host().Emit(ctx, hook.Diagnostic{Code: CodeNotCovered, Visibility: event.VisibleUser,
			Text: "this turn cannot be undone: " + err.Error()}.Event())
	}
}

// shownPaths is how many paths a sentence names.
const shownPaths = 5

// leftOut names what snapshots lack, when that is news.
func (u *Undo) leftOut(ctx context.Context, root *hook.Turn, report snapshot.Report) {
	if report.Entries == 0 {
		return // it was not the first snapshot of the turn
	}
	var names []string
	for i, l := range report.LeftOut {
		if i == shownPaths {
			names = append(names, fmt.Sprintf("%d more", len(report.LeftOut)-i))
			break
		}
		names = append(names, undo.Shown(l.Path)+" ("+l.Why+")")
	}
	text := strings.Join(names, ", ")
	u.mu.Lock()
	news := text != u.left
	u.left = text
	u.mu.Unlock()
	if news && text != "" {
		root.Host().Emit(ctx, hook.Diagnostic{Code: CodeLeftOut, Visibility: event.VisibleUser, Text: "an undo will not bring back: " + text}.Event())
	}
}

// AfterTurn takes the snapshot after the commands of the turn, however it ended, and drops old snapshots in the background.
func (u *Undo) AfterTurn(ctx context.Context, t *hook.Turn, _ hook.TurnOutcome) {
	turn, ok := turnOf(t)
	if t.Depth() == 0 {
		u.turn.Update(t, func(p progress) progress { p.ended = true; return p })
	}
	if !ok || !u.turn.Get(t.Root()).ended {
		return
	}
	covered, err := u.book.Finish(ctx, turn)
	if err != nil {
		u.notCovered(ctx, t.Root(), err)
	}
	if !covered {
		return
	}
	host := t.Host()
	if err := host.Go(ctx, "Undo", func(ctx context.Context) {
		if err := u.book.Prune(ctx); err != nil && ctx.Err() == nil {
			host.Emit(ctx, hook.Diagnostic{Code: "undo.prune", Text: "old snapshots were not removed: " + err.Error(), Visibility: event.VisibleDebug}.Event())
		}
	}); err != nil {
		return // the next turn does it
	}
}
