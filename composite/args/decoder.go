// Package args decodes the arguments of a tool call strictly: every reader understands the
// accepted bytes in the same way. Generated code and subsystems with tools known only at run
// time use it; it is not a general JSON package.
//
// It accepts exactly one JSON object (RFC 8259, I-JSON of RFC 7493). Beyond invalid JSON it
// refuses: a repeated name in one object, even with other escapes; invalid UTF-8 and lone
// surrogates; the character U+0000; numbers that do not fit their Go type; integers beyond
// ±(2^53-1), which some readers round; more than 64 levels of nesting; names that the type
// does not have; missing required names; and null unless the type is a pointer. The empty
// text, which providers send for "no arguments", counts as {}; null does not.
//
// An optional member that is null counts as absent, whatever its type: models send it,
// although schemas do not offer it. The canonical arguments omit it, so that hashes and
// approvals treat both calls as the same.
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
// New uses jsontext to check the whole text and to write its canonical form, which is well
// formed and has no blanks. All other methods read that form. After the first error they
// return zero values and false, and Bind returns the error. Strings without escapes share
// the memory of the canonical arguments.
package args

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// maxDepth bounds the nesting of objects and arrays.
const maxDepth = 64

// Decoder reads the arguments of one call, from front to back. One goroutine at
// a time; make it with [New].
type Decoder struct {
	// text is in canonical form.
	text string
	// pos is the index of the next byte.
	pos int
	// at is where the last value begins, for Refuse.
	at int
	// depth counts the open objects and arrays.
	depth int
	// key is the name of the current member, member where it begins.
	key    string
	member int
	// cuts are the members before pos that count as absent.
	cuts   []cut
	call   *hook.ToolCall
	schema message.JSON
	err    *hook.ArgError
}

// New returns a decoder of call.Args(). Errors carry the name of the call's tool
// and the schema.
func New(call *hook.ToolCall, schema message.JSON) Decoder {
	d := Decoder{call: call, schema: schema}
	d.load(string(call.Args()))
	return d
}

// load sets the canonical form of a text, or the error.
func (d *Decoder) load(text string) {
	if text == "" {
		text = "{}"
	}
	value := jsontext.Value(text)
	if value.Format() != nil {
		d.failWith(fault(text))
		return
	}
	if d.text = text; string(value) != text {
		d.text = string(value)
	}
}

// Bind ends the decoding. It returns an invocation that runs r on the canonical arguments,
// or one with the first error.
func (d *Decoder) Bind(r hook.Runner) hook.Invocation {
	if d.end(); d.err != nil {
		return hook.BadArgs(d.call.Args(), d.err)
	}
	return hook.Bound(d.canonical(), r)
}

// Err returns the first error so far, or nil.
func (d *Decoder) Err() *hook.ArgError { return d.err }

// Refuse reports an error of the last value. The reason is an expectation that a model
// understands, "must be one of low, high"; it never repeats the value. It does nothing
// after an earlier error.
func (d *Decoder) Refuse(reason string) { d.fail(d.at, "", reason) }

// fail keeps the first error: at a byte of the text, or at a name within the
// object that starts there.
func (d *Decoder) fail(at int, name, reason string) {
	if d.err == nil {
		d.failWith(pathTo(d.text, at, name), reason)
	}
}

// failWith moves to the end of the text, so that every loop ends.
func (d *Decoder) failWith(path, reason string) {
	d.err = &hook.ArgError{Path: path, Reason: reason, Schema: d.schema}
	if d.call != nil {
		d.err.Tool = d.call.Name()
	}
	d.pos = len(d.text)
}

func (d *Decoder) want(what string) {
	if d.peek() == 'n' {
		what += ", not null"
	}
	d.fail(d.pos, "", "must be "+what)
}

// peek returns the next byte, 0 at the end.
func (d *Decoder) peek() byte {
	if d.pos < len(d.text) {
		return d.text[d.pos]
	}
	return 0
}

func (d *Decoder) end() {
	if d.pos < len(d.text) {
		d.fail(d.pos, "", "must not be given: nothing reads it")
	}
}

func (d *Decoder) canonical() message.JSON { return message.JSON(without(d.text, 0, d.cuts)) }
