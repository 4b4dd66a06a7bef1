package args

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Canonical returns the canonical text of arguments whose type is known only at
// run time: no blanks, every string in its shortest escaping, members in their
// original order, numbers unchanged. It has the restrictions of the package comment,
// and refuses argument names that differ only in case. The error is a
// *hook.ArgError without tool and schema.
func Canonical(raw string) (message.JSON, error) {
	var d Decoder
	d.load(raw)
	d.Raw()
	if d.err != nil {
		return "", d.err
	}
	return d.canonical(), nil
}

// Raw reads any value and returns its canonical text; "" after an error. At the top it must
// be an object, without names that differ only in case: many readers ignore the case.
func (d *Decoder) Raw() message.JSON {
	start, top := d.pos, d.depth == 0
	if top && d.peek() != '{' {
		d.want("an object")
		return ""
	}
	if top {
		d.distinct()
	} else {
		d.skip()
	}
	if d.err != nil {
		return ""
	}
	return message.JSON(d.text[start:d.pos])
}

func (d *Decoder) skip() {
	switch d.peek() {
	case '"':
		_ = d.String()
	case '{':
		for o := d.Object(); o.Next(); {
			d.skip()
		}
	case '[':
		for a := d.Array(); a.Next(); {
			d.skip()
		}
	case 't', 'f':
		d.Bool()
	case 'n':
		d.Null()
	default:
		d.at = d.pos
		d.Float(64)
	}
}

// distinct reads an object whose names differ in more than case.
func (d *Decoder) distinct() {
	names := map[string]bool{}
	for o := d.Object(); o.Next(); {
		name := fold(o.Key())
		if names[name] {
			d.fail(o.start, o.Key(), "must not differ from another name only in case")
			return
		}
		names[name] = true
		d.skip()
	}
}

// fold maps every rune to the smallest of its case variants, so that results are equal
// exactly for texts that are strings.EqualFold.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, s)
}

// cut is an absent member of an object, from its name to the end of its value.
type cut struct{ from, to int }

// without returns a part of a canonical text without its cuts. The part starts at byte start
// of the whole text, and the cuts are positions in the whole text.
func without(part string, start int, cuts []cut) string {
	if len(cuts) == 0 {
		return part
	}
	out := make([]byte, 0, len(part))
	keep := func(kept string) {
		if bytes.HasSuffix(out, []byte{'{'}) {
			kept = strings.TrimPrefix(kept, ",")
		}
		out = append(out, kept...)
	}
	pos := 0
	for _, c := range cuts {
		if c.from >= start {
			keep(strings.TrimSuffix(part[pos:c.from-start], ","))
			pos = c.to - start
		}
	}
	keep(part[pos:])
	return string(out)
}
