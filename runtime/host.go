package runtime

import (
	"context"
	"time"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/internal/bound"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// host is the [hook.Host] of a conversation, or of what is outside any.
type host struct {
	rt *Runtime
	// conv is the conversation; nil outside any.
	conv *Conversation
	log  *stream.Log
}

var (
	_ hook.Host    = (*host)(nil)
	_ stream.Owner = (*host)(nil)
)

// newHost returns the host outside any conversation.
func (r *Runtime) newHost() *host {
	h := &host{rt: r}
	h.log = stream.NewLog(stream.LogOptions{Owner: h, Hub: r.streams})
	return h
}

// newHost returns the host of the conversation with the id. Its turns are children of
// turns of the parent, if that is not nil.
func (c *Conversation) newHost(id string, parent *host) *host {
	rt := c.agent.rt
	h := &host{rt: rt, conv: c}
	o := stream.LogOptions{
		Conversation: id, Agent: c.agent.name, Keep: !rt.volatile && c.parent == "", Owner: h, Hub: rt.streams,
	}
	if parent != nil {
		o.Parent = parent.log
	}
	h.log = stream.NewLog(o)
	return h
}

// Listeners implements stream.Owner.
func (h *host) Listeners() *composite.Composite {
	if h.conv != nil {
		return h.conv.agent.hooks.Composite
	}
	return h.rt.hooks.Composite
}

// EventHost implements stream.Owner.
func (h *host) EventHost() hook.Host { return eventHost{h} }

// Now implements stream.Owner.
func (h *host) Now() time.Time { return h.rt.o.Now() }

// WriteEvents implements stream.Owner.
func (h *host) WriteEvents(ctx context.Context, epoch int64, events []store.Event) error {
	return h.conv.lease.NoteEvents(ctx, epoch, events)
}

// Emit implements hook.Host.
func (h *host) Emit(ctx context.Context, ev hook.Event) {
	if leftBehind(ctx) {
		return
	}
	how := stream.How{}
	if s := sideOf(ctx); s != nil {
		how.Background, ev.Turn = true, s.turn
	}
	h.accept(ctx, ev, how)
}

// eventHost is the host of an event: what is emitted while the event is delivered does not
// wait for the delivery.
type eventHost struct{ *host }

// Emit implements hook.Host. It queues.
func (h eventHost) Emit(ctx context.Context, ev hook.Event) {
	h.accept(ctx, ev, stream.How{Inside: true})
}

// accept emits an event of a hook or a tool.
func (h *host) accept(ctx context.Context, ev hook.Event, how stream.How) {
	ev.Time, ev.Omitted = time.Time{}, 0
	if d := ev.Detail(); len(d.Args) > h.rt.o.Limits.Result {
		d.Args, ev.Omitted = bound.Args(d.Args, h.rt.o.Limits.Result)
		ev = ev.WithDetail(d)
	}
	h.emitHow(ctx, ev, how)
}

// emit emits an event of the runtime.
func (h *host) emit(ctx context.Context, ev hook.Event) { h.emitHow(ctx, ev, stream.How{}) }

func (h *host) emitHow(ctx context.Context, ev hook.Event, how stream.How) {
	if sideOf(ctx) == nil {
		how.Loop = loopOf(ctx)
	}
	h.bound(&ev)
	h.log.Emit(ctx, &ev, how)
}

// bound cuts the text of an event to the size of a tool result, because readers and the
// store keep events beside the messages.
func (h *host) bound(ev *hook.Event) {
	if len(ev.Text) > h.rt.o.Limits.Result {
		text, omitted := bound.Cut(ev.Text, h.rt.o.Limits.Result)
		ev.Text, ev.Omitted = text, ev.Omitted+omitted
	}
}

// loopOf returns the loop of the turn that the context is of; nil if it is of none.
func loopOf(ctx context.Context) stream.Loop {
	if t, _ := ctx.Value(turnKey{}).(*turn); t != nil {
		return t
	}
	return nil
}

// LeftBehind implements stream.Loop.
func (t *turn) LeftBehind() bool { return t.loop.Abandoned() }
