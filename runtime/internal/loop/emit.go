package loop

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/bound"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
)

// beginEvents makes the log stamp later events of the conversation with this turn.
func (t *Turn) beginEvents(observe func(hook.Event)) {
	t.thread.Log.Begin(stream.Place{Turn: t.id, Depth: t.depth}, t.hooks.Composite, observe)
}

// emit delivers the event, also if the turn was cancelled.
func (t *Turn) emit(ev hook.Event) {
	t.event = ev
	t.post(&t.event, stream.How{})
}

// post is emit without a copy. It stamps *ev with its time and place; the caller does not
// change it before the next event.
func (t *Turn) post(ev *hook.Event, how stream.How) { t.postWith(t.noCancel, ev, how) }

func (t *Turn) postWith(ctx context.Context, ev *hook.Event, how stream.How) {
	if ev.Kind != event.TextDelta && ev.Kind != event.ReasoningDelta {
		t.thread.cutText(ev)
	}
	how.Loop, how.Own = TurnOf(ctx), true
	if t.holding { // the queue gets room only after this goroutine has released the delivery
		how.Inside = true
	}
	log := t.thread.Log
	log.Prepare(ev, how) // emitLast reads it
	t.emitting, t.emittingHow = ev, how
	t.enterForeign(point.OnEvent)
	log.EmitPrepared(ctx, ev, how)
	t.exitForeign()
	t.emitting = nil
}

// emit delivers an event that other code than the loop emits.
func (th *Thread) emit(ctx context.Context, ev hook.Event) {
	how := stream.How{}
	if _, background := InBackground(ctx); !background {
		how.Loop = TurnOf(ctx)
	}
	th.cutText(&ev)
	th.Log.Emit(ctx, &ev, how)
}

// cutText cuts the text of an event to the size of a tool result: readers and the store keep
// events in addition to messages.
func (th *Thread) cutText(ev *hook.Event) {
	if limit := th.Env.Limits.Result; len(ev.Text) > limit {
		text, omitted := bound.Cut(ev.Text, limit)
		ev.Text, ev.Omitted = text, ev.Omitted+omitted
	}
}

// commitThenEmit delivers the events of emit after write has returned. Where the store keeps
// events it calls emit first and holds the delivery, so that write stores the events too.
func (t *Turn) commitThenEmit(emit, write func()) {
	if !t.thread.Log.Keeps() {
		write()
		emit()
		return
	}
	t.enterForeign(point.OnEvent)
	held, _ := t.thread.Log.Hold(context.Background(), t) // the owner wakes it when it abandons the loop
	t.exitForeign()
	t.holding = true
	emit()
	write()
	t.holding = false
	t.enterForeign(point.OnEvent)
	held.Release()
	t.exitForeign()
}

// emitHookFailed emits a hook's failure. A composite has already emitted the failure of a late
// member.
func (t *Turn) emitHookFailed(ctx context.Context, f *hook.Failure) {
	if f.Late {
		return
	}
	t.event = f.Event()
	t.postWith(ctx, &t.event, stream.How{})
}
