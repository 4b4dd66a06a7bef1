package openai

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of what a server sends.
const maxDepth = 200

// cursor reads JSON without building anything: it walks over the text once,
// checks all of it and hands out slices. After a fault every read is empty, so
// that callers look at fault once, at the end.
type cursor struct {
	data  []byte
	pos   int
	depth int
	// fault is what is wrong with the text, cut whether it just ends too early.
	fault string
	cut   bool
	// arena holds the strings that had escapes or were no UTF-8.
	arena []byte
}

func (c *cursor) reset(data []byte) {
	c.data, c.pos, c.depth, c.fault, c.cut, c.arena = data, 0, 0, "", false, c.arena[:0]
}

// fail keeps the first fault.
func (c *cursor) fail(what string) {
	if c.fault == "" {
		c.fault, c.cut = what, c.pos >= len(c.data)
		if c.cut {
			c.fault = "it ends in the middle"
		}
	}
	c.pos = len(c.data)
}

// peek returns the first byte of the next token, 0 at the end.
func (c *cursor) peek() byte {
	for ; c.pos < len(c.data); c.pos++ {
		switch c.data[c.pos] {
		case ' ', '\t', '\n', '\r':
		default:
			return c.data[c.pos]
		}
	}
	return 0
}

// enter goes into an object or a list.
func (c *cursor) enter(open byte, what string) {
	if c.peek() != open {
		c.fail(what)
		return
	}
	if c.depth++; c.depth > maxDepth {
		c.fail("it is nested too deep")
		return
	}
	c.pos++
}

// more goes on to the next element, or leaves at the end.
func (c *cursor) more(first bool, end byte) bool {
	switch b := c.peek(); {
	case c.fault != "":
		return false
	case b == end:
		c.pos++
		c.depth--
		return false
	case first:
		return true
	case b != ',':
		c.fail("a comma is missing")
		return false
	}
	c.pos++
	if c.peek() == end {
		c.fail("there is a comma too many")
	}
	return c.fault == ""
}

// members walks over an object; whoever calls next consumes the value.
type members struct {
	c      *cursor
	key    []byte
	inside bool
}

func (c *cursor) object() members {
	c.enter('{', "an object is missing")
	return members{c: c}
}

func (m *members) next() bool {
	c := m.c
	if !c.more(!m.inside, '}') {
		return false
	}
	m.inside = true
	m.key = c.str().b
	if c.peek() != ':' {
		c.fail("a colon is missing")
		return false
	}
	c.pos++
	return c.fault == ""
}

// elements walks over a list; whoever calls next consumes the element.
type elements struct {
	c      *cursor
	inside bool
}

func (c *cursor) list() elements {
	c.enter('[', "a list is missing")
	return elements{c: c}
}

func (e *elements) next() bool {
	first := !e.inside
	e.inside = true
	return e.c.more(first, ']')
}

// piece is a string. Half a surrogate pair at either end is kept apart: some
// servers cut characters in two.
type piece struct {
	b          []byte
	head, tail rune
}

func (p piece) empty() bool { return len(p.b) == 0 && p.head == 0 && p.tail == 0 }

// str reads a string. What it returns is valid UTF-8 and good until reset.
func (c *cursor) str() piece {
	if c.peek() != '"' {
		c.fail("a string is missing")
		return piece{}
	}
	start := c.pos + 1
	ascii := byte(0)
	for i := start; i < len(c.data); i++ {
		switch b := c.data[i]; {
		case b == '"':
			c.pos = i + 1
			if ascii < utf8.RuneSelf || utf8.Valid(c.data[start:i]) {
				return piece{b: c.data[start:i]}
			}
			c.pos = start
			return c.unescape()
		case b == '\\':
			c.pos = start
			return c.unescape()
		case b < ' ':
			c.pos = i
			c.fail("a control character stands in a string")
			return piece{}
		default:
			ascii |= b
		}
	}
	c.pos = len(c.data)
	c.fail("")
	return piece{}
}

// unescape reads the rest of a string from behind its first quote.
func (c *cursor) unescape() piece {
	at := len(c.arena)
	var p piece
	for c.pos < len(c.data) {
		switch b := c.data[c.pos]; {
		case b == '"':
			c.pos++
			p.b = c.arena[at:]
			return p
		case b == '\\':
			if !c.escape(&p, len(c.arena) == at) {
				return piece{}
			}
		case b < ' ':
			c.fail("a control character stands in a string")
			return piece{}
		case b < utf8.RuneSelf:
			c.arena = append(c.arena, b)
			c.pos++
		default:
			r, n := utf8.DecodeRune(c.data[c.pos:])
			c.arena = utf8.AppendRune(c.arena, r)
			c.pos += n
		}
	}
	c.fail("")
	return piece{}
}

// escape reads one escape into the arena.
func (c *cursor) escape(p *piece, first bool) bool {
	if c.pos++; c.pos == len(c.data) {
		c.fail("")
		return false
	}
	b := c.data[c.pos]
	c.pos++
	switch b {
	case '"', '\\', '/':
	case 'b':
		b = '\b'
	case 'f':
		b = '\f'
	case 'n':
		b = '\n'
	case 'r':
		b = '\r'
	case 't':
		b = '\t'
	case 'u':
		return c.unicode(p, first)
	default:
		c.fail("an unknown escape stands in a string")
		return false
	}
	c.arena = append(c.arena, b)
	return true
}

// unicode reads what follows \u.
func (c *cursor) unicode(p *piece, first bool) bool {
	r, ok := c.hex()
	if !ok {
		return false
	}
	switch {
	case !utf16.IsSurrogate(r):
	case r >= 0xDC00:
		if first && p.head == 0 {
			p.head = r
			return true
		}
		r = utf8.RuneError
	case c.pos < len(c.data) && c.data[c.pos] == '"':
		p.tail = r
		return true
	default:
		r = c.pair(r)
	}
	c.arena = utf8.AppendRune(c.arena, r)
	return true
}

// pair returns the character of a high surrogate and what follows, if that is
// its other half.
func (c *cursor) pair(high rune) rune {
	if !bytes.HasPrefix(c.data[c.pos:], []byte(`\u`)) {
		return utf8.RuneError
	}
	back := c.pos
	c.pos += 2
	low, ok := c.hex()
	if !ok {
		return utf8.RuneError
	}
	r := utf16.DecodeRune(high, low)
	if r == utf8.RuneError {
		c.pos = back
	}
	return r
}

func (c *cursor) hex() (rune, bool) {
	if len(c.data)-c.pos < 4 {
		c.pos = len(c.data)
		c.fail("")
		return 0, false
	}
	var r rune
	for _, b := range c.data[c.pos : c.pos+4] {
		switch {
		case b >= '0' && b <= '9':
			b -= '0'
		case b|0x20 >= 'a' && b|0x20 <= 'f':
			b = b | 0x20 - 'a' + 10
		default:
			c.fail("an escape has a wrong digit")
			return 0, false
		}
		r = r<<4 | rune(b)
	}
	c.pos += 4
	return r, true
}
