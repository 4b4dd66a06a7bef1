package openai

import (
	"bytes"
	"errors"
	"io"
)

// What is wrong with a stream of events.
var (
	errLong  = errors.New("an event is too long")
	errMuch  = errors.New("the stream is too long")
	errField = errors.New("a line is no field of an event")
)

// events reads server-sent events. It is stricter than the standard in one
// thing: a line whose field it does not know is an error, because what looks
// like that is a damaged line and not an extension.
type events struct {
	src io.Reader
	// buf[from:to] is what has been read and not used; the first seen bytes of it
	// hold no line end.
	buf            []byte
	from, to, seen int
	// most bounds a line and the data of an event, left is how much of the stream
	// may still come.
	most, left int

	// data is that of the event being read; failed: it is called an error.
	data   []byte
	failed bool
	// odd is the line of errField.
	odd []byte
	// afterCR: a line feed may follow that belongs to the line before. torn: the
	// last line had no end.
	afterCR, begun, torn bool
}

// firstBuffer holds the events of most answers.
const firstBuffer = 4 << 10

// next returns the data of the next event that has any; io.EOF at the end. An
// event that the stream ends without closing counts. The data is good until the
// next call.
func (e *events) next() ([]byte, error) {
	e.data, e.failed = e.data[:0], false
	some := false
	for {
		line, err := e.line()
		if err != nil {
			if err == io.EOF && some {
				return e.data, nil
			}
			return nil, err
		}
		if len(line) == 0 {
			if some {
				return e.data, nil
			}
			e.failed = false
			continue
		}
		had := len(e.data)
		if err := e.field(line, some); err != nil {
			return nil, err
		}
		some = some || len(e.data) > had
	}
}

// field takes one line of an event.
func (e *events) field(line []byte, some bool) error {
	name, value, colon := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(name) {
	case "data":
		if some {
			e.data = append(e.data, '\n')
		}
		if len(e.data)+len(value) > e.most {
			return errLong
		}
		e.data = append(e.data, value...)
		return nil
	case "event":
		e.failed = string(value) == "error"
		return nil
	case "error": // llama.cpp's way of telling one
		if colon {
			e.failed = true
			e.data = append(e.data[:0], value...)
			return nil
		}
	case "", "id", "retry":
		if colon {
			return nil
		}
	}
	e.odd = append(e.odd[:0], line...)
	return errField
}

// line returns the next line without its end, which is LF, CR LF or CR.
func (e *events) line() ([]byte, error) {
	for {
		if e.afterCR && e.to > e.from {
			e.afterCR = false
			if e.buf[e.from] == '\n' {
				e.from++
			}
		}
		fresh := e.buf[e.from+e.seen : e.to]
		end := bytes.IndexByte(fresh, '\n')
		if end >= 0 {
			fresh = fresh[:end]
		}
		if cr := bytes.IndexByte(fresh, '\r'); cr >= 0 {
			end, e.afterCR = cr, true
		}
		if end >= 0 {
			return e.cut(e.seen+end, 1), nil
		}
		e.seen = e.to - e.from
		if err := e.fill(); err != nil {
			if err == io.EOF && e.seen > 0 {
				e.torn = true
				return e.cut(e.seen, 0), nil
			}
			return nil, err
		}
	}
}

// cut takes a line of n bytes and its end out of the buffer.
func (e *events) cut(n, end int) []byte {
	line := e.buf[e.from : e.from+n]
	e.from += n + end
	e.seen = 0
	if !e.begun {
		e.begun = true
		line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF")) // a byte order mark
	}
	return line
}

// fill reads more.
func (e *events) fill() error {
	if e.seen > e.most {
		return errLong
	}
	if e.from > 0 {
		copy(e.buf, e.buf[e.from:e.to])
		e.from, e.to = 0, e.to-e.from
	}
	if e.to == len(e.buf) {
		e.buf = append(e.buf, make([]byte, max(firstBuffer, len(e.buf)))...)
	}
	for range 100 {
		n, err := e.src.Read(e.buf[e.to:])
		e.to += n
		e.left -= n
		switch {
		case e.left < 0:
			return errMuch
		case n > 0:
			return nil // an error comes again with the next read
		case err != nil:
			return err
		}
	}
	return io.ErrNoProgress
}
