package loop

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/history"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/internal/failure"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// The loop journals the unchanged input before it emits turn_start. Only then do hooks see the
// input: Preprocess, then BeforeTurn. If they let it through, one write adds it to the history
// and deletes it from the journal. If the process dies before that write, the resumed turn
// passes these gates again.

// announce journals the input and then emits turn_start. If the journal cannot be written, the
// turn has not begun.
func (t *Turn) announce(in message.Input) error {
	begins := hook.Event{Kind: event.TurnStart, Text: in.Text()}
	t.eventsBefore = t.thread.Log.Last()
	if !t.thread.Lease.Journals() {
		t.handle.steers.openWith(nil)
		t.startEmitted = true
		t.markBegun(t.eventsBefore)
		t.emit(begins)
		return nil
	}
	entries := append([]store.Entry{t.turnEntry()}, durable.InputEntries(store.EntryInput, in)...)
	write := func(events []store.Event) error {
		seqs, err := t.thread.Lease.Note(t.noCancel, store.Note{Entries: entries, Events: events})
		if err == nil {
			t.entries, t.forget = seqs[:1:1], seqs[1:] // both are appended to
			t.handle.steers.openWith(nil)              // a listener may steer at once
		}
		return err
	}
	var err error
	if t.thread.Log.Keeps() {
		t.enterForeign(point.OnEvent)
		held, _ := t.thread.Log.Hold(context.Background(), t) // the owner wakes it when it abandons the loop
		t.exitForeign()
		t.startEmitted = true
		if err = held.Record(t.noCancel, begins, "the turn did not begin", write); err == nil {
			t.markBegun(t.eventsBefore)
		}
		t.enterForeign(point.OnEvent)
		held.Release()
		t.exitForeign()
	} else if err = write(nil); err == nil {
		t.startEmitted = true
		t.markBegun(t.eventsBefore)
		t.emit(begins)
	}
	if err != nil {
		t.failStore(err)
	}
	return err
}

// markBegun marks the handle as begun. before is the sequence of the last event before the
// turn.
func (t *Turn) markBegun(before uint64) {
	t.handle.begin(t.id, stream.Position{Epoch: t.thread.Log.Epoch(), Seq: before})
}

// begin takes the input through the gates and stores it, with the answer if a hook has one. It
// reports whether to ask the model.
func (t *Turn) begin(in message.Input) bool { return t.acceptInput(in) && t.addContext() }

// acceptInput is the part of begin up to the write of the input.
func (t *Turn) acceptInput(in message.Input) (more bool) {
	if !t.beginSession() {
		return false
	}
	a, err := t.passGates(t.ctx, gatedInput{place: t.place, teller: t.teller, in: in})
	if err != nil {
		return t.fail(err)
	}
	t.place, t.teller = a.place, a.teller
	v := a.decision.Verdict()
	if v.Kind == hook.AnswerReject {
		return t.reject(v)
	}
	t.attributeMessages()
	for _, m := range a.in.Messages.All() {
		t.history.add(m)
	}
	if v.Kind == hook.AnswerRespond {
		return t.respond(a.decision.Text())
	}
	return t.storeInput()
}

// addContext adds the context of the session and what hooks contribute to the turn. It is false
// if the turn is over.
func (t *Turn) addContext() bool {
	t.addSessionContext()
	return t.contribute()
}

// gatedInput is an input between or after the gates.
type gatedInput struct {
	// place is the turn with the input as hook.Turn.Input.
	place    *hook.Turn
	teller   hook.TurnTeller
	in       message.Input
	decision hook.TurnDecision
}

// passGates calls Preprocess and then BeforeTurn. Every text of a person passes it before the
// model sees it. The error is that of Preprocess, or says why its result is no valid input.
func (t *Turn) passGates(ctx context.Context, a gatedInput) (gatedInput, error) {
	out, err := t.preprocess(ctx, a.place, a.in)
	if err != nil {
		t.emitHookFailed(ctx, failure.Of(point.Preprocess, err))
		return a, err
	}
	if err := checkInput(out); err != nil {
		return a, err
	}
	if !sameInput(a.in, out) { // a hook.Turn keeps its input
		a.place, a.teller = a.teller.WithInput(out)
		a.in = out
	}
	t.enterForeign(point.BeforeTurn)
	d, _ := t.hooks.BeforeTurn(ctx, a.place, a.in)
	a.decision = exitForeignDecided(ctx, t, d)
	return a, nil
}

