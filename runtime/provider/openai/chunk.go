package openai

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/hook/message"
)

// delta is one chunk of the wire. Its texts are good until the cursor is reset.
type delta struct {
	text, reasoning piece
	calls           []callDelta
	finish          []byte
	usage           message.Usage
	counted         bool
	refusal         Error
	wrong           bool // refusal is set
	repeat          bool // it is the whole answer in one piece
}

// callDelta is one piece of a tool call.
type callDelta struct {
	index    int // -1: there is none
	id, name []byte
	args     piece
}

func (d *delta) reset() {
	*d = delta{calls: d.calls[:0]}
}

// says reports whether the chunk carries a part of the answer.
func (d *delta) says() bool {
	return !d.text.empty() || !d.reasoning.empty() || len(d.calls) > 0
}

// chunk reads a chunk of an answer, or an error in its place.
func (c *cursor) chunk(d *delta) {
	message, object := piece{}, false
	for m := c.object(); m.next(); {
		switch string(m.key) {
		case "choices":
			c.choices(d)
		case "usage":
			c.usage(d)
		case "error":
			if c.word("null") {
				continue
			}
			d.wrong = true
			c.reason(&d.refusal)
		case "object":
			object = string(c.text().b) == "error"
		case "message":
			message = c.text()
		default:
			c.skip()
		}
	}
	if object && !d.wrong {
		d.wrong, d.refusal.Message = true, string(message.b)
	}
}

func (c *cursor) choices(d *delta) {
	if c.word("null") {
		return
	}
	for e := c.list(); e.next(); {
		c.choice(d)
	}
}

// choice reads a choice; there is one, because no more are asked for.
func (c *cursor) choice(d *delta) {
	for m := c.object(); m.next(); {
		switch string(m.key) {
		case "delta":
			c.delta(d)
		case "finish_reason":
			d.finish = c.text().b
		case "message": // some repeat the answer here, some send only this
			if d.says() {
				c.skip()
				continue
			}
			d.repeat = true
			c.delta(d)
		default:
			c.skip()
		}
	}
}

func (c *cursor) delta(d *delta) {
	if c.word("null") {
		return
	}
	for m := c.object(); m.next(); {
		switch string(m.key) {
		case "content", "refusal":
			c.content(&d.text)
		case "reasoning_content", "reasoning":
			if p := c.text(); d.reasoning.empty() { // some send both
				d.reasoning = p
			}
		case "tool_calls":
			c.toolCalls(d)
		case "function_call":
			if !c.word("null") {
				d.calls = append(d.calls, callDelta{index: -1})
				c.function(&d.calls[len(d.calls)-1])
			}
		default:
			c.skip()
		}
	}
}

// content reads a text, or a list of parts of which the texts are taken.
func (c *cursor) content(into *piece) {
	if c.peek() != '[' {
		if p := c.text(); !p.empty() {
			*into = p
		}
		return
	}
	var all []byte
	for e := c.list(); e.next(); {
		if c.peek() != '{' {
			c.skip()
			continue
		}
		for m := c.object(); m.next(); {
			if string(m.key) == "text" {
				all = append(all, c.text().b...)
				continue
			}
			c.skip()
		}
	}
	if len(all) > 0 {
		*into = piece{b: all}
	}
}

func (c *cursor) toolCalls(d *delta) {
	if c.word("null") {
		return
	}
	for e := c.list(); e.next(); {
		if len(d.calls) == maxCalls {
			c.fail("it has parts of more than " + strconv.Itoa(maxCalls) + " tool calls")
			return
		}
		d.calls = append(d.calls, callDelta{index: -1})
		c.toolCall(&d.calls[len(d.calls)-1])
	}
}

func (c *cursor) toolCall(call *callDelta) {
	for m := c.object(); m.next(); {
		switch string(m.key) {
		case "index":
			if b := c.peek(); b >= '0' && b <= '9' {
				call.index = int(c.count())
				continue
			}
			c.skip()
		case "id":
			call.id = c.text().b
		case "function":
			if !c.word("null") {
				c.function(call)
			}
		default:
			c.skip()
		}
	}
}

func (c *cursor) function(call *callDelta) {
	for m := c.object(); m.next(); {
		switch string(m.key) {
		case "name":
			call.name = c.text().b
		case "arguments":
			switch c.peek() {
			case '"':
				call.args = c.str()
			case '{':
				call.args = piece{b: bytes.ToValidUTF8(c.raw(), []byte("\uFFFD"))}
			default:
				c.skip()
			}
		default:
			c.skip()
		}
	}
}

func (c *cursor) usage(d *delta) {
	if c.peek() != '{' {
		c.skip()
		return
	}
	u := &d.usage
	for m := c.object(); m.next(); {
		switch string(m.key) {
		case "prompt_tokens":
			u.Input = c.count()
		case "completion_tokens":
			u.Output = c.count()
		case "prompt_cache_hit_tokens":
			u.CacheRead = c.count()
		case "prompt_tokens_details", "completion_tokens_details":
			c.usageDetails(u)
		default:
			c.skip()
		}
	}
	d.counted = u.Total() > 0 // nothing but zeros says nothing
}

func (c *cursor) usageDetails(u *message.Usage) {
	if c.peek() != '{' {
		c.skip()
		return
	}
	for m := c.object(); m.next(); {
		switch string(m.key) {
		case "cached_tokens":
			u.CacheRead = c.count()
		case "reasoning_tokens":
			u.Reasoning = c.count()
		default:
			c.skip()
		}
	}
}

// glue returns the text of a piece behind the half of a character that waits
// from the piece before, and makes its own last half wait.
func glue(waiting *rune, p piece) string {
	if *waiting == 0 && p.head == 0 && p.tail == 0 || p.empty() {
		return string(p.b)
	}
	var out []byte
	switch {
	case *waiting != 0 && p.head != 0:
		out = utf8.AppendRune(out, utf16.DecodeRune(*waiting, p.head))
	case *waiting != 0 || p.head != 0:
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	*waiting = p.tail
	return string(append(out, p.b...))
}

// half returns what is shown of half a character.
func half(r rune) string {
	if r == 0 {
		return ""
	}
	return string(utf8.RuneError)
}
