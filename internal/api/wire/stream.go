package wire

import (
	"bufio"
	"io"
	"strings"
)

// Names of what a stream has besides events, as the field "event" of a
// server-sent event. Events themselves have none.
const (
	// StreamLagged: events directly before what follows are not there any more; Lagged
	// says how many.
	StreamLagged = "lagged"
	// StreamRestarted: what the reader has behind the id of this part was told by a
	// process that died before it was kept; its numbers are given again. Where no
	// events are kept, all numbers have begun anew. See Restarted.
	StreamRestarted = "restarted"
	// StreamClosed: the daemon is ending; this is the last of the stream.
	StreamClosed = "closed"
)

// Lagged is the data of StreamLagged.
type Lagged struct {
	Missed uint64 `json:"missed"`
	// Kept: they were deltas and progress, which are not kept; nothing else is lost.
	Kept bool `json:"kept"`
}

// Restarted is the data of StreamRestarted.
type Restarted struct {
	// Kept: what the reader has up to the id of the part is still true, and nothing
	// behind it is lost but deltas and progress.
	Kept bool `json:"kept"`
}

// Part is one block of a stream of server-sent events.
type Part struct {
	// ID is that of the newest event the reader has with this part; "" leaves it.
	ID string
	// Name is one of the Stream… names, or "" for an event.
	Name string
	// Data is one line; a part without data only says where the reader is.
	Data []byte
}

// Write writes the part as it goes over the wire. The data, which many streams may
// share, is handed to w as it is: it is not copied.
func (p Part) Write(w io.Writer) error {
	var head []byte
	if p.ID != "" {
		head = append(append(append(head, "id: "...), p.ID...), '\n')
	}
	if p.Name != "" {
		head = append(append(append(head, "event: "...), p.Name...), '\n')
	}
	tail := "\n"
	if p.Data != nil {
		head, tail = append(head, "data: "...), "\n\n"
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	if _, err := w.Write(p.Data); err != nil {
		return err
	}
	_, err := io.WriteString(w, tail)
	return err
}

// maxLine is the longest line of a stream in bytes. An event holds at most one
// tool result, which the runtime bounds.
const maxLine = 64 << 20

// PartReader reads a stream. It is for one goroutine at a time.
type PartReader struct{ lines *bufio.Scanner }

// NewPartReader returns a reader of r.
func NewPartReader(r io.Reader) *PartReader {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), maxLine)
	return &PartReader{lines: s}
}

// Next returns the next part that has a name, data or an id; comments are passed
// over. A part that the end of the stream cuts off is not returned: the error is
// then io.EOF, as it is behind the last part.
func (r *PartReader) Next() (Part, error) {
	var p Part
	for r.lines.Scan() {
		line := r.lines.Text()
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && (p.ID != "" || p.Name != "" || p.Data != nil):
			return p, nil
		case field == "id":
			p.ID = value
		case field == "event":
			p.Name = value
		case field == "data" && p.Data != nil:
			p.Data = append(append(p.Data, '\n'), value...)
		case field == "data":
			p.Data = []byte(value)
		}
	}
	if err := r.lines.Err(); err != nil {
		return Part{}, err
	}
	return Part{}, io.EOF
}
