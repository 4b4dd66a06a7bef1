package loop

import (
	"cmp"
	"context"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/character"
	"github.com/grapnel-go/grapnel/runtime/internal/failure"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// ask makes one request, with retries, and returns the reply as the hooks have rewritten it. It
// is false if the turn is over.
func (t *Turn) ask() (message.ModelReply, bool) {
	for {
		reply, again := t.attempt()
		if again {
			continue
		}
		if reply.Finish == "" {
			return reply, false
		}
		t.addUsage(reply.Model, reply.Usage)
		reply, err := t.rewriteReply(t.ctx, reply)
		if err != nil {
			return reply, t.failHook(err)
		}
		return reply, true
	}
}

// attempt makes one request. It returns the reply, or that the request has to be made again. A
// reply without a finish means that the turn is over.
func (t *Turn) attempt() (reply message.ModelReply, again bool) {
	req, err := t.rewriteRequest(t.request())
	if err == nil && t.applySummary() { // a hook had the history compacted
		req, err = t.rewriteRequest(t.request())
	}
	if err != nil {
		t.failHook(err)
		return reply, false
	}
	began := t.env.Now()
	reply, v := t.askBeforeModel(req)
	switch v.Kind {
	case hook.AnswerStop:
		t.signalStop(v)
		return reply, false
	case hook.AnswerReject:
		return reply, t.fail(rejection(v))
	}
	if reply.Finish == "" {
		t.attempts.add(began)
		if reply, err = t.stream(req); err != nil {
			if t.signalRefused(err) {
				return message.ModelReply{}, false
			}
			t.addFailedUsage(req.Model.Name, reply.Usage)
			if reply, again = t.handleModelError(req, reply, err); reply.Finish == "" {
				return reply, again
			}
		}
	}
	reply.Duration = t.env.Now().Sub(began)
	if reply.Model == "" {
		reply.Model = req.Model.Name
	}
	return reply, false
}

func (t *Turn) rewriteRequest(req message.ModelRequest) (message.ModelRequest, error) {
	t.enterForeign(point.RewriteRequest)
	req, err := t.hooks.RewriteRequest(t.ctx, t.step, req)
	t.exitForeign()
	return req, err
}

func (t *Turn) rewriteReply(ctx context.Context, reply message.ModelReply) (message.ModelReply, error) {
	t.enterForeign(point.RewriteReply)
	reply, err := t.hooks.RewriteReply(ctx, t.step, reply)
	t.exitForeign()
	return reply, err
}

// failHook ends the turn with a hook's own failure.
func (t *Turn) failHook(err error) bool {
	f := failure.Of(0, err)
	t.emitHookFailed(t.ctx, f)
	return t.fail(f)
}

func (t *Turn) request() message.ModelRequest {
	t.applySummary()
	return t.core().request(t, message.ModelRequest{
		Model: t.cfg.Model.For(t.step.Model()), System: t.view.Prompt, Messages: t.history.list(), Tools: t.view.Tools,
		Stable: t.history.stable(),
	})
}

// askBeforeModel asks BeforeModel. After stop and reject no model is asked; otherwise a reply
// without a finish means that it is.
func (t *Turn) askBeforeModel(req message.ModelRequest) (message.ModelReply, hook.Verdict) {
	t.response.held = t.response.control || t.hooks.HoldsReply(t.step)
	t.read = message.Weakest(cmp.Or(t.read, message.TrustTrusted), req.Messages.Origin())
	t.enterForeign(point.BeforeModel)
	d, _ := t.hooks.BeforeModel(t.ctx, t.step, req)
	d = exitForeignDecided(t.ctx, t, d)
	v := d.Verdict()
	if v.Kind == hook.AnswerRespond {
		t.response.held = true
		return withFinish(d.Reply()), v
	}
	return message.ModelReply{}, v
}

// stream asks the model and emits its text as it arrives, unless the text is held.
func (t *Turn) stream(req message.ModelRequest) (message.ModelReply, error) {
	a := &t.response
	a.collector, a.done, a.shown, a.err = provider.Collector{Limits: t.env.Limits.Reply}, false, false, nil
	t.consume(req)
	t.closeSegment()
	if a.err != nil {
		return a.collector.Partial(), a.err
	}
	t.repairIDs()
	return a.collector.Reply()
}

// consume reads the stream. A panic in the provider or a wrap ends it with an error.
func (t *Turn) consume(req message.ModelRequest) {
	var err error
	func() {
		t.enterForeign(point.WrapModel)
		defer t.exitForeignRecovering(point.WrapModel, &err)
		t.open(req)(t.response.yield)
	}()
	if err != nil && t.response.err == nil {
		t.response.err = err
	}
}

func (t *Turn) open(req message.ModelRequest) message.ModelStream {
	if !t.hooks.WantsStream(t.step, req) {
		return t.requestModel(t.ctx, req)
	}
	next := &wrappedModel{turn: t, req: req}
	return t.hooks.WrapModel(t.ctx, t.step, req, next)
}

// wrappedModel is the model call inside the wraps of WrapModel.
type wrappedModel struct {
	turn *Turn
	req  message.ModelRequest
}

// Stream implements [hook.ModelNext].
func (m *wrappedModel) Stream(ctx context.Context) message.ModelStream {
	return m.turn.requestModel(ctx, m.req)
}

// consumer returns the consumer of a stream. It is no method: a method value would copy every
// chunk once more.
func (t *Turn) consumer() func(message.Chunk, error) bool {
	return func(chunk message.Chunk, err error) bool {
		if !t.tryExitForeign() {
			return false // consume ends the goroutine when the stream returns
		}
		defer t.enterForeign(point.WrapModel)
		a := &t.response
		if a.done {
			return false
		}
		if err == nil {
			err = t.ctx.Err() // a provider may ignore the context
		}
		if err == nil {
			err = a.collector.Add(&chunk)
		}
		if err != nil {
			a.err, a.done = err, true
			return false
		}
		if !a.held {
			t.showChunk(chunk.Kind, chunk.Text)
		}
		return true
	}
}

func (t *Turn) showChunk(kind message.ChunkKind, text string) {
	switch kind {
	case message.ChunkText:
		t.showText(message.BlockText, text)
	case message.ChunkReasoning:
		t.showText(message.BlockReasoning, text)
	case message.ChunkCallStart:
		t.closeSegment()
	}
}

// maxDelta is the limit of one delta's text in bytes: readers hold and send deltas whole.
const maxDelta = 64 << 10

// showText emits text within a segment of its kind.
func (t *Turn) showText(kind message.BlockKind, text string) {
	if t.thread.Log.Mask() != nil && text != "" {
		if t.response.open != kind {
			t.openSegment(kind)
		}
		t.response.shown = true
		_, _ = io.WriteString(t.response.pieces, text) // it emits, and never fails
		return
	}
	t.showPieces(kind, text)
}

// maskedText emits what is written to it as text of the open segment, in whole characters.
type maskedText struct {
	turn *Turn
	kind message.BlockKind
	rest string // the begin of a character
}

// Write implements io.Writer.
func (m *maskedText) Write(p []byte) (int, error) {
	text := m.rest + string(p)
	end := len(text)
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if at := len(text) - i; utf8.RuneStart(text[at]) {
			if !utf8.FullRuneInString(text[at:]) {
				end = at
			}
			break
		}
	}
	m.rest = text[end:]
	m.turn.showPieces(m.kind, text[:end])
	return len(p), nil
}

