package wire

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is the kind of a JSON value.
type Kind uint8

// The kinds. None is that of a member that is not there.
const (
	None Kind = iota
	Null
	Boolean
	Number
	Text
	Array
	Object
)

// Node is a JSON value. It and its parts are valid until the Parser is reset.
type Node struct {
	Kind Kind
	// Key is the name of a member of an object.
	Key string
	// Text is a decoded string, or the literal of a number or a boolean.
	Text string
	// Raw is the value as it was sent.
	Raw string
	// List is the elements of an array or the members of an object.
	List []Node
}

// Get returns the member of an object; of two with one name the last.
func (n Node) Get(key string) Node {
	for i := len(n.List) - 1; i >= 0; i-- {
		if n.List[i].Key == key && n.Kind == Object {
			return n.List[i]
		}
	}
	return Node{}
}

// Is reports whether n is the string s.
func (n Node) Is(s string) bool { return n.Kind == Text && n.Text == s }

// True reports whether n is the literal true.
func (n Node) True() bool { return n.Kind == Boolean && n.Text == "true" }

// Blank reports whether n is absent, null, an empty string or an empty list.
func (n Node) Blank() bool {
	return n.Kind <= Null || n.Kind == Text && n.Text == "" || n.Kind == Array && len(n.List) == 0
}

// Int returns the integer that n is; -1 if it is none.
func (n Node) Int() int64 {
	v, err := strconv.ParseInt(n.Text, 10, 64)
	if n.Kind != Number || err != nil {
		return -1
	}
	return v
}

// TextBlock returns the block that a text alone stands for on several wires.
func TextBlock(s string) Node {
	return Node{Kind: Object, List: []Node{{Kind: Text, Key: "type", Text: "text"}, {Kind: Text, Key: "text", Text: s}}}
}

// maxDepth bounds the nesting of what is parsed.
const maxDepth = 1000

// Parser reads JSON as a strict server does: no lone surrogates, no bytes that are
// no UTF-8, nothing behind the value. It keeps the first fault.
type Parser struct {
	s     string
	pos   int
	depth int
	fault string
	// open are the items of the arrays and objects that have not ended; done are
	// those of the others, which their lists are parts of.
	open, done []Node
}

// Reset takes back every value that has been parsed, to use their memory again.
func (p *Parser) Reset() {
	clear(p.done)
	clear(p.open[:cap(p.open)])
	p.open, p.done = p.open[:0], p.done[:0]
}

// Parse returns the value that s is; fault says why it is none. The values that
// were parsed before stay until Reset.
func (p *Parser) Parse(s string) (n Node, fault string) {
	if !utf8.ValidString(s) {
		return Node{}, "invalid utf-8 sequence"
	}
	p.s, p.pos, p.depth, p.fault = s, 0, 0, ""
	n = p.value()
	if p.peek(); p.fault == "" && p.pos < len(s) {
		p.fail("trailing characters")
	}
	return n, p.fault
}

func (p *Parser) fail(what string) {
	if p.fault == "" {
		p.fault = fmt.Sprintf("%s: line 1 column %d (char %d)", what, p.pos+1, p.pos)
	}
	p.pos = len(p.s)
}

// peek returns the next byte that is no blank, 0 at the end.
func (p *Parser) peek() byte {
	for ; p.pos < len(p.s); p.pos++ {
		switch p.s[p.pos] {
		case ' ', '\t', '\n', '\r':
		default:
			return p.s[p.pos]
		}
	}
	return 0
}

func (p *Parser) value() Node {
	if p.depth++; p.depth > maxDepth {
		p.fail("nested too deep")
	}
	defer func() { p.depth-- }()
	b := p.peek()
	from := p.pos
	n := p.bare(b)
	n.Raw = p.s[from:p.pos]
	return n
}

// bare returns the value that begins with b, without its Raw.
func (p *Parser) bare(b byte) Node {
	switch {
	case b == '{':
		return p.object()
	case b == '[':
		return p.array()
	case b == '"':
		return Node{Kind: Text, Text: p.string()}
	case b == '-' || b >= '0' && b <= '9':
		return p.number()
	}
	for _, n := range [...]Node{{Kind: Null, Text: "null"}, {Kind: Boolean, Text: "true"}, {Kind: Boolean, Text: "false"}} {
		if strings.HasPrefix(p.s[p.pos:], n.Text) {
			p.pos += len(n.Text)
			return n
		}
	}
	p.fail("unexpected character")
	return Node{}
}

func (p *Parser) object() Node {
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
		n.Key = key
		p.open = append(p.open, n)
	}
	return Node{Kind: Object, List: p.close(from)}
}

func (p *Parser) array() Node {
	from := len(p.open)
	for p.items(']') {
		n := p.value()
		p.open = append(p.open, n)
	}
	return Node{Kind: Array, List: p.close(from)}
}

// close returns the items of an array or object that has ended.
func (p *Parser) close(from int) []Node {
	at := len(p.done)
	p.done = append(p.done, p.open[from:]...)
	p.open = p.open[:from]
	return p.done[at:len(p.done):len(p.done)]
}

// items goes to the next item of an array or object and reports whether there is
// one. The bracket that opens it is where the first call finds itself.
func (p *Parser) items(end byte) bool {
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

func (p *Parser) number() Node {
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
	return Node{Kind: Number, Text: p.s[from:p.pos]}
}

// digits goes past digits, of which there has to be one.
func (p *Parser) digits() {
	if p.skip("0123456789", len(p.s)) == 0 {
		p.fail("a digit is missing")
	}
}

// skip goes past at most so many of the bytes and returns how many there were.
func (p *Parser) skip(bytes string, most int) (n int) {
	for n < most && p.pos < len(p.s) && strings.IndexByte(bytes, p.s[p.pos]) >= 0 {
		p.pos++
		n++
	}
	return n
}

// string reads a string; without escapes it is a part of the text.
func (p *Parser) string() string {
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

func (p *Parser) unescape(from int) string {
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

func (p *Parser) escape(out []byte) []byte {
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

func (p *Parser) hex() rune {
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

// Without returns the JSON of n without the members of this name, at any depth, and without
// blanks between its parts. Everything else is as it was sent.
func (n Node) Without(name string) string {
	var sb strings.Builder
	n.without(&sb, name)
	return sb.String()
}

func (n Node) without(sb *strings.Builder, name string) {
	if n.Kind != Object && n.Kind != Array {
		sb.WriteString(n.Raw)
		return
	}
	sb.WriteByte(n.Raw[0])
	for i := range n.List {
		m := &n.List[i]
		if n.Kind == Object {
			if m.Key == name {
				continue
			}
			sb.WriteString(strconv.Quote(m.Key) + ":")
		}
		m.without(sb, name)
		sb.WriteByte(',')
	}
	sb.WriteByte(n.Raw[len(n.Raw)-1])
}
