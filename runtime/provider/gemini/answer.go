package gemini

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sse"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// maxWord limits the id and the name of a call, in bytes. No server sends as much.
const maxWord = 1024

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

	stream *wire.Stream
	chunk  chunk
	// open is the kind of the newest chunk, if further text would continue its block.
	open  message.ChunkKind
	calls calls
	// finish is why the answer ended; "" if more follows. token continues it.
	finish message.FinishReason
	token  string
	// usage is the server's; counted: it has come.
	usage   message.Usage
	counted bool
}

// calls are the tool calls of an answer.
type calls struct {
	ids wire.IDs
	// all are the calls, each as its name and arguments. byID has the places of the ids that
	// the server gave.
	all  []string
	byID map[string]int
}

// repeats reports whether the call has come before with the same id.
func (s *calls) repeats(id, said string) bool {
	at, ok := s.byID[id]
	return ok && s.all[at] == said
}

// add adds a call of the request with so many messages. It returns the id to pass on; own
// reports whether it is the server's.
func (s *calls) add(id, said string, messages int) (passed string, own bool) {
	passed = s.ids.Unique(id, messages, len(s.all))
	if own = passed == id; own {
		if s.byID == nil {
			s.byID = map[string]int{}
		}
		s.byID[id] = len(s.all)
	}
	s.all = append(s.all, said)
	return passed, own
}

func (a *answer) run(ctx context.Context, req message.ModelRequest) error {
	p := a.p
	if p.err != nil {
		return p.err
	}
	s, err := p.settingsOf(req)
	if err != nil {
		return p.s.Refuse("%w", err)
	}
	body, text, err := s.encode(req)
	if err != nil {
		return p.s.Refuse("%w", err)
	}
	a.model, a.text, a.messages = s.model.Name, text, req.Messages.Len()
	if a.stream, err = p.s.Open(ctx, s.url, body); err != nil {
		return err
	}
	defer a.stream.Close()
	return a.play()
}

// play reads events until the end of the stream: the wire has no last event. With a finish
// the answer is complete; how the connection ends after that does not matter.
func (a *answer) play() error {
	for {
		ev, err := a.stream.Next()
		if err == nil {
			err = a.event(ev)
		}
		switch {
		case a.left:
			return nil
		case err != nil && a.finish != "" && a.stream.Lost(err):
			a.end()
			return nil
		case err != nil:
			return err
		default:
			a.stream.Finishing(a.finish != "")
		}
	}
}

func (a *answer) event(ev sse.Event) error {
	if ev.Name == wire.Failed && len(ev.Data) > 0 {
		return a.p.s.Failure(ev.Data)
	}
	data := bytes.TrimSpace(ev.Data)
	if len(data) == 0 || string(data) == "[DONE]" { // gateways of other wires end so
		return nil
	}
	a.chunk = chunk{Candidates: a.chunk.Candidates[:0]}
	if err := json.Unmarshal(data, &a.chunk, a.p.lax); err != nil {
		return a.misread(err, ev)
	}
	return a.take(&a.chunk, data)
}

func (a *answer) misread(err error, ev sse.Event) error {
	const what = "an event is no part of an answer: "
	of, typed := errors.AsType[*json.SemanticError](err)
	switch {
	case errors.Is(err, wire.ErrMany):
		return a.p.s.Broken(what+wire.ErrMany.Error(), ev.Data)
	case typed && of.JSONPointer == "":
		return a.p.s.Broken(what+"it is no JSON object", ev.Data)
	case typed:
		return a.p.s.Broken(what+string(of.JSONPointer)+" is of the wrong type", ev.Data)
	case !errors.Is(err, io.ErrUnexpectedEOF):
		return a.p.s.Broken(what+"it is no JSON", ev.Data)
	case ev.Cut:
		return a.stream.NoFinish("")
	}
	return a.p.s.Broken(what+"it ends in the middle", ev.Data)
}

func (a *answer) take(c *chunk, data []byte) error {
	if c.Error != nil {
		return a.p.s.Shown(c.Error.Error(http.StatusOK))
	}
	if c.Usage != nil {
		a.usage, a.counted = c.Usage.tokens(), true
	}
	if c.Feedback.Block != "" {
		a.finish = message.FinishFilter
	}
	for i := range c.Candidates {
		if one := &c.Candidates[i]; one.Index == 0 {
			if err := a.candidate(one, data); err != nil || a.left {
				return err
			}
		}
	}
	return nil
}

func (a *answer) candidate(c *candidate, data []byte) error {
	for i := range c.Content.Parts {
		if err := a.part(&c.Content.Parts[i], data); err != nil {
			return err
		}
	}
	if c.Token != "" {
		a.token = string(c.Token)
	}
	reason := string(c.Finish)
	switch {
	case reason == "" || reason == "FINISH_REASON_UNSPECIFIED":
	case malformed(reason):
		return a.p.s.Broken("the model's call of a tool is wrong: "+reason, []byte(c.Why))
	case reason == "MISSING_THOUGHT_SIGNATURE":
		return a.p.s.Refuse("%s: the history has a call without its signature", reason)
	case reason != "CONTINUATION":
		a.finish = finishOf(reason)
	case a.token != "":
		a.finish = message.FinishPause
	default:
		a.finish = message.FinishLength // nothing can continue it
	}
	return nil
}

