package loop

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/history"
	"github.com/grapnel-go/grapnel/runtime/internal/bound"
	"github.com/grapnel-go/grapnel/runtime/internal/human"
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
		t.thread.cut(ev)
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

// cut cuts the text of the event to the limit. It masks it before: half a secret is not found.
func (th *Thread) cut(ev *hook.Event) {
	if m := th.Log.Mask(); m != nil && len(ev.Text) > th.Env.Limits.Result {
		*ev = m.Event(*ev)
	}
	bound.EventText(ev, th.Env.Limits.Result)
}

// emit delivers an event that other code than the loop emits.
func (th *Thread) emit(ctx context.Context, ev hook.Event) {
	how := stream.How{}
	if _, background := InBackground(ctx); !background {
		how.Loop = TurnOf(ctx)
	}
	th.cut(&ev)
	th.Log.Emit(ctx, &ev, how)
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
	t.halt(f)
	t.event = f.Event()
	t.postWith(ctx, &t.event, stream.How{})
}

// halt refuses further turns of the conversation's agent if the failure is fatal.
func (t *Turn) halt(f *hook.Failure) {
	if t.thread.Agent.Halt(f) {
		t.emit(HaltEvent(t.thread.Agent.Name, f))
	}
}

// HaltEvent tells that an agent begins no more turns.
func HaltEvent(agent string, f *hook.Failure) hook.Event {
	return hook.Diagnostic{Code: event.CodeAgentHalted, Visibility: event.VisibleUser, Text: fmt.Sprintf(
		"the agent %s begins no more turns until it is updated or registered again: %s", agent, f.Public())}.Event()
}

// emitCall emits an event about a call.
func (t *Turn) emitCall(kind hook.EventKind, c *call, text string) {
	c.startEmitted = c.startEmitted || kind == event.CallStart
	c.awaitsApproval = kind == event.ApprovalAsked
	t.emit(t.callEvent(kind, c, text))
}

func (t *Turn) callEvent(kind hook.EventKind, c *call, text string) hook.Event {
	ev := hook.Event{Kind: kind, Text: text}
	args := c.args()
	if c.runner != nil && len(args) <= t.env.Limits.Result {
		return ev.WithCall(c.at)
	}
	return t.withArgs(ev, args, hook.EventDetail{CallID: c.at.ID(), Tool: c.at.Name()})
}

// withArgs returns the event with the detail and the arguments. It cuts the arguments to the
// size of a tool result; the history has them whole.
func (t *Turn) withArgs(ev hook.Event, args message.JSON, d hook.EventDetail) hook.Event {
	if m := t.thread.Log.Mask(); m != nil {
		args = m.JSON(args)
	}
	d.Args, ev.Omitted = bound.Args(args, t.env.Limits.Result)
	return ev.WithDetail(d)
}

func (t *Turn) emitApproval(c *call, v hook.Verdict) {
	c.awaitsApproval = false
	t.emit(t.withArgs(hook.Event{Kind: event.ApprovalGiven, Text: v.Reason}, c.args(),
		hook.EventDetail{CallID: c.at.ID(), Tool: c.at.Name(), Answer: v.Kind, By: v.By}))
}

// toolNames returns the names of the called tools.
func (t *Turn) toolNames(calls []call) message.List[string] {
	if len(calls) == 1 {
		return t.view.NameList(calls[0].at.Name())
	}
	names := make([]string, len(calls))
	for i := range calls {
		names[i] = calls[i].at.Name()
	}
	return message.Freeze(names)
}

// emitResults emits the results of finished calls that are not emitted yet.
func (t *Turn) emitResults(calls []call) {
	for i := range calls {
		if c := &calls[i]; c.finished && !c.resultEmitted {
			t.emitResult(c)
		}
	}
}

func (t *Turn) emitResult(c *call) {
	c.resultEmitted = true
	if len(t.given.Client()) > 0 {
		t.env.Requests.DropEarly(human.Key{Conversation: t.thread.ID(), ID: c.at.ID()})
	}
	t.emit(hook.Event{Kind: event.CallResult}.WithEnd(&c.end))
}

// args are the arguments for events and the history: canonical if the call is bound, else
// wrapped in a JSON object if need be. Every provider accepts an object; other arguments would
// make every later request of the conversation fail.
func (c *call) args() message.JSON {
	if c.runner != nil {
		return c.at.Args()
	}
	return history.Arguments(c.at.Args())
}
