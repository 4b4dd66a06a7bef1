package wire

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Names of what a stream has besides events, as the field "event" of a
// server-sent event. Events themselves have none.
const (
	// StreamLagged: the events that come next were not kept for this reader; Lagged
	// says how many.
	StreamLagged = "lagged"
	// StreamRestarted: the numbers have begun anew, because the daemon or the agent
	// was started again. Everything of the new numbers follows.
	StreamRestarted = "restarted"
	// StreamClosed: the daemon is ending; this is the last of the stream.
	StreamClosed = "closed"
)

// Lagged is the data of StreamLagged.
type Lagged struct {
	Missed uint64 `json:"missed"`
}

// EventID is the place of an event in a stream. Sequences are counted from 1
// within an epoch, without gaps, and two epochs are never compared.
type EventID struct {
	Epoch string
	Seq   uint64
}

// String returns "epoch-sequence".
func (id EventID) String() string { return id.Epoch + "-" + strconv.FormatUint(id.Seq, 10) }

// ParseEventID reads what String has written.
func ParseEventID(s string) (EventID, error) {
	epoch, seq, ok := strings.Cut(s, "-")
	n, err := strconv.ParseUint(seq, 10, 64)
	if !ok || err != nil || epoch == "" || len(s) > 64 {
		return EventID{}, fmt.Errorf("%.80q is no event id: it is the id of an event that was received, epoch-sequence", s)
	}
	return EventID{Epoch: epoch, Seq: n}, nil
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

// AppendPart appends the part to buf as it goes over the wire.
func AppendPart(buf []byte, p Part) []byte {
	if p.ID != "" {
		buf = append(append(append(buf, "id: "...), p.ID...), '\n')
	}
	if p.Name != "" {
		buf = append(append(append(buf, "event: "...), p.Name...), '\n')
	}
	if p.Data != nil {
		buf = append(append(append(buf, "data: "...), p.Data...), '\n')
	}
	return append(buf, '\n')
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