// showPieces emits text in deltas of a bounded size.
func (t *Turn) showPieces(kind message.BlockKind, text string) {
	for len(text) > maxDelta {
		end := character.Border(text, maxDelta, -1)
		if end == 0 {
			end = maxDelta // one character is longer than this, and no reader shows it
		}
		t.showDelta(kind, text[:end])
		text = text[end:]
	}
	if text != "" {
		t.showDelta(kind, text)
	}
}

// showDelta emits one piece of text.
func (t *Turn) showDelta(kind message.BlockKind, text string) {
	if t.response.open != kind {
		t.openSegment(kind)
	}
	t.response.shown = true
	t.event = hook.Event{Kind: event.TextDelta, Text: text}
	if kind == message.BlockReasoning {
		t.event.Kind = event.ReasoningDelta
	}
	t.post(&t.event, stream.How{})
}

func (t *Turn) openSegment(kind message.BlockKind) {
	t.closeSegment()
	t.response.open = kind
	if m := t.thread.Log.Mask(); m != nil {
		t.response.pieces = m.Pieces(&maskedText{turn: t, kind: kind})
	}
	start, _ := segmentOf(kind)
	t.emit(hook.Event{Kind: start})
}

func (t *Turn) closeSegment() {
	if kind := t.response.open; kind != "" {
		if p := t.response.pieces; p != nil {
			t.response.pieces = nil
			_ = p.Close() // it emits, and never fails
		}
		t.response.open = ""
		_, end := segmentOf(kind)
		t.emit(hook.Event{Kind: end})
	}
}

// segmentOf returns the events before and after a text segment.
func segmentOf(kind message.BlockKind) (start, end hook.EventKind) {
	if kind == message.BlockReasoning {
		return event.ReasoningStart, event.ReasoningEnd
	}
	return event.TextStart, event.TextEnd
}

// showHeld emits the text of an accepted reply that was held.
func (t *Turn) showHeld(reply message.ModelReply) {
	if !t.response.held || t.response.control {
		return
	}
	for _, b := range reply.Content.All() {
		if b.Kind == message.BlockText || b.Kind == message.BlockReasoning {
			t.showText(b.Kind, b.Text)
		}
	}
	t.closeSegment()
}

// endBrokenStream ends the turn because the stream broke off. If the turn was cancelled, it
// stores the text so far.
func (t *Turn) endBrokenStream(partial message.ModelReply, err error) bool {
	var f *hook.Failure
	if errors.As(err, &f) {
		t.emitHookFailed(t.noCancel, f)
	}
	if t.ctx.Err() == nil {
		return t.fail(err)
	}
	t.signalCancelled()
	t.keepPartial(partial)
	return false
}

// addUsage adds the usage of a model call and emits it.
func (t *Turn) addUsage(model string, u message.Usage) {
	cost := t.spend(model, u)
	t.stepRecord.Usage = t.stepRecord.Usage.Add(u)
	if t.hooks.SeesReply() {
		t.updatePlace()
	}
	if u == (message.Usage{}) {
		return
	}
	t.emit(hook.Event{Kind: event.Usage}.WithUsage(u, cost, ""))
}

// addFailedUsage adds the usage of a failed call, if the provider has reported it.
func (t *Turn) addFailedUsage(model string, u message.Usage) {
	if u != (message.Usage{}) {
		t.addUsage(model, u)
	}
}
