package anthropic

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sse"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// maxWord limits the id and the name of a call, in bytes. No server sends as much.
const maxWord = 1024

// maxKept limits what is kept of an answer beside its texts and calls, in bytes; citationSize
// is what one citation costs at least.
const (
	maxKept      = 16 << 20
	citationSize = 100
)

// answer is one request and its stream.
type answer struct {
	p     *Provider
	yield func(message.Chunk, error) bool
	// left: the consumer has stopped.
	left  bool
	model string
	// text is the size of the request in bytes, messages the number of its messages, and
	// sent the bytes passed on.
	text, messages, sent int
	// kept counts the bytes of signatures, citations and blocks that go back as they came.
	kept int

	event event
	// open are the blocks that have not ended, and last is the largest index so far; calls
	// counts those of tools.
	open        []*block
	last, calls int
	ids         wire.IDs
	// saidText: the newest chunk was text.
	saidText bool
	stop     string
	counts   counts
}

// block is one that is being streamed.
type block struct {
	index int
	kind  string
	// call is the number of a call; stopped: it is whole, if the answer is.
	call    int
	stopped bool
	// said: a text, thinking or arguments have come. half is half a character of them that
	// waits for the other half.
	said bool
	half rune
	// signature is that of thinking.
	signature []byte
	citations []jsontext.Value
	// whole is a block that is kept as it came, and input what its input is made of.
	whole jsontext.Value
	input []byte
}

func (a *answer) run(ctx context.Context, req message.ModelRequest) error {
	p := a.p
	if p.err != nil {
		return p.err
	}
	s, err := p.settingsOf(req.Model)
	if err != nil {
		return p.s.Refuse("%w", err)
	}
	body, text, err := s.encode(req)
	if err != nil {
		return p.s.Refuse("%w", err)
	}
	a.model, a.text, a.messages, a.last = s.model.Name, text, req.Messages.Len(), -1
	server := p.s
	if s.drops {
		server = p.drops
	}
	stream, err := server.Open(ctx, server.URL("v1", "messages"), body)
	if err != nil {
		return err
	}
	defer stream.Close()
	return a.play(stream)
}

// play reads events until the message stops.
func (a *answer) play(from *wire.Stream) error {
	for {
		ev, err := from.Next()
		if err != nil {
			return err
		}
		stopped, err := a.receive(from, ev)
		if stopped {
			from.Drain()
		}
		if stopped || err != nil || a.left {
			return err
		}
	}
}

