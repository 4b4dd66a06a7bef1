package openai

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

// answer is one request and its stream.
type answer struct {
	p     *Provider
	yield func(message.Chunk, error) bool
	// left: the consumer has stopped.
	left bool
	// text is the size of the request in bytes, messages the number of its messages, and
	// sent the bytes passed on.
	text, messages, sent int

	stream *wire.Stream
	// json reads the chunk from data.
	json  jsontext.Decoder
	data  bytes.Buffer
	chunk chunk
	calls calls
	// textHalf and reasoningHalf are halves of characters that wait for the other half.
	textHalf, reasoningHalf rune
	finish                  message.FinishReason
	// usage is the server's; counted: it has come.
	usage   message.Usage
	counted bool
}

func (a *answer) run(ctx context.Context, req message.ModelRequest) error {
	p := a.p
	if p.err != nil {
		return p.err
	}
	body, text, err := p.encode(req)
	if err != nil {
		return p.s.Refuse("%w", err)
	}
	a.text, a.messages = text, req.Messages.Len()
	if a.stream, err = p.s.Open(ctx, p.chatURL, body); err != nil {
		return err
	}
	defer a.stream.Close()
	return a.play()
}

// play reads events until the end of the stream. With a finish the answer is complete; an
// error after that does not matter.
func (a *answer) play() error {
	for {
		ev, err := a.stream.Next()
		done := false
		if err == nil {
			done, err = a.event(ev)
		}
		switch {
		case a.left:
			return nil
		case err != nil && a.finish != "" && a.stream.Lost(err):
			return a.end()
		case err != nil:
			return err
		case done:
			if a.finish == "" {
				return a.stream.NoFinish("there was only [DONE]")
			}
			err := a.end()
			a.stream.Drain()
			return err
		case a.finish != "":
			a.stream.Finishing()
		}
	}
}

// event reads one event. Its data has one or more values.
func (a *answer) event(ev sse.Event) (done bool, err error) {
	data := ev.Data
	if ev.Name == wire.Failed && len(data) > 0 {
		return false, a.p.s.Failure(data)
	}
	a.data = *bytes.NewBuffer(data)
	a.json.Reset(&a.data, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		rest := bytes.TrimLeft(data[a.json.InputOffset():], " \t\r\n")
		if len(rest) == 0 || bytes.HasPrefix(rest, []byte("[DONE]")) {
			return len(rest) > 0, nil
		}
		a.chunk = chunk{Choices: a.chunk.Choices[:0]}
		if err := json.UnmarshalDecode(&a.json, &a.chunk); err != nil {
			return false, a.misread(err, ev)
		}
		if err := a.take(&a.chunk); err != nil || a.left {
			return false, err
		}
	}
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

func (a *answer) take(c *chunk) error {
	if why := c.refusal(); why != nil {
		return a.p.s.Shown(why.Error(http.StatusOK))
	}
	if u, counted := c.tokens(); counted {
		a.usage, a.counted = u, true
	}
	d := c.delta()
	if d.repeat && a.sent > 0 {
		d.text, d.reasoning, d.calls = wire.Piece{}, wire.Piece{}, nil
	}
	if d.says() {
		a.finish = "" // not the end: more follows
	}
	if !a.say(message.ChunkReasoning, &a.reasoningHalf, d.reasoning) || !a.say(message.ChunkText, &a.textHalf, d.text) {
		return nil
	}
	a.calls.chunks++
	for i := range d.calls {
		if err := a.call(&d.calls[i]); err != nil || a.left {
			return err
		}
	}
	if d.finish != "" {
		var ok bool
		if a.finish, ok = finishOf(d.finish); !ok {
			return a.p.s.Shown(&provider.ServerError{Status: http.StatusOK, Message: "the server gave up: " + d.finish})
		}
	}
	return nil
}

// say passes text on; it returns false if the consumer has stopped.
func (a *answer) say(kind message.ChunkKind, waiting *rune, p wire.Piece) bool {
	if p.Empty() {
		return true
	}
	text := wire.Glue(waiting, p)
	return text == "" || a.send(message.Chunk{Kind: kind, Text: text})
}

func (a *answer) send(chunk message.Chunk) bool {
	if a.left {
		return false
	}
	a.sent += len(chunk.Text)
	a.left = !a.yield(chunk, nil)
	return !a.left
}

// end ends open blocks and sends the finish.
func (a *answer) end() error {
	_ = a.tail(message.ChunkReasoning, a.reasoningHalf) && a.tail(message.ChunkText, a.textHalf)
	if err := a.endCalls(); err != nil {
		return err
	}
	switch n := len(a.calls.all); {
	case n > 0 && (a.finish == message.FinishStop || a.finish == message.FinishOther):
		a.finish = message.FinishTools
	case n == 0 && a.finish == message.FinishTools:
		a.finish = message.FinishStop
	}
	if !a.counted {
		a.usage = wire.Estimate(a.text, a.sent)
	}
	a.send(message.Chunk{Kind: message.ChunkFinish, Finish: a.finish, Usage: a.usage})
	return nil
}

// tail passes on a waiting half of a character.
func (a *answer) tail(kind message.ChunkKind, waiting rune) bool {
	return waiting == 0 || a.send(message.Chunk{Kind: kind, Text: wire.Half(waiting)})
}

// finishOf maps a server's finish reason; false if the answer was not finished.
func finishOf(reason string) (message.FinishReason, bool) {
	switch strings.ToLower(reason) {
	case "stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed", "end":
		return message.FinishStop, true
	case "tool_calls", "tool_call", "tool_use", "function_call":
		return message.FinishTools, true
	case "length", "max_tokens", "model_length", "max_output_tokens", "model_context_window_exceeded":
		return message.FinishLength, true
	case "content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii", "refusal", "sensitive":
		return message.FinishFilter, true
	case "error", "abort", "aborted", "cancelled", "canceled", "network_error", "insufficient_system_resource":
		return "", false
	}
	return message.FinishOther, true
}
