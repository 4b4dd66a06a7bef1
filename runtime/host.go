package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/bound"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// host is the [hook.Host] of a conversation, or that outside any conversation.
type host struct {
	rt *Runtime
	// conv is nil outside any conversation.
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
	h.log = stream.NewLog(stream.LogOptions{Owner: h, Hub: r.streams, Mask: r.o.Events.Mask})
	return h
}

// newHost returns the host of the conversation with the id. With a parent, its turns are
// children of the parent's turns.
func (c *Conversation) newHost(id string, parent *host) *host {
	rt := c.agent.rt
	h := &host{rt: rt, conv: c}
	o := stream.LogOptions{
		Conversation: id, Agent: c.agent.core.Name, Owner: h, Hub: rt.streams, Mask: rt.o.Events.Mask,
		Keep: !rt.volatile && c.parent == "" && !c.home.ephemeral, Ephemeral: c.home.ephemeral,
	}
	if parent != nil {
		o.Parent = parent.log
	}
	h.log = stream.NewLog(o)
	return h
}

// Listeners implements stream.Owner.
func (h *host) Listeners() (hooks *composite.Composite, done func()) {
	if h.conv == nil {
		h.rt.mu.Lock()
		defer h.rt.mu.Unlock()
		p := h.rt.members.process.Load()
		p.Hold()
		return p.Hooks.Composite, p.Release
	}
	a := h.conv.agent
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.holdLocked()
	return s.Hooks.Composite, s.Release
}

// EventHost implements stream.Owner.
func (h *host) EventHost() hook.Host { return eventHost{h} }

// Now implements stream.Owner.
func (h *host) Now() time.Time { return h.rt.o.Now() }

// WriteEvents implements stream.Owner.
func (h *host) WriteEvents(ctx context.Context, epoch int64, events []store.Event) error {
	return h.conv.thread.Lease.NoteEvents(ctx, epoch, events)
}

// WriteFailed implements stream.Owner. It stops the turn, unless another process has taken the
// conversation over or deleted it: then the turn ends for that reason.
func (h *host) WriteFailed(err error) {
	if h.conv != nil && !errors.Is(err, store.ErrFenced) && !errors.Is(err, store.ErrUnknown) {
		h.conv.stop(fmt.Errorf("%w: %w", loop.ErrNotStored, err))
	}
}

// ephemeral reports whether nothing of the conversation is stored.
func (h *host) ephemeral() bool { return h.conv != nil && h.conv.home.ephemeral }

// Emit implements hook.Host.
func (h *host) Emit(ctx context.Context, ev hook.Event) {
	if loop.Abandoned(ctx) {
		return
	}
	how := stream.How{}
	if turn, ok := loop.InBackground(ctx); ok {
		how.Background, ev.Turn = true, turn
	}
	h.accept(ctx, ev, how)
}

// eventHost is the host in an event. What OnEvent emits with it does not wait for the
// delivery of that event.
type eventHost struct{ *host }

// Emit implements hook.Host. It queues the event and returns.
func (h eventHost) Emit(ctx context.Context, ev hook.Event) {
	h.accept(ctx, ev, stream.How{Inside: true})
}

// accept emits an event of a hook or a tool.
func (h *host) accept(ctx context.Context, ev hook.Event, how stream.How) {
	ev.Time, ev.Omitted = time.Time{}, 0
	if m := h.rt.o.Events.Mask; m != nil { // before something is cut
		ev = m.Event(ev)
	}
	if d := ev.Detail(); len(d.Args) > h.rt.o.Limits.Result {
		d.Args, ev.Omitted = bound.Args(d.Args, h.rt.o.Limits.Result)
		ev = ev.WithDetail(d)
	}
	h.emitHow(ctx, ev, how)
	if h.conv != nil && h.conv.agent.core.Halt(ev.Failure()) {
		h.emitHow(ctx, loop.HaltEvent(h.conv.agent.Name(), ev.Failure()), how)
	}
}

// emit emits an event of the runtime.
func (h *host) emit(ctx context.Context, ev hook.Event) { h.emitHow(ctx, ev, stream.How{}) }

func (h *host) emitHow(ctx context.Context, ev hook.Event, how stream.How) {
	if _, background := loop.InBackground(ctx); !background {
		how.Loop = loop.TurnOf(ctx)
	}
	bound.EventText(&ev, h.rt.o.Limits.Result)
	h.log.Emit(ctx, &ev, how)
}

// current returns the running turn of the conversation; nil if there is none.
func (h *host) current() *loop.Turn {
	if h.conv == nil {
		return nil
	}
	return h.conv.thread.Current()
}

// turnOf returns the id of the turn that the context belongs to, which is that of a
// background run if it has one; "" for none.
func (h *host) turnOf(ctx context.Context) string {
	if turn, ok := loop.InBackground(ctx); ok {
		return turn
	}
	return h.log.Place().Turn
}

// inTurn returns the running turn for a caller within it. It is nil if no turn runs, and
// for background runs and abandoned loops.
func (h *host) inTurn(ctx context.Context) *loop.Turn {
	if _, background := loop.InBackground(ctx); background || loop.Abandoned(ctx) {
		return nil
	}
	return h.current()
}

// RunAgent implements hook.Host.
func (h *host) RunAgent(ctx context.Context, run hook.AgentRun) (hook.TurnOutcome, error) {
	t := h.inTurn(ctx)
	if t == nil {
		return loop.Refused(hook.ErrNoTurn), hook.ErrNoTurn
	}
	defer t.InHost()()
	out, err := t.RunAgent(ctx, run)
	if err != nil {
		err = fmt.Errorf("run agent %q: %w", run.Agent, err)
		return loop.Refused(err), err
	}
	return out, out.Err
}

// CallModel implements hook.Host.
func (h *host) CallModel(ctx context.Context, req message.ModelRequest) (message.ModelReply, error) {
	t := h.inTurn(ctx)
	if t == nil {
		return message.ModelReply{}, hook.ErrNoTurn
	}
	defer t.InHost()()
	return t.CallModel(ctx, req)
}