// receive reads one event; stopped reports that it was the last one.
func (a *answer) receive(from *wire.Stream, ev sse.Event) (stopped bool, err error) {
	data := ev.Data
	switch {
	case len(data) == 0:
		return false, nil
	case ev.Name == wire.Failed:
		return false, a.p.s.Failure(data)
	case wire.IsObject(data):
	case ev.Cut:
		return false, from.NoFinish("")
	default:
		return false, a.p.s.Broken("an event is no JSON object", data)
	}
	if bytes.Contains(data, []byte(`"error"`)) {
		if e, ok := wire.InStream(data); ok {
			return false, a.p.s.Shown(e)
		}
	}
	if !utf8.Valid(data) { // blocks go back in a request as they are, and it must be Unicode
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	a.event = event{}
	if err := json.Unmarshal(data, &a.event, wire.Lax()); err != nil {
		return false, a.misread(err, data)
	}
	switch {
	case a.event.Type != "message_stop":
		return false, a.take(&a.event, data)
	case a.stop == "":
		return true, from.NoFinish("the message stopped without a reason")
	}
	return true, a.end()
}

func (a *answer) misread(err error, data []byte) error {
	const what = "an event is no part of an answer"
	if of, typed := errors.AsType[*json.SemanticError](err); typed && of.JSONPointer != "" {
		return a.p.s.Broken(what+": "+string(of.JSONPointer)+" is of the wrong type", data)
	}
	return a.p.s.Broken(what, data)
}

// take reads one event; those of unknown types say nothing.
func (a *answer) take(ev *event, data []byte) error {
	switch ev.Type {
	case "message_start":
		a.counts.take(&ev.Message.Usage)
	case "message_delta":
		a.counts.take(&ev.Usage)
		if ev.Delta.StopReason != "" {
			a.stop = ev.Delta.StopReason
		}
	case "content_block_start":
		return a.start(ev, data)
	case "content_block_delta":
		b := a.find(ev.Index)
		if b == nil {
			return a.p.s.Broken("an event continues a block that is not open", data)
		}
		return a.add(b, &ev.Delta, data)
	case "content_block_stop":
		if b := a.find(ev.Index); b != nil {
			a.ended(b)
		}
	}
	return nil
}

func (a *answer) find(index int) *block {
	for _, b := range slices.Backward(a.open) {
		if b.index == index {
			return b
		}
	}
	return nil
}

func (a *answer) close(b *block) {
	a.open = slices.DeleteFunc(a.open, func(o *block) bool { return o == b })
}

// start begins a block. The calls before it that have stopped are whole.
func (a *answer) start(ev *event, data []byte) error {
	var h head
	if err := json.Unmarshal(ev.Block, &h, wire.Lax()); err != nil {
		return a.misread(err, data)
	}
	switch {
	case ev.Index <= a.last:
		return a.p.s.Broken("a block begins twice", data)
	case len(a.open) == wire.MaxCalls || a.calls == wire.MaxCalls:
		return a.p.s.Broken("there are too many blocks", nil)
	}
	a.endCalls(len(a.open))
	b := &block{index: ev.Index, kind: h.Type, signature: []byte(h.Signature)}
	a.open, a.last = append(a.open, b), ev.Index
	switch h.Type {
	case textBlock:
		a.say(b, message.ChunkText, h.Text)
	case thinkingBlock:
		a.say(b, message.ChunkReasoning, h.Thinking)
	case toolUse:
		return a.startCall(b, &h, data)
	default:
		b.whole = ev.Block.Clone()
	}
	return nil
}

func (a *answer) startCall(b *block, h *head, data []byte) error {
	if h.Name == "" || len(h.ID) > maxWord || len(h.Name) > maxWord {
		return a.p.s.Broken("a tool call has no name, or a name or an id without end", data)
	}
	b.call = a.calls
	a.calls++
	a.sent += len(h.Name)
	a.send(message.Chunk{Kind: message.ChunkCallStart, Index: b.call, CallID: a.ids.Unique(h.ID, a.messages, b.call), Tool: h.Name})
	if args := string(h.Input); args != "" && args != "{}" && args != "null" { // an empty one stands for what is to come
		a.say(b, message.ChunkCallArgs, args)
	}
	return nil
}

// say passes on a part of a block.
func (a *answer) say(b *block, kind message.ChunkKind, text string) {
	if text == "" {
		return
	}
	if kind == message.ChunkText && a.saidText && !b.said { // or two blocks would become one
		a.send(message.Chunk{Kind: message.ChunkMeta, Meta: provider.Meta(vendor, meta{})})
	}
	b.said = true
	a.send(message.Chunk{Kind: kind, Index: b.call, Text: text})
}

func (a *answer) send(chunk message.Chunk) {
	if a.left {
		return
	}
	a.sent += len(chunk.Text)
	a.saidText = chunk.Kind == message.ChunkText
	a.left = !a.yield(chunk, nil)
}

// add adds a delta to its block. Only arguments of calls may be mixed with other blocks.
func (a *answer) add(b *block, d *delta, data []byte) error {
	fits := true
	switch d.Type {
	case "text_delta":
		if fits = b.kind == textBlock && b.index == a.last; fits {
			a.say(b, message.ChunkText, wire.Glue(&b.half, d.Text.Piece))
		}
	case "thinking_delta":
		if fits = b.kind == thinkingBlock && b.index == a.last; fits {
			a.say(b, message.ChunkReasoning, wire.Glue(&b.half, d.Thinking.Piece))
		}
	case "signature_delta":
		if fits = b.kind == thinkingBlock; fits {
			b.signature = append(b.signature, d.Signature...)
			a.kept += len(d.Signature)
		}
	case "input_json_delta":
		if fits = b.kind != textBlock && b.kind != thinkingBlock && !b.stopped; fits && b.whole != nil {
			b.input = append(b.input, wire.Glue(&b.half, d.PartialJSON.Piece)...)
			a.kept += len(d.PartialJSON.Text)
		} else if fits {
			a.say(b, message.ChunkCallArgs, wire.Glue(&b.half, d.PartialJSON.Piece))
		}
	case "citations_delta":
		if b.kind == textBlock && d.Citation != nil {
			b.citations = append(b.citations, d.Citation.Clone())
			a.kept += len(d.Citation) + citationSize
		}
	}
	if a.kept > maxKept {
		return a.p.s.Broken("signatures, citations and kept blocks are too long", nil)
	}
	if !fits {
		return a.p.s.Broken("a "+d.Type+" does not fit its block", data)
	}
	return nil
}

// ended ends a block. A call may still be cut off: the server ends its block even then.
func (a *answer) ended(b *block) {
	if b.half != 0 { // it is lost, and what was signed is not whole
		kinds := map[string]message.ChunkKind{textBlock: message.ChunkText, thinkingBlock: message.ChunkReasoning, toolUse: message.ChunkCallArgs}
		if kind := kinds[b.kind]; kind != 0 {
			a.say(b, kind, wire.Half(b.half))
		}
		b.half, b.signature = 0, nil
	}
	switch {
	case b.kind == toolUse:
		b.stopped = true
		return
	case b.whole != nil:
		a.keep(meta{Model: a.model, Block: b.complete()})
	case b.kind == thinkingBlock && b.said:
		a.send(message.Chunk{Kind: message.ChunkMeta, Meta: provider.Meta(vendor, meta{Model: a.model, Signature: string(b.signature)})})
	case b.kind == thinkingBlock && len(b.signature) > 0:
		a.keep(meta{Model: a.model, Signature: string(b.signature)})
	case b.citations != nil && b.said && b.index == a.last:
		a.send(message.Chunk{Kind: message.ChunkMeta, Meta: provider.Meta(vendor, meta{Citations: b.citations})})
	}
	a.close(b)
}

// keep passes on a block without text that has to go back.
func (a *answer) keep(m meta) {
	a.send(message.Chunk{Kind: message.ChunkBlock, Block: &message.Block{Kind: message.BlockReasoning, Meta: provider.Meta(vendor, m)}})
}

// complete returns a kept block with the input that came after its beginning.
func (b *block) complete() jsontext.Value {
	if !wire.IsObject(b.input) {
		return b.whole
	}
	ms, _ := membersOf(b.whole)
	for i := range ms {
		if ms[i].name == "input" {
			ms[i].value = b.input
		}
	}
	return appendObject(nil, ms)
}

// endCalls passes on the ends of calls that have stopped, up to the given number of open
// blocks.
func (a *answer) endCalls(n int) {
	for _, b := range slices.Clone(a.open[:n]) {
		if !b.stopped {
			continue
		}
		if !b.said {
			a.say(b, message.ChunkCallArgs, "{}")
		}
		a.send(message.Chunk{Kind: message.ChunkCallEnd, Index: b.call})
		a.close(b)
	}
}

// end ends open blocks and sends the finish.
func (a *answer) end() error {
	finish := finishOf(a.stop)
	cut := finish == message.FinishLength || finish == message.FinishFilter
	n := len(a.open)
	if cut && n > 0 && a.open[n-1].kind == toolUse && a.open[n-1].index == a.last {
		n-- // the last call may be cut off
	}
	a.endCalls(n)
	for _, b := range slices.Clone(a.open) {
		switch {
		case b.kind == thinkingBlock:
			a.ended(b)
		case b.kind == toolUse && !cut:
			return a.p.s.Broken("a tool call has no end", nil)
		}
	}
	switch {
	case a.calls > 0 && (finish == message.FinishStop || finish == message.FinishOther):
		finish = message.FinishTools
	case a.calls == 0 && finish == message.FinishTools:
		finish = message.FinishStop
	}
	u := a.counts.usage()
	if !a.counts.known {
		u = wire.Estimate(a.text, a.sent)
	}
	a.send(message.Chunk{Kind: message.ChunkFinish, Finish: finish, Usage: u})
	return nil
}
