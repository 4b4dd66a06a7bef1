package message

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// List is a read-only sequence. The zero List is empty. Copying a List copies three
// words and shares the elements.
type List[T any] struct{ s []T }

// ListOf returns a List of the items, which it copies.
func ListOf[T any](items ...T) List[T] { return List[T]{slices.Clone(items)} }

// Freeze returns a List over s without copying it (0 allocations). The caller may
// still append to s, but must not change an element of s[:len(s)].
func Freeze[T any](s []T) List[T] { return List[T]{s[:len(s):len(s)]} }

// Len returns the number of elements.
func (l List[T]) Len() int { return len(l.s) }

// At returns element i; it panics if i is out of range.
func (l List[T]) At(i int) T { return l.s[i] }

// All yields index and element, in order.
func (l List[T]) All() iter.Seq2[int, T] { return slices.All(l.s) }

// Slice returns a copy of the elements that the caller owns.
func (l List[T]) Slice() []T { return slices.Clone(l.s) }

// From returns the elements from index i on, without copying.
func (l List[T]) From(i int) List[T] { return List[T]{l.s[i:]} }

// Append returns a new List of l's elements and the items; l stays as it is.
// It copies: building a long list this way costs quadratic time.
func (l List[T]) Append(items ...T) List[T] {
	return List[T]{append(l.s[:len(l.s):len(l.s)], items...)}
}

// MarshalJSON writes a JSON array, [] for an empty list.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if len(l.s) == 0 {
		return []byte("[]"), nil
	}
	return json.Marshal(l.s)
}

// UnmarshalJSON reads a JSON array. Copies made of l before stay as they are.
func (l *List[T]) UnmarshalJSON(data []byte) error {
	var s []T
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	l.s = s
	return nil
}

// IsZero reports whether the list is empty; it makes omitzero work.
func (l List[T]) IsZero() bool { return len(l.s) == 0 }

// JSON is a JSON text. Being a string it cannot be changed in place. Canonical
// means: no blanks outside strings, every string in its shortest escaping,
// members in their original order. The arguments of a bound call are canonical.
// A model's own text (the Original of a hook.ToolCall, the blocks of a [ModelReply])
// is unchanged and may be no JSON at all.
type JSON string

// MarshalJSON writes the text itself; the empty JSON is null. An invalid text, such as
// arguments that could not be bound, becomes a JSON string, so that encoding the value
// around it never fails.
func (j JSON) MarshalJSON() ([]byte, error) {
	switch {
	case j == "":
		return []byte("null"), nil
	case !json.Valid([]byte(j)):
		return json.Marshal(string(j))
	}
	return []byte(j), nil
}

// UnmarshalJSON keeps the text, except for encoding/json's escapes of <, >, & and the
// line separators. Without them a canonical text survives a round trip.
func (j *JSON) UnmarshalJSON(data []byte) error { *j = JSON(plain(data)); return nil }

// plain unescapes the five characters that encoding/json escapes for HTML and JavaScript.
func plain(data []byte) []byte {
	if !bytes.Contains(data, []byte(`\u`)) {
		return data
	}
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' || i+1 == len(data) {
			out = append(out, data[i])
			continue
		}
		switch escape := string(data[i:min(i+6, len(data))]); strings.ToLower(escape) {
		case `\u003c`, `\u003e`, `\u0026`, `\u2028`, `\u2029`:
			r, _ := strconv.ParseUint(escape[2:], 16, 32)
			out = utf8.AppendRune(out, rune(r))
			i += 5
		default:
			out = append(out, data[i], data[i+1])
			i++
		}
	}
	return out
}
