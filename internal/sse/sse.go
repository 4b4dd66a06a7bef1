// Package sse reads and writes server-sent events by the HTML standard (section 9.2):
// lines end with LF, CR LF or CR. It ignores a byte order mark at the beginning, comments,
// unknown fields, retry, and ids with U+0000.
//
// It differs from the standard in two ways. It returns an event without data if it has an
// id or a name. An id counts for its event only: the reader does not keep the last one.
//
//	r := sse.NewReader(resp.Body, nil)
//	for {
//		e, err := r.Next()
//		if err != nil {
//			return err // io.EOF at the end
//		}
//		use(e.ID, e.Name, e.Data)
//	}
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Event is one event of a stream.
type Event struct {
	// ID is the id of the event, "" if it has none.
	ID string
	// Name is the field "event", "" if there is none.
	Name string
	// Data has the lines of data, joined by line feeds; nil if there are none.
	Data []byte
	// Cut: the stream ended before the event did; see Options.KeepCut.
	Cut bool
}

// Write writes the event. ID, Name and Data must not have line ends. Write passes Data to w
// without a copy, so that many streams can share it.
func (e Event) Write(w io.Writer) error {
	var head []byte
	if e.ID != "" {
		head = fmt.Appendf(head, "id: %s\n", e.ID)
	}
	if e.Name != "" {
		head = fmt.Appendf(head, "event: %s\n", e.Name)
	}
	tail := "\n"
	if e.Data != nil {
		head, tail = append(head, "data: "...), "\n\n"
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	if _, err := w.Write(e.Data); err != nil {
		return err
	}
	_, err := io.WriteString(w, tail)
	return err
}

// The errors of a stream that is larger than its reader allows.
var (
	ErrEventTooLong  = errors.New("an event is too long")
	ErrStreamTooLong = errors.New("the stream is too long")
)

// A LineError is a line that a strict reader refuses.
type LineError struct {
	// Line is the line without its end.
	Line []byte
}

// Error implements error.
func (e *LineError) Error() string { return "a line is no field of an event" }

// DefaultMaxEvent is the default of Options.MaxEvent.
const DefaultMaxEvent = 64 << 20

// Options are the limits and rules of a reader.
type Options struct {
	// MaxEvent limits a line and the data of an event, in bytes; 0 is DefaultMaxEvent.
	MaxEvent int
	// MaxStream limits the stream, in bytes; 0 is no limit.
	MaxStream int
	// KeepCut returns the last event even if the stream ends before the empty line that
	// should end it. The standard drops it.
	KeepCut bool
	// Strict refuses unknown fields with a [*LineError]: they are taken for damaged lines,
	// not for extensions. A last line without its end that is the beginning of a field's name
	// is none: the stream was cut there.
	Strict bool
	// Named are further fields. Such a field counts as the data of an event of that name.
	Named []string
}

// Reader reads a stream. One goroutine at a time; make it with [NewReader].
type Reader struct {
	o     Options
	lines *bufio.Scanner
	// begun: the first line has been read. afterCR: a line feed that follows belongs to
	// the line before. torn: the last line had no end.
	begun, afterCR, torn bool
	// searched is how much of the line that is being read is known to have no end.
	searched int
	data     []byte
	// name is the last name of an event.
	name string
}

// NewReader returns a reader of src; o may be nil.
func NewReader(src io.Reader, o *Options) *Reader {
	r := &Reader{}
	if o != nil {
		r.o = *o
	}
	if r.o.MaxEvent == 0 {
		r.o.MaxEvent = DefaultMaxEvent
	}
	if r.o.MaxStream > 0 {
		src = &bounded{src, r.o.MaxStream}
	}
	r.lines = bufio.NewScanner(src)
	r.lines.Buffer(nil, r.o.MaxEvent+len("data: \r\n")+1)
	r.lines.Split(r.split)
	return r
}

// split is a bufio.SplitFunc. It does not wait for a LF after a CR: the next call skips it.
func (r *Reader) split(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if r.afterCR && len(data) > 0 {
		r.afterCR = false
		if data[0] == '\n' {
			advance, data = 1, data[1:]
		}
	}
	from := min(r.searched, len(data)) // a long line comes in many pieces
	r.searched = len(data)
	end := bytes.IndexAny(data[from:], "\r\n")
	switch {
	case end >= 0:
		end += from
		r.searched = 0
		r.afterCR = data[end] == '\r'
		return advance + end + 1, data[:end:end], nil
	case atEOF && len(data) > 0:
		r.torn = true
		return advance + len(data), data, nil
	}
	return advance, nil, nil
}

// Next returns the next event. Its data is valid until the next call. The error is io.EOF
// at the end, [ErrEventTooLong], [ErrStreamTooLong], a [*LineError], or that of the source.
func (r *Reader) Next() (Event, error) {
	var e Event
	r.data = r.data[:0]
	for r.lines.Scan() {
		line := r.lines.Bytes()
		if !r.begun {
			r.begun = true
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		if err := r.lines.Err(); r.torn && err != nil {
			return Event{}, err
		}
		if len(line) > 0 {
			if err := r.field(&e, line); err != nil {
				return Event{}, err
			}
			continue
		}
		if !e.empty() {
			return e, nil
		}
	}
	switch err := r.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return Event{}, ErrEventTooLong
	case err != nil:
		return Event{}, err
	case e.empty() || !r.o.KeepCut:
		return Event{}, io.EOF
	}
	e.Cut = true
	return e, nil
}

func (e *Event) empty() bool { return e.ID == "" && e.Name == "" && e.Data == nil }

func (r *Reader) field(e *Event, line []byte) error {
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(name) {
	case "data":
		return r.add(e, value)
	case "event":
		if string(value) != r.name { // streams repeat names: this spares most of their copies
			r.name = string(value)
		}
		e.Name = r.name
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			e.ID = string(value)
		}
	case "", "retry":
	default:
		return r.other(e, line, string(name), value)
	}
	return nil
}

// other takes a line with a non-standard field.
func (r *Reader) other(e *Event, line []byte, name string, value []byte) error {
	switch {
	case slices.Contains(r.o.Named, name):
		e.Name = name
		return r.add(e, value)
	case r.torn && len(line) == len(name) && r.begins(name):
		return nil // the stream was cut within the name of a field
	case r.o.Strict:
		return &LineError{Line: bytes.Clone(line)}
	}
	return nil
}

// begins reports whether the name of a field begins with text.
func (r *Reader) begins(text string) bool {
	is := func(name string) bool { return strings.HasPrefix(name, text) }
	return slices.ContainsFunc([]string{"data", "event", "id", "retry"}, is) || slices.ContainsFunc(r.o.Named, is)
}

func (r *Reader) add(e *Event, value []byte) error {
	if e.Data != nil {
		r.data = append(r.data, '\n')
	}
	if len(r.data)+len(value) > r.o.MaxEvent {
		return ErrEventTooLong
	}
	r.data = append(r.data, value...)
	if e.Data = r.data; e.Data == nil {
		e.Data = []byte{}
	}
	return nil
}

// bounded is a source with a limit of bytes.
type bounded struct {
	io.Reader
	left int
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, ErrStreamTooLong
	}
	return n, err
}
