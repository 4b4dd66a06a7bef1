package openai

import (
	"bytes"
	"strconv"
)

// skip goes past a value of any kind.
func (c *cursor) skip() {
	switch b := c.peek(); {
	case b == '{':
		for m := c.object(); m.next(); {
			c.skip()
		}
	case b == '[':
		for e := c.list(); e.next(); {
			c.skip()
		}
	case b == '"':
		c.str()
	case b == '-' || b >= '0' && b <= '9':
		c.number()
	case c.word("null") || c.word("true") || c.word("false"):
	default:
		c.fail("a value is missing")
	}
}

// raw goes past a value and returns its text.
func (c *cursor) raw() []byte {
	c.peek()
	from := c.pos
	c.skip()
	if c.fault != "" {
		return nil
	}
	return c.data[from:c.pos]
}

// word goes past a word if it is there.
func (c *cursor) word(w string) bool {
	if c.peek() != w[0] || !bytes.HasPrefix(c.data[c.pos:], []byte(w)) {
		return false
	}
	c.pos += len(w)
	return true
}

// text reads a string and goes past anything else.
func (c *cursor) text() piece {
	if c.peek() == '"' {
		return c.str()
	}
	c.skip()
	return piece{}
}

// words reads a string or the text of a number; anything else is "".
func (c *cursor) words() string {
	switch b := c.peek(); {
	case b == '"':
		p := c.str()
		var none rune
		return glue(&none, p) + half(none)
	case b == '-' || b >= '0' && b <= '9':
		return string(c.number())
	}
	c.skip()
	return ""
}

// count reads a number of tokens; anything else is 0.
func (c *cursor) count() int64 {
	if b := c.peek(); b != '-' && (b < '0' || b > '9') {
		c.skip()
		return 0
	}
	text := string(c.number())
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !(f < 1<<53) {
			return 0
		}
		n = int64(f)
	}
	return max(n, 0)
}

// number goes past a number and returns its text.
func (c *cursor) number() []byte {
	from := c.pos
	if c.at('-') {
		c.pos++
	}
	switch {
	case c.at('0'):
		c.pos++
	case !c.digits():
		c.fail("a digit is missing")
		return nil
	}
	if c.at('.') {
		c.pos++
		if !c.digits() {
			c.fail("a digit is missing")
			return nil
		}
	}
	if c.at('e') || c.at('E') {
		c.pos++
		if c.at('+') || c.at('-') {
			c.pos++
		}
		if !c.digits() {
			c.fail("a digit is missing")
			return nil
		}
	}
	return c.data[from:c.pos]
}

func (c *cursor) at(b byte) bool { return c.pos < len(c.data) && c.data[c.pos] == b }

func (c *cursor) digits() bool {
	from := c.pos
	for c.pos < len(c.data) && c.data[c.pos] >= '0' && c.data[c.pos] <= '9' {
		c.pos++
	}
	return c.pos > from
}

// isObject reports whether the text is one JSON object.
func (c *cursor) isObject(text []byte) bool {
	c.reset(text)
	if c.peek() != '{' {
		return false
	}
	c.skip()
	c.peek()
	return c.fault == "" && c.pos == len(c.data)
}
