package codec

import (
	"bytes"
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Damage collects the parts of a conversation that cannot be read.
type Damage struct {
	ID, Part string
	at       []int64
	err      error
}

// Note adds the part at that position.
func (d *Damage) Note(at int64, err error) {
	if d.err == nil {
		d.err = err
	}
	d.at = append(d.at, at)
}

// Err returns a *store.DamagedError, or nil if everything could be read.
func (d *Damage) Err() error {
	if d.err == nil {
		return nil
	}
	return &store.DamagedError{ID: d.ID, Part: d.Part, At: d.at, Err: d.err}
}

// Beginning is how many bytes of an encoded message suffice for its title, even if JSON escapes
// each byte of the text with six characters.
const Beginning = 7 * store.TitleText

// DecodeBeginning decodes the beginning of a message, or all of it. It returns false if a title
// could need more.
func DecodeBeginning(body []byte) (message.Message, bool) {
	if m, err := Decode(body); err == nil {
		return m, true
	}
	// The beginning may end within an escape sequence; the longest one has two surrogates.
	const escape = len(`\ud83d\ude00`)
	for n := range min(escape, len(body)) {
		m, err := Decode(append(bytes.Clone(body[:len(body)-n]), `"}]}`...)) // closes text, block, content and message
		if err == nil {
			return m, len(m.Text()) >= store.TitleText
		}
	}
	return message.Message{}, false
}

// JoinEvents encodes events that are written together: a line each, its sequence, a blank, JSON.
func JoinEvents(events []store.Event) string {
	var lines strings.Builder
	for _, e := range events {
		lines.WriteString(strconv.FormatUint(e.Seq, 10))
		lines.WriteByte(' ')
		lines.WriteString(strings.ReplaceAll(string(e.Data), "\n", " ")) // in JSON a line break is a blank between tokens
		lines.WriteByte('\n')
	}
	return lines.String()
}

// SplitEvents decodes what JoinEvents has encoded. The error is about the first damaged line; the
// others are returned.
func SplitEvents(body []byte) (out []store.Event, err error) {
	for line := range bytes.Lines(body) {
		number, data, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		seq, bad := strconv.ParseUint(string(number), 10, 32)
		if bad == nil && !jsontext.Value(data).IsValid() {
			bad = errors.New("its data is no JSON")
		}
		if bad != nil {
			err = cmp.Or(err, bad)
			continue
		}
		out = append(out, store.Event{Seq: seq, Data: message.JSON(data)})
	}
	return out, err
}
