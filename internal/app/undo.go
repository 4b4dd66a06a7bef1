package app

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/internal/snapshot"
	"github.com/grapnel-go/grapnel/internal/undo"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
	"github.com/grapnel-go/grapnel/subsystems/memory"
	"github.com/grapnel-go/grapnel/subsystems/skills"
	"github.com/grapnel-go/grapnel/subsystems/tasks"
)

// newBook returns the book of what turns changed in the project. It makes nothing until a command runs.
func newBook(o Options, owner string, gone func(string) bool) *undo.Book {
	return undo.NewBook(o.Paths.Root, o.Paths.undo(), &undo.Options{
		Snapshots: &snapshot.Options{Exclude: []string{o.Paths.userState()}}, Owner: owner, Gone: gone,
		Dropped: func(turns int, freed int64) {
			o.Note(fmt.Sprintf("%d old turns cannot be undone any more; their snapshots had %d MiB", turns, freed>>20))
		},
	})
}

// unchanging returns the tools that are not read-only and still change no file of the project. The calls of agents that
// others run are covered themselves.
func unchanging() []string {
	return []string{tasks.ToolTodoWrite, tasks.ToolPlanWrite, memory.ToolRemember, memory.ToolForget, skills.ToolSkill, delegate.ToolDelegate}
}

// Undo takes back what turns of a conversation of the project changed, or says what that would be; see [undo.Book.Undo].
func (a *App) Undo(ctx context.Context, conversation string, r undo.Request) (undo.Outcome, error) {
	return a.options.turns.Undo(ctx, conversation, r)
}
