// Package undo remembers which snapshots of a project lie before and after the commands of each turn, and takes the changes of turns back.
// It knows turns by their ids only, and no hooks.
//
//	b := undo.NewBook(project, dir, nil)
//	b.Begin(ctx, turn)   // before each call of the turn that may change files
//	b.Done(ctx, turn)    // after it
//	b.Finish(ctx, turn)  // when the turn ends
//	b.Undo(ctx, conversation, undo.Request{})
//
// The first Begin of a turn takes the snapshot before its commands, Finish the one after them. What differs from that one later was
// changed by somebody else. While several turns change the project at the same time, each call has a pair of its own, so that what
// the others do between two calls is not taken for the turn's; what two turns changed within the same time is left alone.
//
// An undo is recorded like a turn, and can itself be taken back.
package undo
