package args

import (
	"encoding"
	"encoding/json"
)

// unread is the reason for a value that its type refuses to read. It leaves out the type's own error, which may quote the value.
const unread = "must be a value that its type can read: it fits the schema, but the type has rules of its own"

// Mark returns the place where the next value begins, for Unmarshal.
func (d *Decoder) Mark() int { return d.pos }

// Unmarshal passes the value since the mark, in canonical form, to a type that decodes itself.
func (d *Decoder) Unmarshal(mark int, v json.Unmarshaler) {
	if d.err != nil {
		return
	}
	if v.UnmarshalJSON([]byte(without(d.text[mark:d.pos], mark, d.cuts))) != nil {
		d.fail(mark, "", unread)
	}
}

// Text passes the last string to a type that reads text.
func (d *Decoder) Text(s string, v encoding.TextUnmarshaler) {
	if d.err == nil && v.UnmarshalText([]byte(s)) != nil {
		d.Refuse(unread)
	}
}

// Peek returns the type of the next value: '"' a string, '0' a number, 't' true or false, 'n' null, '[' an array, '{' an object, and 0
// anything else.
func (d *Decoder) Peek() byte {
	switch c := d.peek(); c {
	case '"', 't', 'n', '[', '{':
		return c
	case 'f':
		return 't'
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return '0'
	}
	return 0
}

// Want refuses the next value because another type is expected: "a string or a number".
func (d *Decoder) Want(what string) { d.want(what) }
