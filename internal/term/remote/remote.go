// Package remote shows a turn of the daemon at the terminal and puts the questions of the turn to the
// person there.
package remote

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/term"
)

// Options of Attend; all are needed.
type Options struct {
	Client   *client.Client
	Approver *term.Approver
	Show     term.Shower
	// Held returns the outcome as it is to be shown; nil is as it is.
	Held func(hook.TurnOutcome) hook.TurnOutcome
	// Note is told, in a sentence, what the person has to know besides.
	Note func(text string)
}

// FollowError is why a turn cannot be followed to its end: the turn may go on.
type FollowError struct{ Err error }

func (e *FollowError) Error() string { return fmt.Sprintf("the turn cannot be followed: %v", e.Err) }

// Unwrap returns the reason.
func (e *FollowError) Unwrap() error { return e.Err }

// Attend shows a turn of the daemon to its end, and puts its questions. When ctx ends the turn is
// cancelled, and how it ended is shown all the same. The error is a [*FollowError] once the turn
// could be followed.
func Attend(ctx context.Context, turn wire.Turn, o Options) (hook.TurnOutcome, error) {
	lasting := context.WithoutCancel(ctx)
	defer context.AfterFunc(ctx, func() {
		_, _ = o.Client.Cancel(lasting, turn.Conversation) // if the daemon is gone, so is the stream, which says so
	})()
	asker := &asker{d: o.Client, approver: o.Approver, note: o.Note, conversation: turn.Conversation, asking: map[asked]*question{}}
	defer asker.end(asked{})
	asker.pending(ctx, asked{}) // of a turn that is running already
	var seen outcome
	for item, err := range o.Client.Follow(lasting, turn) {
		if err != nil {
			return hook.TurnOutcome{}, &FollowError{err}
		}
		if item.Missed > 0 || item.Restarted {
			if !item.Kept {
				o.Note(fmt.Sprintf("%d events were missed", item.Missed))
			}
			asker.pending(ctx, asked{})
			continue
		}
		seen.add(item.Event)
		o.Show.OnEvent(item.Event)
		asker.observe(ctx, item.Event)
	}
	if seen.omitted {
		if err := seen.complete(lasting, o.Client, turn.Conversation); err != nil {
			o.Note("the end of the answer is not whole: " + err.Error())
		}
	}
	if o.Held != nil {
		seen.out = o.Held(seen.out)
	}
	o.Show.Outcome(seen.out)
	return seen.out, nil
}
