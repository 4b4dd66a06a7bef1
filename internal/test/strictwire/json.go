package strictwire

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// kind is the kind of a JSON value; none is that of a member that is not there.
type kind uint8

const (
	none kind = iota
	null
	boolean
	number
	text
	array
	object
)

type node struct {
	kind kind
	// key is the name of a member of an object.
	key string
	// text is a decoded string, or the literal of a number or a boolean.
	text string
	// list is the elements of an array or the members of an object.
	list []node
}

// get returns the member of an object; of two with one name the last.
func (n node) get(key string) node {
	for i := len(n.list) - 1; i >= 0; i-- {
		if n.list[i].key == key && n.kind == object {
			return n.list[i]
		}
	}
	return node{}
}

// oneText returns the list of blocks that a text alone stands for.
func oneText(s string) []node {
	return []node{{kind: object, list: []node{{kind: text, key: "type", text: "text"}, {kind: text, key: "text", text: s}}}}
}

func (n node) is(s string) bool { return n.kind == text && n.text == s }

// natural reports whether n is an integer of at least 1.
func (n node) natural() bool {
	v, err := strconv.ParseInt(n.text, 10, 64)
	return n.kind == number && err == nil && v >= 1
}

// maxDepth bounds the nesting of what is parsed.
const maxDepth = 1000

// parser reads JSON as a strict server does: no lone surrogates, no bytes that are
// no UTF-8, nothing behind the value. It keeps the first fault.
type parser struct {
	s     string
	pos   int
	depth int
	fault string
	// open are the items of the arrays and objects that have not ended; done are
	// those of the others, which their lists are parts of.
	open, done []node
}

// reset takes back every value that has been parsed, to use their memory again.
func (p *parser) reset() {
	clear(p.done)
	clear(p.open[:cap(p.open)])
	p.open, p.done = p.open[:0], p.done[:0]
}

// parse returns the value that s is; fault says why it is none. The values that
// were parsed before stay until reset.
func (p *parser) parse(s string) (n node, fault string) {
	if !utf8.ValidString(s) {
		return node{}, "invalid utf-8 sequence"
	}
	p.s, p.pos, p.depth, p.fault = s, 0, 0, ""
	n = p.value()
	if p.peek(); p.fault == "" && p.pos < len(s) {
		p.fail("trailing characters")
	}
	return n, p.fault
}

func (p *parser) fail(what string) {
	if p.fault == "" {
		p.fault = fmt.Sprintf("%s: line 1 column %d (char %d)", what, p.pos+1, p.pos)
	}
	p.pos = len(p.s)
}

// peek returns the next byte that is no blank, 0 at the end.
func (p *parser) peek() byte {
	for ; p.pos < len(p.s); p.pos++ {
		switch p.s[p.pos] {
		case ' ', '\t', '\n', '\r':
		default:
			return p.s[p.pos]
		}
	}
	return 0
}

func (p *parser) value() node {
	if p.depth++; p.depth > maxDepth {
		p.fail("nested too deep")
	}
	defer func() { p.depth-- }()
	switch b := p.peek(); {
	case b == '{':
		return p.object()
	case b == '[':
		return p.array()
	case b == '"':
		return node{kind: text, text: p.string()}
	case b == '-' || b >= '0' && b <= '9':
		return p.number()
	}
	for _, n := range [...]node{{kind: null, text: "null"}, {kind: boolean, text: "true"}, {kind: boolean, text: "false"}} {
		if strings.HasPrefix(p.s[p.pos:], n.text) {
			p.pos += len(n.text)
			return n
		}
	}
	p.fail("unexpected character")
	return node{}
}

func (p *parser) object() node {
	from := len(p.open)
	for p.items('}') {
		if p.peek() != '"' {
			p.fail("a name is missing")
			break
		}
		key := p.string()
		if p.peek() != ':' {
			p.fail("a colon is missing")
			break
		}
		p.pos++
		n := p.value()
		n.key = key
		p.open = append(p.open, n)
	}
	return node{kind: object, list: p.close(from)}
}

