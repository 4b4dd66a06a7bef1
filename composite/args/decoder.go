// Package args decodes the arguments of a tool call, strictly: what it accepts
// every reader of the same bytes understands in the same way. Generated code
// and subsystems with tools known only at run time use it; it is not a general
// JSON package.
//
// It accepts exactly one JSON object (RFC 8259, I-JSON of RFC 7493) and refuses,
// beyond what is no JSON at all: a name given twice in one object, also where it
// is written with escapes; invalid UTF-8 and lone surrogates; the character
// U+0000; numbers that do not fit their Go type; integers beyond ±(2^53-1),
// which not every reader keeps; more than 64 levels of nesting; names that the
// type does not have; missing required names; and null where the type is no
// pointer. The empty text, which providers send for "no arguments", counts as
// {}; null does not.
//
// An optional member that is null counts as not given, whatever its type: models
// send it, although schemas do not offer it. The canonical arguments are without it,
// so that hashes and approvals see one call and not two.
//
// A bind function reads like this:
//
//	d := args.New(call, notesTools[0].Input)
//	o := d.Object()
//	for o.Next() {
//		switch o.Key() {
//		case "title":
//			o.Once(0)
//			in.Title = d.String()
//			d.MaxLen(in.Title, 80)
//		case "limit":
//			if o.Given(1) {
//				in.Limit = int(d.Int(0))
//			}
//		default:
//			o.Unknown("title", "limit")
//		}
//	}
//	o.Require(0, "title")
//	return d.Bind(c)
//
// The first error sticks, everything after it returns zero values and false, and
// Bind tells it. Nothing allocates where the arguments are right and canonical,
// but strings with escapes and what the types themselves need. Strings without
// escapes share the memory of the arguments.
package args

import (
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// maxDepth is the number of objects and arrays that may lie in each other.
const maxDepth = 64

// Decoder reads the arguments of one call, from front to back. One goroutine at
// a time; make it with [New] and keep it on the stack.
type Decoder struct {
	text   string
	pos    int    // of the next byte
	at     int    // start of the value that was read last, for Refuse
	depth  int    // open objects and arrays
	key    string // of the member that is being read; here and not in Object, which escapes with it otherwise
	member int    // where the member that is being read begins
	loose  bool   // something before pos is not in canonical form
	cuts   []cut  // members before pos that the canonical form is without
	call   *hook.ToolCall
	schema message.JSON
	err    *hook.ArgError
}

// New returns a decoder of call.Args(). Errors carry the name of the call's tool
// and the schema.
func New(call *hook.ToolCall, schema message.JSON) Decoder {
	d := Decoder{text: string(call.Args()), call: call, schema: schema}
	if d.text == "" {
		d.text = "{}"
	}
	return d
}

// Bind ends the decoding: it returns an invocation that runs r on the canonical
// arguments, or one that cannot be run and says why.
func (d *Decoder) Bind(r hook.Runner) hook.Invocation {
	if d.end(); d.err != nil {
		return hook.BadArgs(d.call.Args(), d.err)
	}
	return hook.Bound(d.canonical(), r)
}

// Err returns the first error so far, or nil.
func (d *Decoder) Err() *hook.ArgError { return d.err }

// Refuse says that the value that was read last is not acceptable. The reason is
// an expectation in the words of a model's manual, "must be one of low, high";
// it never repeats the value. It does nothing after an earlier error.
func (d *Decoder) Refuse(reason string) { d.fail(d.at, "", reason) }

// fail keeps the first error: at a byte of the text, or at a name within the
// object that starts there. It leaves nothing to read, so that every loop ends.
func (d *Decoder) fail(at int, name, reason string) {
	if d.err != nil {
		return
	}
	d.err = &hook.ArgError{Path: pathTo(d.text, at, name), Reason: reason, Schema: d.schema}
	if d.call != nil {
		d.err.Tool = d.call.Name()
	}
	d.pos = len(d.text)
}

// syntax says that the next byte is not what JSON has there.
func (d *Decoder) syntax(expected string) {
	if d.pos >= len(d.text) {
		d.fail(d.pos, "", fmt.Sprintf("must be complete JSON: the text ends where %s is expected", expected))
		return
	}
	d.fail(d.pos, "", fmt.Sprintf("must be valid JSON: %s is expected at byte %d", expected, d.pos))
}

// want says that a value of another type is expected.
func (d *Decoder) want(what string) {
	switch c := d.next(); c {
	case '{', '[', '"', 't', 'f', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		d.fail(d.pos, "", "must be "+what)
	case 'n':
		d.fail(d.pos, "", "must be "+what+", not null")
	default:
		d.syntax(what)
	}
}

// next skips blanks and returns the byte at pos, 0 at the end.
func (d *Decoder) next() byte {
	if d.pos < len(d.text) && d.text[d.pos] > ' ' {
		return d.text[d.pos]
	}
	return d.blank()
}

func (d *Decoder) blank() byte {
	for ; d.pos < len(d.text); d.pos++ {
		switch c := d.text[d.pos]; c {
		case ' ', '\t', '\n', '\r':
			d.loose = true
		default:
			return c
		}
	}
	return 0
}

// end refuses what follows the value.
func (d *Decoder) end() {
	if d.err == nil && (d.next() != 0 || d.pos < len(d.text)) {
		d.fail(0, "", fmt.Sprintf("must be one JSON object with nothing after it: there is more at byte %d", d.pos))
	}
}

func (d *Decoder) canonical() message.JSON {
	if !d.loose {
		return message.JSON(d.text)
	}
	return message.JSON(compact(d.text, 0, d.cuts))
}
