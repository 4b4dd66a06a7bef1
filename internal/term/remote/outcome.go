package remote

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
)

// outcome puts together how a turn ended from its events.
type outcome struct {
	out     hook.TurnOutcome
	started time.Time
	failed  string
	// omitted: the event of its end has a part of the answer only.
	omitted bool
}

var errCancelled = errors.New("cancelled")

func (o *outcome) add(ev hook.Event) {
	if ev.Depth > 0 { // a turn that this one runs
		return
	}
	if o.started.IsZero() { // a resumed turn does not start again
		o.started = ev.Time
	}
	d := ev.Detail()
	switch ev.Kind {
	case event.StepStart:
		o.out.Steps = ev.Step
	case event.CallsBegin:
		o.out.Calls += d.Tools.Len()
	case event.Error:
		o.failed = ev.Text
	case event.TurnEnd:
		o.out.Stop, o.out.Usage, o.out.Duration = d.Stop, d.Usage, ev.Time.Sub(o.started)
		o.omitted = ev.Omitted > 0
		if ev.Text != "" {
			o.out.Message = message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock(ev.Text))}
		}
		switch d.Stop {
		case hook.StopError:
			o.out.Err = errors.New(o.failed)
		case hook.StopCancelled, hook.StopUserRequested:
			o.out.Err = errCancelled
		case hook.StopDenied:
			if o.failed != "" {
				o.out.Err = errors.New(o.failed)
			}
		}
	}
}

// complete reads the answer from the conversation: the newest message that begins
// like it.
func (o *outcome) complete(ctx context.Context, d *client.Client, conversation string) error {
	messages, err := d.Messages(ctx, conversation)
	if err != nil {
		return err
	}
	begins, _, _ := strings.Cut(o.out.Text(), "\n[… ")
	for _, m := range slices.Backward(messages) {
		if m.Role == message.RoleAssistant && strings.HasPrefix(m.Text(), begins) {
			o.out.Message = m
			return nil
		}
	}
	return errors.New("the conversation does not have it any more")
}