func (p *parser) array() node {
	from := len(p.open)
	for p.items(']') {
		n := p.value()
		p.open = append(p.open, n)
	}
	return node{kind: array, list: p.close(from)}
}

// close returns the items of an array or object that has ended.
func (p *parser) close(from int) []node {
	at := len(p.done)
	p.done = append(p.done, p.open[from:]...)
	p.open = p.open[:from]
	return p.done[at:len(p.done):len(p.done)]
}

// items goes to the next item of an array or object and reports whether there is
// one. The bracket that opens it is where the first call finds itself.
func (p *parser) items(end byte) bool {
	b := p.peek()
	p.pos++
	switch {
	case p.fault != "" || p.pos > len(p.s):
		p.fail("unexpected end")
		return false
	case b == end:
		return false
	case b == end-2: // [ and ], { and }
		if p.peek() == end {
			p.pos++
			return false
		}
		return true
	case b == ',':
		if p.peek() == end {
			p.fail("a trailing comma")
			return false
		}
		return true
	}
	p.fail("a comma is missing")
	return false
}

func (p *parser) number() node {
	from := p.pos
	p.skip("-", 1)
	if p.skip("0", 1) == 0 {
		p.digits()
	}
	if p.skip(".", 1) > 0 {
		p.digits()
	}
	if p.skip("eE", 1) > 0 {
		p.skip("+-", 1)
		p.digits()
	}
	return node{kind: number, text: p.s[from:p.pos]}
}

// digits goes past digits, of which there has to be one.
func (p *parser) digits() {
	if p.skip("0123456789", len(p.s)) == 0 {
		p.fail("a digit is missing")
	}
}

// skip goes past at most so many of the bytes and returns how many there were.
func (p *parser) skip(bytes string, most int) (n int) {
	for n < most && p.pos < len(p.s) && strings.IndexByte(bytes, p.s[p.pos]) >= 0 {
		p.pos++
		n++
	}
	return n
}

// string reads a string; without escapes it is a part of the text.
func (p *parser) string() string {
	p.pos++
	from := p.pos
	for ; p.pos < len(p.s); p.pos++ {
		switch b := p.s[p.pos]; {
		case b == '"':
			p.pos++
			return p.s[from : p.pos-1]
		case b == '\\':
			return p.unescape(from)
		case b < ' ':
			p.fail("a control character in a string")
			return ""
		}
	}
	p.fail("unterminated string")
	return ""
}

func (p *parser) unescape(from int) string {
	out := []byte(p.s[from:p.pos])
	for p.pos < len(p.s) {
		b := p.s[p.pos]
		p.pos++
		switch {
		case b == '"':
			return string(out)
		case b < ' ':
			p.fail("a control character in a string")
			return ""
		case b == '\\':
			out = p.escape(out)
		default:
			out = append(out, b)
		}
	}
	p.fail("unterminated string")
	return ""
}

func (p *parser) escape(out []byte) []byte {
	if p.pos == len(p.s) {
		return out
	}
	b := p.s[p.pos]
	p.pos++
	if i := strings.IndexByte(`"\/bfnrt`, b); i >= 0 {
		return append(out, "\"\\/\b\f\n\r\t"[i])
	}
	if b != 'u' {
		p.fail("an unknown escape")
		return out
	}
	r := p.hex()
	if utf16.IsSurrogate(r) {
		low := rune(0)
		if r < 0xDC00 && strings.HasPrefix(p.s[p.pos:], `\u`) {
			p.pos += 2
			low = p.hex()
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			p.fail("no low surrogate in string")
		}
	}
	return utf8.AppendRune(out, r)
}

func (p *parser) hex() rune {
	if len(p.s)-p.pos < 4 {
		p.fail("an escape is cut off")
		return 0
	}
	v, err := strconv.ParseUint(p.s[p.pos:p.pos+4], 16, 16)
	if err != nil {
		p.fail("an escape has a wrong digit")
		return 0
	}
	p.pos += 4
	return rune(v)
}
