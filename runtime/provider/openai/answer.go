package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

const (
	// afterFinish is how long a stream that has finished may keep quiet before it
	// counts as ended: what may still come is the usage.
	afterFinish = 5 * time.Second
	// afterDone is how long the end of a finished response is waited for, so that
	// its connection can serve the next request.
	afterDone = 50 * time.Millisecond
)

// answer is one request and its stream.
type answer struct {
	p     *Provider
	yield func(message.Chunk, error) bool
	// left: the consumer wants no more.
	left bool
	// text is the size of the request in bytes and messages their number, sent the
	// bytes that have been passed on.
	text, messages, sent int

	events events
	cursor cursor
	delta  delta
	calls  calls
	// halves of characters that wait for the other half.
	textHalf, reasoningHalf rune
	finish                  message.FinishReason
	// usage as it came; counted: it has come.
	usage   message.Usage
	counted bool
}

// run makes the request and plays the stream to the consumer.
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
	w.start(p.o.HeaderTimeout)
	resp, err := p.post(ctx, body)
	w.stop()
	if err != nil {
		return p.ended(ctx, parent, err)
	}
	defer resp.Body.Close()
	defer context.AfterFunc(ctx, func() { _ = resp.Body.Close() })() // whatever the client's own transport does
	w.body, w.quiet = resp.Body, p.o.IdleTimeout
	if err = p.accept(resp, w); err == nil {
		a.events = events{src: w, most: p.o.MaxEvent, left: p.o.MaxStream}
		err = a.play(parent, w)
	}
	if err == nil || a.left {
		return nil
	}
	return p.ended(ctx, parent, err)
}

// play reads events until the stream is over. A finish is what makes an answer
// whole; a connection that breaks behind it has done its work.
func (a *answer) play(parent context.Context, w *watch) error {
	for {
		data, err := a.events.next()
		done := false
		if err == nil {
			done, err = a.event(data)
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

// over ends an answer whose stream is over.
func (a *answer) over(parent context.Context, err error) error {
	var e *Error
	switch {
	case errors.As(err, &e), errors.Is(err, provider.ErrProtocol):
		return err
	case errors.Is(err, errField):
		return a.p.broken(err.Error(), a.events.odd)
	case errors.Is(err, errLong):
		return tooLarge(err, "MaxEvent", a.p.o.MaxEvent)
	case errors.Is(err, errMuch):
		return tooLarge(err, "MaxStream", a.p.o.MaxStream)
	case a.finish != "" && parent.Err() == nil:
		return a.end()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("openai: %w", provider.ErrNoFinish)
	}
	return err
}

// tooLarge names the option that bounds what a server has sent too much of.
func tooLarge(err error, option string, limit int) error {
	return faulty(message.FailureTooLarge, fmt.Errorf("openai: %w: Options.%s is %d bytes", err, option, limit))
}

// event takes the data of one event: one value, or several.
func (a *answer) event(data []byte) (done bool, err error) {
	c := &a.cursor
	c.reset(data)
	if a.events.failed {
		return false, a.failure(data)
	}
	for c.peek() != 0 {
		if c.word("[DONE]") {
			return true, nil
		}
		a.delta.reset()
		c.chunk(&a.delta)
		switch {
		case c.fault != "" && c.cut && a.events.torn:
			return false, io.ErrUnexpectedEOF
		case c.fault != "":
			return false, a.p.broken("an event is no part of an answer: "+c.fault, data)
		}
		if err := a.take(); err != nil || a.left {
			return false, err
		}
	}
	return false, nil
}

// failure reads an event that the server calls an error.
func (a *answer) failure(data []byte) error {
	e := &Error{Status: http.StatusOK}
	if a.cursor.peek() == '{' {
		a.cursor.refusal(e)
	}
	e.Message = orElse(e.Message, string(data))
	return a.p.shown(e)
}

// take passes one chunk on.
func (a *answer) take() error {
	d := &a.delta
	if d.wrong {
		d.refusal.Status = http.StatusOK
		refusal := d.refusal
		return a.p.shown(&refusal)
	}
	if d.counted {
		a.usage, a.counted = d.usage, true
	}
	if d.repeat && a.sent > 0 {
		d.text, d.reasoning, d.calls = piece{}, piece{}, nil
	}
	if d.says() {
		a.finish = "" // it was none: more follows
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
	if len(d.finish) > 0 {
		var ok bool
		if a.finish, ok = finishOf(string(d.finish)); !ok {
			return a.p.shown(&Error{Status: http.StatusOK, Message: "the server gave up: " + string(d.finish)})
		}
	}
	return nil
}

// say passes text on; false if the consumer has left.
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

// end ends what is open and finishes.
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
		a.usage = message.Usage{Input: estimate(a.text), Output: estimate(a.sent)}
	}
	a.send(message.Chunk{Kind: message.ChunkFinish, Finish: a.finish, Usage: a.usage})
	return nil
}

// tail passes on what is left of half a character.
func (a *answer) tail(kind message.ChunkKind, waiting rune) bool {
	return waiting == 0 || a.send(message.Chunk{Kind: kind, Text: half(waiting)})
}

// estimate is the usual guess: four bytes a token.
func estimate(size int) int64 { return int64(size+3) / 4 }