// gateSteer takes a steer through the gates. If they refuse it, why is the reason for its
// sender; else "".
func (t *Turn) gateSteer(in message.Input) (out message.Input, why string) {
	if !t.session.begun {
		return in, "the turn ended before its session began"
	}
	ctx, done := t.afterContext()
	defer done()
	t.updatePlace()
	place, teller := t.teller.WithInput(in)
	a, err := t.passGates(ctx, gatedInput{place: place, teller: teller, in: in})
	if err != nil {
		return in, PublicText(err)
	}
	switch v := a.decision.Verdict(); v.Kind {
	case hook.AnswerReject:
		return in, PublicText(rejection(v))
	case hook.AnswerRespond:
		return in, a.decision.Text()
	}
	return a.in, ""
}

// respond answers the user with the text of a hook. If a steer has arrived meanwhile, the turn
// continues and the model is asked.
func (t *Turn) respond(text string) (more bool) {
	content := t.showHookText(text)
	if content.Len() > 0 {
		t.history.add(t.assistantMessage(content))
	}
	if more = t.addSteers(true); !more {
		t.final = content
	}
	return t.storeInput() && more
}

// storeInput adds the input to the stored history. The turn's own journal entries stay.
func (t *Turn) storeInput() bool { return t.commit(false) }

// withdraw deletes the journal of a turn whose input did not pass the gates. The history has
// nothing of that turn, so it is not counted.
func (t *Turn) withdraw() bool {
	t.forget = append(t.forget, t.entries...)
	t.endStored = t.append(store.Append{})
	t.stored = false
	return t.endStored
}

// reject ends a turn that may not begin. It returns false.
func (t *Turn) reject(v hook.Verdict) bool {
	if t.ctx.Err() != nil {
		return t.signalCancelled()
	}
	err := rejection(v)
	if v.Failure != nil {
		err = fmt.Errorf("%w: %w", ErrRejected, v.Failure)
	}
	t.errs = append(t.errs, err)
	t.signal(hook.StopDenied, v.By, v.Reason)
	return false
}

func (t *Turn) preprocess(ctx context.Context, place *hook.Turn, in message.Input) (out message.Input, err error) {
	t.enterForeign(point.Preprocess)
	defer t.exitForeignRecovering(point.Preprocess, &err)
	return t.hooks.Preprocess(ctx, place, in)
}

// checkInput returns an error unless every message is a valid message of a user.
func checkInput(in message.Input) error {
	for i, m := range in.Messages.All() {
		switch {
		case m.Role != message.RoleUser:
			return fmt.Errorf("input message %d: its role is %q and has to be %q", i, m.Role, message.RoleUser)
		case history.Blank(m.Content):
			return fmt.Errorf("input message %d is empty", i)
		}
		for _, b := range m.Content.All() {
			if b.Kind == message.BlockToolCall {
				return fmt.Errorf("input message %d: a user calls no tools", i)
			}
		}
	}
	if in.Messages.Len() == 0 {
		return ErrNoInput
	}
	return nil
}

// sameInput reports whether Preprocess left the input unchanged.
func sameInput(a, b message.Input) bool {
	if a.Messages.Len() != b.Messages.Len() {
		return false
	}
	for i, m := range a.Messages.All() {
		o := b.Messages.At(i)
		if m.Role != o.Role || m.Label != o.Label || m.Trust != o.Trust || m.Ephemeral != o.Ephemeral || m.Content.Len() != o.Content.Len() {
			return false
		}
		for j, block := range m.Content.All() {
			if block != o.Content.At(j) {
				return false
			}
		}
	}
	return true
}