func (a *answer) part(p *part, data []byte) error {
	switch {
	case p.Call != nil:
		return a.call(p, data)
	case p.Data != nil && p.Data.Data != "":
		a.media(p, p.Data)
	case p.File != nil && p.File.URI != "":
		a.media(p, p.File)
	case p.Text == "" && p.Rest != nil:
		a.whole(&message.Block{Kind: message.BlockReasoning}, meta{Model: a.model, Signature: string(p.Signature), Part: bytes.ToValidUTF8(p.Rest, []byte("\uFFFD"))})
	default:
		a.say(p)
	}
	return nil
}

// say passes text or a thought on. A part with a signature is a block of its own, because
// its text must come back with it and with nothing else.
func (a *answer) say(p *part) {
	text, kind, block := string(p.Text), message.ChunkText, message.BlockText
	if p.Thought {
		kind, block = message.ChunkReasoning, message.BlockReasoning
	}
	own := meta{Model: a.model, Signature: string(p.Signature)}
	switch {
	case text == "" && own.Signature == "":
		return
	case text == "":
		a.whole(&message.Block{Kind: block}, own)
		return
	case a.open != kind || own.Signature != "":
		a.closeBlock(kind)
	}
	a.send(message.Chunk{Kind: kind, Text: text})
	if a.open = kind; own.Signature != "" {
		a.open = 0
		a.send(message.Chunk{Kind: message.ChunkMeta, Meta: provider.Meta(vendor, own)})
	}
}

// closeBlock ends the open block, if a block of the next kind does not end it by itself. A
// thought is marked as this model's: it goes back to no other.
func (a *answer) closeBlock(next message.ChunkKind) {
	switch {
	case a.open == message.ChunkReasoning:
		a.send(message.Chunk{Kind: message.ChunkMeta, Meta: provider.Meta(vendor, meta{Model: a.model})})
	case a.open == message.ChunkText && next == message.ChunkText:
		a.send(message.Chunk{Kind: message.ChunkMeta, Meta: provider.Meta(vendor, meta{})})
	}
	a.open = 0
}

// whole passes a whole block on.
func (a *answer) whole(b *message.Block, own meta) {
	a.closeBlock(message.ChunkBlock)
	b.Meta = provider.Meta(vendor, own)
	a.sent += len(b.Data)
	a.send(message.Chunk{Kind: message.ChunkBlock, Block: b})
}

// media passes on what a model made. Images that are thoughts are drafts, and left out.
func (a *answer) media(p *part, m *media) {
	if !p.Thought {
		b := m.block()
		a.whole(&b, meta{Model: a.model, Signature: string(p.Signature)})
	}
}

// call passes a call on. The wire has it in one piece. The same call with the same id is a
// repeated event: it must not run twice.
func (a *answer) call(p *part, data []byte) error {
	c := p.Call
	switch {
	case c.Name == "" || len(c.ID) > maxWord || len(c.Name) > maxWord:
		return a.p.s.Broken("a tool call has no name, or a name or an id without end", data)
	case c.More || c.Pieces != nil:
		return a.p.s.Broken("a tool call comes in pieces, which were not asked for", data)
	case len(a.calls.all) == wire.MaxCalls:
		return a.p.s.Broken("there are too many tool calls", nil)
	}
	args := strings.ToValidUTF8(string(c.Args), "\uFFFD")
	if c.Args == nil || c.Args.Kind() == jsontext.KindNull {
		args = "{}"
	}
	at, said := len(a.calls.all), string(c.Name)+" "+args
	if a.calls.repeats(string(c.ID), said) {
		return nil
	}
	a.closeBlock(message.ChunkCallStart)
	own := meta{Model: a.model, Signature: string(p.Signature)}
	id, given := a.calls.add(string(c.ID), said, a.messages)
	if given {
		own.ID = id
	}
	a.sent += len(c.Name)
	a.send(message.Chunk{Kind: message.ChunkCallStart, Index: at, CallID: id, Tool: string(c.Name)})
	a.send(message.Chunk{Kind: message.ChunkCallArgs, Index: at, Text: args})
	a.send(message.Chunk{Kind: message.ChunkCallEnd, Index: at})
	if own.ID != "" || own.Signature != "" {
		a.send(message.Chunk{Kind: message.ChunkMeta, Meta: provider.Meta(vendor, own)})
	}
	return nil
}

func (a *answer) send(chunk message.Chunk) {
	if a.left {
		return
	}
	if chunk.Kind != message.ChunkMeta && chunk.Kind != message.ChunkFinish {
		a.finish = "" // not the end: more follows
	}
	a.sent += len(chunk.Text)
	a.left = !a.yield(chunk, nil)
}

// end sends the finish.
func (a *answer) end() {
	finish := a.finish
	if finish == message.FinishPause {
		a.whole(&message.Block{Kind: message.BlockReasoning}, meta{Model: a.model, Token: a.token})
	} else if a.open == message.ChunkReasoning {
		a.closeBlock(message.ChunkFinish)
	}
	if len(a.calls.all) > 0 && (finish == message.FinishStop || finish == message.FinishOther) {
		finish = message.FinishTools
	}
	if !a.counted {
		a.usage = wire.Estimate(a.text, a.sent)
	}
	a.send(message.Chunk{Kind: message.ChunkFinish, Finish: finish, Usage: a.usage})
}
