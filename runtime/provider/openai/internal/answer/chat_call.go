package answer

import (
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

const (
	// maxWord limits the id and the name of a call, and maxEarly the arguments that come
	// before the names of their calls, in bytes. No server sends as much.
	maxWord  = 1024
	maxEarly = 1 << 20
)

// calls are the tool calls of an answer, in the order of their begin. Their position is
// their index in the chunks passed on.
type calls struct {
	all []call
	few [4]call
	ids wire.IDs // the ids passed on
	// chunks counts the chunks with a part of a call.
	chunks int
	// early is the size of all arguments that wait for a name.
	early int
}

type call struct {
	index int    // on the wire, -1 for none
	id    string // on the wire, "" for none
	name  string
	args  shape
	// half is half a character that waits for the other half.
	half rune
	// early are arguments that came before the name.
	early []byte
	begun bool
	// chunk is the newest one with a part of this call.
	chunk int
}

func (a *chat) call(d *callDelta) error {
	if len(d.id) > maxWord || len(d.name) > maxWord {
		return a.Server.Broken("the id or the name of a tool call is longer than "+strconv.Itoa(maxWord)+" bytes", nil)
	}
	at := a.calls.find(d)
	if at < 0 {
		switch {
		case d.args.Empty() && d.name == "" && d.id == "":
			return nil // no call has begun, so none is lost
		case d.name == "" && d.id == "" && d.index < 0:
			return a.Server.Broken("there are arguments of no tool call", []byte(d.args.Text))
		case len(a.calls.all) == wire.MaxCalls:
			return a.Server.Broken("there are more than "+strconv.Itoa(wire.MaxCalls)+" tool calls", nil)
		}
		at = a.calls.add(d.index)
	}
	c := &a.calls.all[at]
	c.chunk = a.calls.chunks
	if c.name == "" {
		c.name = d.name
	}
	if c.id == "" {
		c.id = d.id
	}
	text := wire.Glue(&c.half, d.args)
	c.args.feed(text)
	if c.name == "" {
		if a.calls.early += len(text); a.calls.early > maxEarly {
			return a.Server.Broken("a tool call has arguments and no name", c.early)
		}
		c.early = append(c.early, text...)
		return nil
	}
	if !c.begun {
		text = a.begin(at, text)
	}
	if text != "" {
		a.send(message.Chunk{Kind: message.ChunkCallArgs, Index: at, Text: text})
	}
	return nil
}

// begin passes on the begin of a call, and returns its arguments so far; text is their
// newest part.
func (a *chat) begin(at int, text string) string {
	c := &a.calls.all[at]
	c.begun = true
	a.endThought()
	a.sent += len(c.name)
	a.send(message.Chunk{Kind: message.ChunkCallStart, Index: at, CallID: a.calls.ids.Unique(c.id, a.Messages, at), Tool: c.name})
	if len(c.early) > 0 {
		text, c.early = string(c.early)+text, nil
	}
	return text
}

// find returns the call of a piece; -1 if the piece begins a call.
func (s *calls) find(d *callDelta) int {
	last := len(s.all) - 1
	at := last
	switch {
	case last < 0:
		return -1
	case d.index >= 0:
		for at >= 0 && s.all[at].index != d.index {
			at--
		}
		if at < 0 && d.name == "" && s.all[last].index < 0 {
			at = last // its first piece had no index
		}
	case d.id != "":
		for at >= 0 && s.all[at].id != d.id {
			at--
		}
		if at < 0 {
			at = last // some servers give every piece an id of its own
		}
	}
	if at < 0 || s.beginsAnother(&s.all[at], d) {
		return -1
	}
	return at
}

// beginsAnother reports whether the piece begins a new call although it has the index of c,
// or none. A piece without a name never begins a call; some servers repeat the name with
// every piece.
func (s *calls) beginsAnother(c *call, d *callDelta) bool {
	switch {
	case d.name == "" || c.name == "":
		return false
	case c.name != d.name:
		return true
	case d.id != "" && c.id != "" && c.id != d.id:
		return true
	case d.index < 0 && c.chunk == s.chunks:
		return true // two entries of one list
	}
	return c.args.whole && strings.HasPrefix(strings.TrimLeft(d.args.Text, " \t\r\n"), "{")
}

func (s *calls) add(index int) int {
	if s.all == nil {
		s.all = s.few[:0]
	}
	s.all = append(s.all, call{index: index})
	return len(s.all) - 1
}

// endCalls passes on the ends of the calls, except the last call of an answer that was cut
// off.
func (a *chat) endCalls() error {
	last := len(a.calls.all) - 1
	for i := range a.calls.all {
		c := &a.calls.all[i]
		cut := (a.finish == message.FinishLength || a.finish == message.FinishFilter) && i == last
		switch {
		case c.begun:
		case cut:
			return nil // before it had a name
		default:
			return a.Server.Broken("a tool call has no name", c.early)
		}
		if rest := wire.Half(c.half); rest != "" {
			a.send(message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: rest})
		}
		if !cut {
			a.send(message.Chunk{Kind: message.ChunkCallEnd, Index: i})
		}
	}
	return nil
}

// shape tracks the brackets and quotes of a JSON text, to find the end of an object.
type shape struct {
	depth         int
	text, escaped bool
	whole         bool
}

func (s *shape) feed(text string) {
	for i := range len(text) {
		switch b := text[i]; {
		case s.escaped:
			s.escaped = false
		case s.text:
			s.text, s.escaped = b != '"', b == '\\'
		case b == '"':
			s.text = true
		case b == '{' || b == '[':
			s.depth++
			s.whole = false
		case b == '}' || b == ']':
			s.depth--
			s.whole = s.depth <= 0
		}
	}
}
