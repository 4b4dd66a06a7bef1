package args

import (
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/internal/spell"
)

// Object reads the members of a JSON object. Make it with [Decoder.Object].
type Object struct {
	d     *Decoder
	start int
	seen  uint64
}

// Object begins an object. Any other value is an error.
func (d *Decoder) Object() Object {
	o := Object{d: d, start: d.pos}
	if d.peek() != '{' {
		d.want("an object")
		return o
	}
	o.start = d.pos
	d.open()
	return o
}

func (d *Decoder) open() {
	if d.depth++; d.depth > maxDepth {
		d.fail(d.pos, "", tooDeep())
		return
	}
	d.pos++
}

// Next reads the name of the next member and reports whether there is one. The
// caller reads its value before it calls Next again.
func (o *Object) Next() bool {
	d := o.d
	if d.closed('}') {
		return false
	}
	d.member = d.pos
	d.key = d.String()
	d.pos = min(d.pos+1, len(d.text)) // the colon
	d.at = d.pos
	return d.err == nil
}

// closed reports whether an object or array ends here, or there is an error. Otherwise it
// skips the comma, if there is one.
func (d *Decoder) closed(end byte) bool {
	switch d.peek() {
	case end:
		d.pos++
		d.depth--
		return true
	case ',':
		d.pos++
	}
	return d.err != nil
}

// Key is the name of the current member. Call it before its value is read.
func (o *Object) Key() string { return o.d.key }

// Once records that name number i of the object (0 to 63) is present; a second
// time is an error.
func (o *Object) Once(i uint) {
	if o.seen&(1<<i) != 0 {
		o.Twice()
	}
	o.seen |= 1 << i
}

// Given is Once for an optional name. It reports whether there is a value to read. Null
// counts as absent, and the canonical arguments omit the member.
func (o *Object) Given(i uint) bool {
	o.Once(i)
	d := o.d
	if !d.Null() {
		return true
	}
	d.leaveOut()
	return false
}

// leaveOut removes the last member from the canonical arguments.
func (d *Decoder) leaveOut() {
	d.cuts = append(d.cuts, cut{d.member, d.pos})
}

// Has reports whether Once or Given has recorded name number i.
func (o *Object) Has(i uint) bool { return o.seen&(1<<i) != 0 }

// Require refuses the object if Once has not recorded name number i. Call it after the
// last member.
func (o *Object) Require(i uint, name string) {
	if o.seen&(1<<i) == 0 {
		o.d.fail(o.start, name, "is required")
	}
}

// Twice refuses the member because its name is repeated. Readers of maps call it; Once
// checks that itself.
func (o *Object) Twice() { o.d.fail(o.start, o.d.key, twice) }

// Unknown refuses the member because the type has only the known names. The error suggests
// the closest one.
func (o *Object) Unknown(known ...string) {
	reason := "is not known here: nothing may be given"
	if len(known) > 0 {
		reason = "is not known here; known are " + strings.Join(known, ", ")
	}
	if near := spell.Closest(o.d.key, known); near != "" {
		reason = fmt.Sprintf("is not known here; did you mean %s? Known are %s", near, strings.Join(known, ", "))
	}
	o.d.fail(o.start, o.d.key, reason)
}

// Nothing reads an object without members: the arguments of a tool without any.
func (d *Decoder) Nothing() {
	o := d.Object()
	for o.Next() {
		o.Unknown()
	}
}

// Array reads the elements of a JSON array. Make it with [Decoder.Array].
type Array struct {
	d     *Decoder
	start int
	n     int
}

// Array begins an array. Any other value is an error.
func (d *Decoder) Array() Array {
	a := Array{d: d, start: d.pos}
	if d.peek() != '[' {
		d.want("an array")
		return a
	}
	a.start = d.pos
	d.open()
	return a
}

// Next advances to the next element and reports whether there is one. The caller
// reads it before it calls Next again.
func (a *Array) Next() bool {
	if a.d.closed(']') {
		return false
	}
	a.n++
	a.d.at = a.d.pos
	return true
}

// Len is the number of elements so far.
func (a *Array) Len() int { return a.n }

// AtLeast refuses an array of fewer elements. Call it after the last one.
func (a *Array) AtLeast(n int) {
	if a.n < n {
		a.d.fail(a.start, "", fmt.Sprintf("must have at least %d %s", n, plural(n, "item")))
	}
}

// AtMost refuses an array of more elements. Call it after the last one.
func (a *Array) AtMost(n int) {
	if a.n > n {
		a.d.fail(a.start, "", fmt.Sprintf("must have at most %d %s", n, plural(n, "item")))
	}
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
