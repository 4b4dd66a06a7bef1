package openai

import (
	"context"
	"errors"
	"io"

	"github.com/go-json-experiment/json"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sse"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// asked is one request, and what both wires do with its stream.
type asked struct {
	p     *Provider
	yield func(message.Chunk, error) bool
	// left: the consumer has stopped.
	left bool
	// text is the size of the request in bytes, messages the number of its messages, and
	// sent the bytes passed on.
	text, messages, sent int
	stream               *wire.Stream
}

func (a *asked) run(ctx context.Context, req *message.ModelRequest) error {
	p := a.p
	if p.err != nil {
		return p.err
	}
	pl, err := p.plan(req)
	if err != nil {
		return err
	}
	url, encode := p.chatURL, p.encode
	if pl.wire == WireResponses {
		url, encode = p.responsesURL, p.encodeResponses
	}
	body, text, err := encode(req, &pl)
	if err != nil {
		return err
	}
	a.text, a.messages = text, req.Messages.Len()
	if a.stream, err = p.s.Open(ctx, url, body); err != nil {
		return err
	}
	defer a.stream.Close()
	if pl.wire == WireResponses {
		r := response{asked: a, model: pl.model.Name}
		return r.play()
	}
	chat := answer{asked: a}
	return chat.play()
}

// send passes a chunk on; it returns false if the consumer has stopped.
func (a *asked) send(chunk message.Chunk) bool {
	if a.left {
		return false
	}
	a.sent += len(chunk.Text)
	a.left = !a.yield(chunk, nil)
	return !a.left
}

// say passes text on; it returns false if the consumer has stopped.
func (a *asked) say(kind message.ChunkKind, waiting *rune, p wire.Piece) bool {
	if p.Empty() {
		return true
	}
	text := wire.Glue(waiting, p)
	return text == "" || a.send(message.Chunk{Kind: kind, Text: text})
}

// tail passes on a waiting half of a character.
func (a *asked) tail(kind message.ChunkKind, waiting *rune) bool {
	text := wire.Half(*waiting)
	*waiting = 0
	return text == "" || a.send(message.Chunk{Kind: kind, Text: text})
}

// misread returns the error of an event that is not what the wire has.
func (a *asked) misread(err error, ev sse.Event) error {
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
