package wire

import (
	"bytes"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// Out is the part of a response that has not been sent yet.
type Out struct{ bytes.Buffer }

// Event writes a named server-sent event.
func (o *Out) Event(name string, data any) {
	o.WriteString("event: " + name + "\n")
	o.Data(data)
}

// Data writes an event without a name.
func (o *Out) Data(data any) { o.WriteString("data: " + JSON(data) + "\n\n") }

// DirectiveOf returns the directive in the Meta of a chunk; false if there is none.
func DirectiveOf(meta message.JSON) (d Directive, ok bool) {
	ok = provider.MetaFor("strictwire", meta, &d)
	return d, ok
}

// UsageOf returns the usage of a finish; what it leaves out is estimated.
func UsageOf(ask *Ask, c *message.Chunk, output int) message.Usage {
	u := c.Usage
	if u.Input == 0 {
		u.Input = ask.Input
	}
	if u.Output == 0 {
		u.Output = int64(output+3) / 4
	}
	return u
}
