package runtime

import (
	"context"
	"iter"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
)

// Turn is a handle on one turn of a conversation: see [Conversation.Start]. It stays
// readable after the turn has ended. It is safe for concurrent use.
type Turn struct {
	conv *Conversation
	h    loop.Handle
	// follower has the events of the running turn held for Events; nil for Send.
	follower *Reader
}

// Start runs a turn in the background and returns when it has begun: its input is stored,
// and [Turn.Steer] reaches it. Until then ctx can give it up. Afterwards the turn has the
// values of ctx, and only [Turn.Stop], the agent and the runtime end it.
//
// The error is that of [Conversation.Send]. With ErrBusy comes the turn that runs, which
// may not have begun yet; nil if it runs in another process.
func (c *Conversation) Start(ctx context.Context, in message.Input, o *TurnOptions) (*Turn, error) {
	if in.Messages.Len() == 0 {
		return nil, ErrNoInput
	}
	return c.start(ctx, o, func(ctx context.Context, t *Turn, opts *TurnOptions) hook.TurnOutcome {
		return c.answer(ctx, t, in, opts)
	})
}

// start enters the conversation and runs the turn in a goroutine of its own.
func (c *Conversation) start(
	ctx context.Context, o *TurnOptions, run func(context.Context, *Turn, *TurnOptions) hook.TurnOutcome,
) (*Turn, error) {
	opts := orZero(o)
	t, lasting := c.newHandle(context.WithoutCancel(ctx))
	unbind := context.AfterFunc(ctx, func() { t.Stop(context.Cause(ctx)) })
	t.h.OnBegun = func() { unbind() }
	other, err := c.enter(lasting, t, opts.WhenBusy)
	if err != nil {
		unbind()
		return other, err
	}
	t.follower = c.agent.rt.Subscribe(&SubscribeOptions{Conversation: c.ID()})
	go func() {
		defer t.follower.Close()
		defer unbind()
		t.leave(run(lasting, t, &opts))
	}()
	select {
	case <-t.h.Begun():
		return t, nil
	case <-t.h.Done():
	}
	if _, err := t.h.Outcome(); err != nil { // it can have begun, too
		return nil, err
	}
	return t, nil
}

// newHandle returns a handle on a turn that has not begun, and the turn's context.
func (c *Conversation) newHandle(ctx context.Context) (*Turn, context.Context) {
	t := &Turn{conv: c}
	return t, t.h.Init(ctx)
}

// leave gives the conversation back and tells whoever waits how the turn has ended.
func (t *Turn) leave(out hook.TurnOutcome) {
	t.conv.leave(t)
	t.h.End(out)
}

// Running returns the turn that has the conversation, which may not have begun yet; nil
// if there is none, or if it runs in another process.
func (c *Conversation) Running() *Turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runningLocked()
}

func (c *Conversation) runningLocked() *Turn {
	if c.brief {
		return nil
	}
	return c.running
}

// Running returns the turns that run, without those of subagents, in no order.
func (r *Runtime) Running() []*Turn {
	var out []*Turn
	for _, a := range r.all() {
		for _, c := range a.all() {
			if t := c.Running(); t != nil && c.parent == "" {
				out = append(out, t)
			}
		}
	}
	return out
}

// Conversation returns the conversation of the turn.
func (t *Turn) Conversation() *Conversation { return t.conv }

// ID returns the id of the turn; "" before it has begun.
func (t *Turn) ID() string { return t.h.ID() }

// Before returns the position in front of the turn's first event; the zero one before it
// has begun. A turn that was resumed has its first event again.
func (t *Turn) Before() Position { return t.h.Before() }

// Begun is closed when the turn has begun. The channel of a turn that ends without
// having begun stays open.
func (t *Turn) Begun() <-chan struct{} { return t.h.Begun() }

// Done is closed when the turn has ended and the next one can begin.
func (t *Turn) Done() <-chan struct{} { return t.h.Done() }

// Ending reports whether the turn emits or has emitted the event of its end. Whoever saw
// that event and is then refused with ErrBusy waits for Done.
func (t *Turn) Ending() bool { return t.h.Ending() }

// Steer says something to the turn while it runs: it is added to the history
// before the next step, in the order in which such messages came. It is stored when
// Steer returns. If the turn was about to end, it goes on with another step; if it is
// cancelled, the next turn finds it. Only if a turn is ended without a hook that hangs, what
// the hooks have not let through is refused. ErrIdle if the turn has ended, or has not begun.
//
// Like the message that a turn begins with, it passes Preprocess and BeforeTurn: before
// the next step, on the loop's goroutine. The event steered tells that it got through.
// If a hook refuses it, or answers it itself, the model never sees it, the turn goes
// on, and the event steer_refused has the reason or the answer.
func (t *Turn) Steer(ctx context.Context, in message.Input) error {
	return t.conv.thread.Steer(ctx, &t.h, in)
}

// Stop cancels the turn and does not wait for its end. What has been done is kept. The
// cause becomes the error of the outcome. Nil is ErrStopped: its user wants it, and the
// stop reason is user_requested. A turn that has ended stays as it is.
func (t *Turn) Stop(cause error) {
	if cause == nil {
		cause = ErrStopped
	}
	t.h.Cancel(cause)
}

// Wait returns the outcome of the turn. The error is non-nil only if ctx ended first, or
// if the turn did not begin: then it says why. The end of ctx does not stop the turn, and
// the outcome of a turn that has ended is returned whether or not ctx has ended, too.
func (t *Turn) Wait(ctx context.Context) (hook.TurnOutcome, error) {
	select {
	case <-t.h.Done():
	case <-ctx.Done():
		if !t.h.HasEnded() {
			return hook.TurnOutcome{}, context.Cause(ctx)
		}
	}
	return t.h.Outcome()
}

// Events returns the events of the turn and of its subagents behind the sequence number,
// at the caller's own pace; 0 is from the first one on. The newest events of a turn that
// Start began are held while it runs. Older ones, and all of a turn that has ended, are read
// from the store, with the text of finished parts in the place of deltas; an item says where
// events were missed. What the conversation emits meanwhile outside of the turn comes, too.
// It ends behind the turn's end. The error, which comes last, is that of
// the store or of ctx.
func (t *Turn) Events(ctx context.Context, after uint64) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		select {
		case <-t.h.Begun():
		case <-t.h.Done():
		case <-ctx.Done():
			yield(Item{}, context.Cause(ctx))
			return
		}
		if !t.h.HasBegun() {
			return
		}
		at := t.Before()
		at.Seq = max(at.Seq, after)
		r := t.conv.agent.rt.Subscribe(&SubscribeOptions{Conversation: t.conv.ID(), After: &at})
		defer r.Close()
		if err := t.read(ctx, r, yield); err != nil {
			yield(Item{}, err)
		}
	}
}

// read yields what the reader has until the end of the turn. It returns nil if the consumer
// stopped.
func (t *Turn) read(ctx context.Context, r *Reader, yield func(Item, error) bool) error {
	for ended := false; ; {
		p, err := r.Read(ctx)
		if err != nil {
			return err
		}
		for _, item := range p.Items {
			if !yield(item, nil) || t.Ends(item.Event()) {
				return nil
			}
		}
		switch {
		case p.More == nil:
			continue
		case p.Closed || ended:
			return nil
		}
		select {
		case <-p.More:
		case <-t.h.Done(): // what can still be read is the end
			ended = true
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Ends reports whether the event is that of the end of the turn.
func (t *Turn) Ends(ev hook.Event) bool {
	return ev.Kind == event.TurnEnd && ev.Turn == t.ID() && ev.Turn != ""
}
