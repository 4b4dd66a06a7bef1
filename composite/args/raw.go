package args

import (
	"strings"
	"unicode"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Canonical returns the canonical text of arguments whose type is known only at
// run time: no blanks, every string in its shortest escaping, members in the
// order given, numbers as they are written. A text that is canonical already is
// returned itself, without an allocation. It refuses what the package comment
// says, and argument names that differ only in case. The error is a
// *hook.ArgError without tool and schema.
func Canonical(raw string) (message.JSON, error) {
	d := Decoder{text: raw}
	if raw == "" {
		d.text = "{}"
	}
	d.Raw()
	if d.end(); d.err != nil {
		return "", d.err
	}
	return d.canonical(), nil
}

// skip reads any value. fold refuses names of the object that differ only in
// case; what lies deeper may have them.
func (d *Decoder) skip(fold bool) {
	switch c := d.next(); c {
	case '"':
		d.scan(false)
	case '{':
		d.skipObject(fold)
	case '[':
		a := d.Array()
		for a.Next() {
			d.skip(false)
		}
	case 't', 'f':
		if !d.word("true") && !d.word("false") {
			d.syntax("a value")
		}
	case 'n':
		if !d.word("null") {
			d.syntax("a value")
		}
	default:
		d.skipNumber(c)
	}
}

func (d *Decoder) skipNumber(c byte) {
	if c != '-' && !isDigit(c) {
		d.syntax("a value")
		return
	}
	d.at = d.pos
	if n, ok := d.number("a number"); ok && !n.integer {
		d.inFloat(n, 64)
	}
}

func (d *Decoder) skipObject(fold bool) {
	var names nameSet
	o := d.Object()
	for o.Next() {
		if fold {
			if other, ok := names.alike(o.Key()); ok && other != o.Key() {
				o.d.fail(o.start, o.Key(), "must not differ from another name only in case")
				return
			}
		}
		if !names.add(o.Key()) {
			o.Twice()
			return
		}
		d.skip(false)
	}
}

// nameSet holds the names of one object: few in place, many in maps.
type nameSet struct {
	few    [8]string
	n      int
	many   map[string]struct{}
	folded map[string]string
}

// add reports whether the name is new.
func (s *nameSet) add(name string) bool {
	if s.many == nil {
		for _, have := range s.few[:s.n] {
			if have == name {
				return false
			}
		}
		if s.n < len(s.few) {
			s.few[s.n] = name
			s.n++
			return true
		}
		s.many = make(map[string]struct{}, 4*len(s.few))
		for _, have := range s.few {
			s.many[have] = struct{}{}
		}
	}
	_, have := s.many[name]
	s.many[name] = struct{}{}
	return !have
}

// alike returns a name of the set that equals this one but for case.
func (s *nameSet) alike(name string) (string, bool) {
	if s.many == nil {
		for _, have := range s.few[:s.n] {
			if strings.EqualFold(have, name) {
				return have, true
			}
		}
		return "", false
	}
	if s.folded == nil {
		s.folded = make(map[string]string, len(s.many))
		for have := range s.many {
			s.folded[fold(have)] = have
		}
	}
	key := fold(name)
	have, ok := s.folded[key]
	if !ok {
		s.folded[key] = name
	}
	return have, ok
}

// fold maps every rune to the smallest of those that differ from it only in
// case, so that equal results mean strings.EqualFold.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, s)
}

// cut is a member of an object, from its name to the end of its value, that the
// canonical form is without.
type cut struct{ from, to int }

// compact returns the canonical form of a text that has been checked. The text
// begins at a byte of the whole one, in which the cuts are counted.
func compact(s string, at int, cuts []cut) string {
	for len(cuts) > 0 && cuts[0].from < at {
		cuts = cuts[1:]
	}
	var b strings.Builder
	b.Grow(len(s))
	comma := false // it is written before the next member or element, if there is one
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case isBlank(c):
			i++
			continue
		case c == ',':
			comma = true
			i++
			continue
		case len(cuts) > 0 && cuts[0].from == at+i:
			i = skipComma(s, cuts[0].to-at)
			cuts = cuts[1:]
			continue
		case comma && c != '}':
			b.WriteByte(',')
		}
		comma = false
		if c == '"' {
			i = compactText(&b, s, i)
			continue
		}
		b.WriteByte(c)
		i++
	}
	return b.String()
}

// skipComma returns the index behind the comma that follows i, or i if something
// else follows.
func skipComma(s string, i int) int {
	end := i
	for end < len(s) && isBlank(s[end]) {
		end++
	}
	if end < len(s) && s[end] == ',' {
		return end + 1
	}
	return i
}

// compactText writes the string at i and returns the index behind it.
func compactText(b *strings.Builder, s string, i int) int {
	b.WriteByte('"')
	for i++; s[i] != '"'; {
		if s[i] != '\\' {
			end := plain(s, i+1)
			b.WriteString(s[i:end])
			i = end
			continue
		}
		e := readEscape(s[i:])
		if e.loose {
			b.WriteString(shortest(e.r))
		} else {
			b.WriteString(s[i : i+e.n])
		}
		i += e.n
	}
	b.WriteByte('"')
	return i + 1
}
