// Package reply writes the results of tools as JSON, byte for byte what
// encoding/json writes without its escapes for HTML. Generated code calls it for the
// types that it knows; it is not a general JSON package.
//
// The method that runs a tool reads like this:
//
//	out, err := c.notes.Find(ctx, c.in)
//	if err != nil {
//		return composite.Failed(err)
//	}
//	e := reply.New()
//	encodeFound(e, &out)
//	return e.Result()
//
// and the function that writes a struct like this:
//
//	func encodeFound(e *reply.Encoder, out *Found) {
//		e.Object()
//		e.Name("title").String(out.Title)
//		if out.Pages != 0 {
//			e.Name("pages").Int(int64(out.Pages))
//		}
//		e.EndObject()
//	}
//
// The first error sticks: what comes after it is written for nothing, and Result
// tells it. A result costs its text and its block; what it is written in is used
// again.
package reply

import (
	"sync"

	"github.com/grapnel-go/grapnel/hook"
)

// Encoder writes one result, from front to back. One goroutine at a time; make it
// with [New].
type Encoder struct {
	text []byte
	err  error
}

var encoders = sync.Pool{New: func() any { return new(Encoder) }}

// keptText is the largest text that is kept for the next result, in bytes.
const keptText = 64 << 10

// New returns an encoder that has written nothing.
func New() *Encoder { return encoders.Get().(*Encoder) }

// Result ends the encoding: it returns what was written, or a failed result that says
// why it could not be. The encoder must not be used any more. One that is never
// asked, because something has panicked, is lost.
func (e *Encoder) Result() hook.ToolResult {
	text, err := hook.JSON(e.text), e.err
	if cap(e.text) <= keptText {
		e.text, e.err = e.text[:0], nil
		encoders.Put(e)
	}
	if err != nil {
		return Unwritable(err)
	}
	return hook.JSONResult(text)
}

// Unwritable returns the result of a tool whose answer cannot be written as JSON.
func Unwritable(err error) hook.ToolResult {
	return hook.FailedResult(hook.FailOperation, "the result cannot be written as JSON: "+err.Error())
}

// fail keeps the first error.
func (e *Encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// Object begins an object.
func (e *Encoder) Object() { e.text = append(e.text, '{') }

// EndObject ends the object that was begun last.
func (e *Encoder) EndObject() { e.text = append(e.text, '}') }

// Array begins an array.
func (e *Encoder) Array() { e.text = append(e.text, '[') }

// EndArray ends the array that was begun last.
func (e *Encoder) EndArray() { e.text = append(e.text, ']') }

// Name writes the name of a member, whose value follows. It is written as it is,
// because names of fields never need an escape; [Encoder.Key] is for all others.
func (e *Encoder) Name(name string) *Encoder {
	e.separate('{')
	e.text = append(append(append(e.text, '"'), name...), `":`...)
	return e
}

// Key writes the key of an entry of a map, whose value follows.
func (e *Encoder) Key(key string) *Encoder {
	e.separate('{')
	e.String(key)
	e.text = append(e.text, ':')
	return e
}

// Next begins an element of an array, which follows.
func (e *Encoder) Next() *Encoder {
	e.separate('[')
	return e
}

// separate writes a comma, unless what it stands in has just begun.
func (e *Encoder) separate(begin byte) {
	if e.text[len(e.text)-1] != begin {
		e.text = append(e.text, ',')
	}
}
