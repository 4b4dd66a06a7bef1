package runtime

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
)

// beginEvents says that events of the conversation happen in the turn from now on.
func (t *turn) beginEvents(observe func(hook.Event)) {
	t.conv.host.log.Begin(stream.Place{Turn: t.id, Depth: t.depth}, t.hooks.Composite, observe)
}

// emit tells listeners, which may have something to finish although the turn was
// cancelled.
func (t *turn) emit(ev hook.Event) {
	t.event = ev
	t.post(&t.event, stream.How{})
}

// post is emit for an event that stays as it is until the next one is posted.
func (t *turn) post(ev *hook.Event, how stream.How) { t.postWith(t.durable, ev, how) }

func (t *turn) postWith(ctx context.Context, ev *hook.Event, how stream.How) {
	if ev.Kind != event.TextDelta && ev.Kind != event.ReasoningDelta {
		t.conv.host.bound(ev)
	}
	how.Loop, how.Own = loopOf(ctx), true
	if t.holding { // nobody makes room before this goroutine has come to an end
		how.Inside = true
	}
	log := t.conv.host.log
	log.Prepare(ev, how) // who leaves the loop behind reads it
	t.posted, t.postedHow = ev, how
	t.away(point.OnEvent)
	log.EmitPrepared(ctx, ev, how)
	t.returned()
	t.posted = nil
}

// postLeft posts the event with which the loop of t was left behind, unless it has its
// number: then it is told, or queued.
func (n *turn) postLeft(t *turn) {
	if t.posted == nil || n.conv.host.log.Numbered(t.posted) {
		return
	}
	if n.parent != nil {
		t.beginEvents(nil) // the loop may have said that its turn is over
	}
	n.event = *t.posted
	n.post(&n.event, t.postedHow)
	if t.posted == &t.end {
		n.end = n.event
	}
}
