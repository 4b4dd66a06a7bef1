package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/estimate"
	"github.com/grapnel-go/grapnel/internal/sse"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

const (
	// afterFinish is how long to wait for the usage after the finish. Then the stream
	// counts as ended.
	afterFinish = 5 * time.Second
	// afterDone is how long to wait for the end of a finished response, so that its
	// connection can serve the next request.
	afterDone = 50 * time.Millisecond
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

	events *sse.Reader
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

func (a *answer) run(parent context.Context, req message.ModelRequest) error {
	p := a.p
	if p.err != nil {
		return p.err
	}
	body, text, err := p.encode(req)
	if err != nil {
		return faulty(message.FailureRequest, err)
	}
	a.text, a.messages = text, req.Messages.Len()
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	w := &watch{cancel: func() { cancel(ErrTimeout) }}
	defer w.stop()
	w.start(p.o.FirstByteTimeout)
	resp, err := p.post(ctx, body)
	w.stop()
	if err != nil {
		return p.ended(ctx, parent, err, fmt.Sprintf("no answer began within %s; %s or Options.FirstByteTimeout changes that", p.o.FirstByteTimeout, firstByteName))
	}
	defer resp.Body.Close()
	defer context.AfterFunc(ctx, func() { _ = resp.Body.Close() })() // even if the client's transport ignores ctx
	w.body, w.quiet = resp.Body, p.o.IdleTimeout
	if err = p.accept(resp, w); err == nil {
		a.events = sse.NewReader(w, &sse.Options{
			MaxEvent: p.o.MaxEvent, MaxStream: p.o.MaxStream, KeepCut: true, Strict: true, Named: []string{failed},
		})
		err = a.play(parent, w)
	}
	if err == nil || a.left {
		return nil
	}
	return p.ended(ctx, parent, err, fmt.Sprintf("the answer paused for %s; %s or Options.IdleTimeout changes that", p.o.IdleTimeout, idleName))
}

// play reads events until the end of the stream. With a finish the answer is complete; an
// error after that does not matter.
func (a *answer) play(parent context.Context, w *watch) error {
	for {
		ev, err := a.events.Next()
		done := false
		if err == nil {
			done, err = a.event(ev)
		}
		switch {
		case a.left:
			return nil
		case err != nil:
			return a.over(parent, err)
		case done:
			if a.finish == "" {
				return fmt.Errorf("openai: %w: there was only [DONE]", provider.ErrNoFinish)
			}
			err := a.end()
			w.drain()
			return err
		case a.finish != "":
			w.quiet = shorter(w.quiet, afterFinish)
		}
	}
}

// over ends an answer after the end of its stream.
func (a *answer) over(parent context.Context, err error) error {
	var e *Error
	var line *sse.LineError
	switch {
	case errors.As(err, &e), errors.Is(err, provider.ErrProtocol):
		return err
	case errors.As(err, &line):
		return a.p.broken(err.Error(), line.Line)
	case errors.Is(err, sse.ErrEventTooLong):
		return tooLarge(err, "MaxEvent", a.p.o.MaxEvent)
	case errors.Is(err, sse.ErrStreamTooLong):
		return tooLarge(err, "MaxStream", a.p.o.MaxStream)
	case a.finish != "" && parent.Err() == nil:
		return a.end()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("openai: %w", provider.ErrNoFinish)
	}
	return err
}

// tooLarge returns an error that names the exceeded option.
func tooLarge(err error, option string, limit int) error {
	return faulty(message.FailureTooLarge, fmt.Errorf("openai: %w: Options.%s is %d bytes", err, option, limit))
}

// failed is the name of an event with an error. llama.cpp uses a field of that name.
const failed = "error"

// event reads one event. Its data has one or more values.
func (a *answer) event(ev sse.Event) (done bool, err error) {
	data := ev.Data
	if ev.Name == failed && len(data) > 0 {
		return false, a.failure(data)
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
	case errors.Is(err, errMany):
		return a.p.broken(what+errMany.Error(), ev.Data)
	case typed && of.JSONPointer == "":
		return a.p.broken(what+"it is no JSON object", ev.Data)
	case typed:
		return a.p.broken(what+string(of.JSONPointer)+" is of the wrong type", ev.Data)
	case !errors.Is(err, io.ErrUnexpectedEOF):
		return a.p.broken(what+"it is no JSON", ev.Data)
	case ev.Cut:
		return io.ErrUnexpectedEOF
	}
	return a.p.broken(what+"it ends in the middle", ev.Data)
}

func (a *answer) failure(data []byte) error {
	e := refusalOf(data, http.StatusOK)
	e.Message = orElse(e.Message, string(data))
	return a.p.shown(e)
}

func (a *answer) take(c *chunk) error {
	if why := c.refusal(); why != nil {
		return a.p.shown(why.error(http.StatusOK))
	}
	if u, counted := c.tokens(); counted {
		a.usage, a.counted = u, true
	}
	d := c.delta()
	if d.repeat && a.sent > 0 {
		d.text, d.reasoning, d.calls = piece{}, piece{}, nil
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
			return a.p.shown(&Error{Status: http.StatusOK, Message: "the server gave up: " + d.finish})
		}
	}
	return nil
}

// say passes text on; it returns false if the consumer has stopped.
func (a *answer) say(kind message.ChunkKind, waiting *rune, p piece) bool {
	if p.empty() {
		return true
	}
	text := glue(waiting, p)
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
		a.usage = message.Usage{Input: estimate.Tokens(a.text), Output: estimate.Tokens(a.sent)}
	}
	a.send(message.Chunk{Kind: message.ChunkFinish, Finish: a.finish, Usage: a.usage})
	return nil
}

// tail passes on a waiting half of a character.
func (a *answer) tail(kind message.ChunkKind, waiting rune) bool {
	return waiting == 0 || a.send(message.Chunk{Kind: kind, Text: half(waiting)})
}
