package stream

import (
	"io"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Masker masks what events, and lists of requests, show to people. What was masked once stays as it
// is. Implementations are safe for concurrent use.
type Masker interface {
	// Event returns the event with its texts, arguments and results masked.
	Event(ev hook.Event) hook.Event
	// Inquiry returns the inquiry with its texts and the arguments in it masked.
	Inquiry(q hook.Inquiry) hook.Inquiry
	// JSON returns the arguments of a call masked: JSON, unless they were none.
	JSON(doc message.JSON) message.JSON
	// Pieces returns a writer that masks a text which comes in pieces, so that nothing gets
	// through that lies across two of them. It writes to w as much as is certain; Close writes
	// the rest.
	Pieces(w io.Writer) io.WriteCloser
}
