package loop

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/bound"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
)

// beginEvents says that events of the conversation happen in the turn from now on.
func (t *Turn) beginEvents(observe func(hook.Event)) {
	t.thread.Log.Begin(stream.Place{Turn: t.id, Depth: t.depth}, t.hooks.Composite, observe)
}

// emit tells listeners, which may have something to finish although the turn was
// cancelled.
func (t *Turn) emit(ev hook.Event) {
	t.event = ev
	t.post(&t.event, stream.How{})
}

// post is emit for an event that stays as it is until the next one is posted.
func (t *Turn) post(ev *hook.Event, how stream.How) { t.postWith(t.noCancel, ev, how) }

func (t *Turn) postWith(ctx context.Context, ev *hook.Event, how stream.How) {
	if ev.Kind != event.TextDelta && ev.Kind != event.ReasoningDelta {
		t.thread.bound(ev)
	}
	how.Loop, how.Own = TurnOf(ctx), true
	if t.holding { // nobody makes room before this goroutine has come to an end
		how.Inside = true
	}
	log := t.thread.Log
	log.Prepare(ev, how) // who leaves the loop behind reads it
	t.emitting, t.emittingHow = ev, how
	t.enterForeign(point.OnEvent)
	log.EmitPrepared(ctx, ev, how)
	t.exitForeign()
	t.emitting = nil
}

// emit emits an event that is not the loop's own.
func (th *Thread) emit(ctx context.Context, ev hook.Event) {
	how := stream.How{}
	if _, background := InBackground(ctx); !background {
		how.Loop = TurnOf(ctx)
	}
	th.bound(&ev)
	th.Log.Emit(ctx, &ev, how)
}

// bound cuts the text of an event to the size of a tool result, because readers and the
// store keep events beside the messages.
func (th *Thread) bound(ev *hook.Event) {
	if limit := th.Env.Limits.Result; len(ev.Text) > limit {
		text, omitted := bound.Cut(ev.Text, limit)
		ev.Text, ev.Omitted = text, ev.Omitted+omitted
	}
}

// emitLast posts the event with which the loop of t was left behind, unless it has its
// number: then it is told, or queued.
func (n *Turn) emitLast(t *Turn) {
	if t.emitting == nil || n.thread.Log.Numbered(t.emitting) {
		return
	}
	if n.parent != nil {
		t.beginEvents(nil) // the loop may have said that its turn is over
	}
	n.event = *t.emitting
	n.post(&n.event, t.emittingHow)
	if t.emitting == &t.end {
		n.end = n.event
	}
}
