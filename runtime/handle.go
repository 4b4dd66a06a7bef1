package runtime

import (
	"context"
	"errors"
	"iter"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
)

// Turn is a handle on one turn of a conversation; see [Conversation.Start]. It can still be
// read after the turn has ended. It is safe for concurrent use.
type Turn struct {
	conv *Conversation
	h    loop.Handle
	// follower makes the runtime hold the events of the running turn for Events; nil for
	// Send.
	follower *Reader
}

// Start starts a turn on a goroutine of its own and returns when the turn has begun: its
// input is stored, and [Turn.Steer] works. Until then the end of ctx cancels it. Later the
// turn keeps the values of ctx, but the end of ctx does not cancel it. To cancel it, call
// [Turn.Stop], unregister the agent or close the runtime.
//
// The errors are those of [Conversation.Send]. With ErrBusy, Start returns the running
// turn, which may not have begun yet; nil if it runs in another process.
func (c *Conversation) Start(ctx context.Context, in message.Input, o *TurnOptions) (*Turn, error) {
	if in.Messages.Len() == 0 {
		return nil, ErrNoInput
	}
	return c.start(ctx, o, func(ctx context.Context, t *Turn, opts *TurnOptions) hook.TurnOutcome {
		return c.answer(ctx, t, in, opts)
	})
}

// errBrokenOff is the error of a turn whose goroutine a function of Options ended, by a panic
// that the caller of Send recovers or by runtime.Goexit.
var errBrokenOff = errors.New("runtime: a function of Options ended the goroutine of the turn")

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
		out := loop.Refused(errBrokenOff)
		defer func() { t.leave(out) }()
		out = run(lasting, t, &opts)
	}()
	select {
	case <-t.h.Begun():
		return t, nil
	case <-t.h.Done():
	}
	if _, err := t.h.Outcome(); err != nil { // the turn may have begun and ended
		return nil, err
	}
	return t, nil
}

// newHandle returns a handle on a turn that has not begun, and the turn's context.
func (c *Conversation) newHandle(ctx context.Context) (*Turn, context.Context) {
	t := &Turn{conv: c}
	return t, t.h.Init(ctx)
}

// leave frees the conversation and ends the handle with the outcome.
func (t *Turn) leave(out hook.TurnOutcome) {
	t.conv.leave(t)
	t.h.End(out)
}

// Running returns the running turn of the conversation, which may not have begun yet. It
// is nil if no turn runs in this process.
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

// Running returns the running turns of this process, without those of subagents, in no
// order.
func (r *Runtime) Running() []*Turn {
	var out []*Turn
	for _, a := range r.all() {
		for _, c := range a.all() {
			if t := c.Running(); t != nil && c.agent == a && c.parent == "" { // a guest lists the conversation, too
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

// Before returns the position directly before the turn's first event; zero before the turn
// has begun. A resumed turn emits its first event again, and Before is its position.
func (t *Turn) Before() Position { return t.h.Before() }

// Begun returns a channel that is closed when the turn has begun. It stays open if the turn
// ends before that.
func (t *Turn) Begun() <-chan struct{} { return t.h.Begun() }

// Done returns a channel that is closed when the turn has ended and the next one can begin.
func (t *Turn) Done() <-chan struct{} { return t.h.Done() }

// Ending reports whether the turn is emitting, or has emitted, the event of its end. The
// conversation stays busy until Done. A caller that has seen that event and gets ErrBusy
// waits for Done.
func (t *Turn) Ending() bool { return t.h.Ending() }

// Steer sends another message to the running turn. When Steer returns, the message is
// stored; the turn adds it to the history before its next step, in the order of the calls.
// A turn that was about to end continues with another step. If the turn is cancelled, the
// next turn gets the message. If a hook hangs and the turn ends without it, messages that
// have not passed the hooks are refused. The error is ErrIdle if the turn has not begun or
// has ended, and otherwise the store's.
//
// Like the first message of a turn, it passes Preprocess and BeforeTurn, before the next
// step and on the loop's goroutine. Then the turn emits the event steered. If a hook
// refuses or answers the message, the model never sees it and the turn continues; the
// event steer_refused has the reason or the answer.
func (t *Turn) Steer(ctx context.Context, in message.Input) error {
	return t.conv.thread.Steer(ctx, &t.h, in)
}

// Stop cancels the turn and does not wait for its end. The turn keeps its messages and
// results so far. The cause becomes the error of the outcome. Nil is ErrStopped, a stop by
// the user, and the stop reason is then user_requested. Stop does nothing after the end of
// the turn.
func (t *Turn) Stop(cause error) {
	if cause == nil {
		cause = ErrStopped
	}
	t.h.Cancel(cause)
}

// Wait waits for the end of the turn and returns its outcome. The error is non-nil only if
// ctx ends first, or if the turn did not begin: then it is the reason. The end of ctx does
// not cancel the turn. If the turn has ended, Wait returns the outcome even if ctx has
// ended too.
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

// Events returns the events of the turn and of its subagents after the sequence number; 0
// is from the first event. The sequence ends after the event of the turn's end. A slow
// caller does not slow the turn.
//
// The runtime holds the newest events of a turn that Start began while the turn runs. All
// others come from the store, with the texts of finished parts instead of deltas; an item
// says where events are missing. Events that the conversation emits meanwhile outside of
// the turn are included. An error comes last: it is that of the store or of ctx.
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

// read yields the reader's items until the end of the turn. It returns nil if the consumer
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
		case <-t.h.Done(): // the rest of the events can be read now
			ended = true
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Ends reports whether ev is the event of this turn's end.
func (t *Turn) Ends(ev hook.Event) bool {
	return ev.Kind == event.TurnEnd && ev.Turn == t.ID() && ev.Turn != ""
}
