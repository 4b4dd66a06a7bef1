// Package answer reads the streams of OpenAI's two wires and passes them on as chunks.
package answer

import (
	"errors"
	"io"

	"github.com/go-json-experiment/json"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sse"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// Reader reads the stream of one answer. The caller sets all exported fields and calls Chat or
// Responses once.
type Reader struct {
	Server *wire.Server
	Stream *wire.Stream
	// Yield takes the chunks, as in message.ModelStream.
	Yield func(message.Chunk, error) bool
	// Vendor is the key of the Meta of blocks, Model the model that answers.
	Vendor, Model string
	// Marks: reasoning of the chat wire gets a Mark, because it goes back.
	Marks bool
	// Text is the size of the request in bytes, and Messages the number of its messages.
	Text, Messages int

	// left: the consumer has stopped. sent is the number of bytes passed on.
	left bool
	sent int
}

// Chat reads a stream of chat completions to its end.
func (r *Reader) Chat() error { return (&chat{Reader: r}).play() }

// Responses reads a stream of the Responses wire to its end.
func (r *Reader) Responses() error { return (&response{Reader: r}).play() }

// Left reports whether the consumer has stopped: nothing may be passed on any more.
func (r *Reader) Left() bool { return r.left }

// Mark is the Meta of a block from the Responses wire, under the name of the vendor.
type Mark struct {
	// ID is the id of the item that the block was.
	ID string `json:"id,omitzero"`
	// Model is the model that made it: no other one takes its reasoning back.
	Model string `json:"model,omitzero"`
	// Encrypted is the reasoning as the server wants it back.
	Encrypted string `json:"encrypted,omitzero"`
	// Summary has the parts of the reasoning's text, if there is more than one.
	Summary []string `json:"summary,omitzero"`
	// Phase is the part of the turn that a text belongs to; Refusal: it is a refusal.
	Phase   string `json:"phase,omitzero"`
	Refusal bool   `json:"refusal,omitzero"`
}

// send passes a chunk on; it returns false if the consumer has stopped.
func (r *Reader) send(chunk message.Chunk) bool {
	if r.left {
		return false
	}
	r.sent += len(chunk.Text)
	r.left = !r.Yield(chunk, nil)
	return !r.left
}

// say passes text on; it returns false if the consumer has stopped.
func (r *Reader) say(kind message.ChunkKind, waiting *rune, p wire.Piece) bool {
	if p.Empty() {
		return true
	}
	text := wire.Glue(waiting, p)
	return text == "" || r.send(message.Chunk{Kind: kind, Text: text})
}

// tail passes on a waiting half of a character.
func (r *Reader) tail(kind message.ChunkKind, waiting *rune) bool {
	text := wire.Half(*waiting)
	*waiting = 0
	return text == "" || r.send(message.Chunk{Kind: kind, Text: text})
}

// misread returns the error of an event that is not what the wire has.
func (r *Reader) misread(err error, ev sse.Event) error {
	const what = "an event is no part of an answer: "
	of, typed := errors.AsType[*json.SemanticError](err)
	switch {
	case errors.Is(err, wire.ErrMany):
		return r.Server.Broken(what+wire.ErrMany.Error(), ev.Data)
	case typed && of.JSONPointer == "":
		return r.Server.Broken(what+"it is no JSON object", ev.Data)
	case typed:
		return r.Server.Broken(what+string(of.JSONPointer)+" is of the wrong type", ev.Data)
	case !errors.Is(err, io.ErrUnexpectedEOF):
		return r.Server.Broken(what+"it is no JSON", ev.Data)
	case ev.Cut:
		return r.Stream.NoFinish("")
	}
	return r.Server.Broken(what+"it ends in the middle", ev.Data)
}
