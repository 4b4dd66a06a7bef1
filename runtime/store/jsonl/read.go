package jsonl

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/internal/codec"
)

// MaxLine is the length of a line at most, in bytes.
const MaxLine = 64 << 20

// LineError is an error in one line, with a fix.
type LineError struct {
	// Line counts from 1.
	Line int
	Err  error
	Fix  string
}

// Error returns line, reason and fix.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v; %s", e.Line, e.Err, e.Fix) }

// Unwrap returns why.
func (e *LineError) Unwrap() error { return e.Err }

// CutError says that the end of the file is missing, or that its last line cannot be read.
// It comes with everything before that.
type CutError struct {
	// Line is the first line that is missing or cannot be read.
	Line int
	// Missing is the number of missing messages from that line on.
	Missing int
	// Err is why the line cannot be read; io.ErrUnexpectedEOF if it is missing.
	Err error
}

// Error names the missing messages.
func (e *CutError) Error() string {
	return fmt.Sprintf("line %d: %v: the last %d messages are missing and were left out", e.Line, e.Err, e.Missing)
}

// Unwrap returns why.
func (e *CutError) Unwrap() error { return e.Err }

// Read reads and checks a dump: unknown and repeated members, numbers of turns, the number
// of messages in the first line, and the order of roles. It does not check the names of
// agent and sender, because the caller may replace them. Parts that a valid export may
// lack, for example a result, may be missing. The error is a [*LineError], that of r, or a
// [*CutError] with the dump before the cut.
func Read(r io.Reader) (store.Dump, error) {
	in := &input{r: bufio.NewReader(r)}
	h, err := in.header()
	if err != nil {
		return store.Dump{}, err
	}
	d := store.Dump{Key: store.Key{Agent: h.Agent, Sender: h.Sender}, Created: h.Created, Turns: h.Turns}
	total := h.Archived + h.Messages
	var cut *CutError
	for i := range total {
		k, err := in.message()
		if errors.As(err, &cut) {
			cut.Missing = total - i
			break
		}
		if err != nil {
			return store.Dump{}, err
		}
		if i < h.Archived {
			d.Archive = append(d.Archive, k)
		} else {
			d.Messages = append(d.Messages, k)
		}
	}
	if cut != nil {
		return in.cutOff(d, cut)
	}
	if err := in.end(total); err != nil {
		return store.Dump{}, err
	}
	if err := in.judge(d); err != nil {
		return store.Dump{}, err
	}
	return d, nil
}

// cutOff makes a conversation of the lines before the cut. The turn that was cut counts as
// ended, because it cannot be resumed.
func (in *input) cutOff(d store.Dump, cut *CutError) (store.Dump, error) {
	if len(d.Messages) == 0 {
		return store.Dump{}, in.wrong(errors.New("the file ends here, and nothing is left that makes a conversation"), "get the whole file")
	}
	d.Turns = min(d.Turns, d.Messages[len(d.Messages)-1].Turn)
	if err := in.judge(d); err != nil {
		return store.Dump{}, err
	}
	return d, cut
}

type input struct {
	r *bufio.Reader
	// line is the number of the line that was read last.
	line int
}

func (in *input) wrong(err error, fix string) error {
	return &LineError{Line: max(1, in.line), Err: err, Fix: fix}
}

// next returns the next line. last: no line follows. The error is io.EOF after the last
// line.
func (in *input) next() (text []byte, last bool, err error) {
	for {
		part, err := in.r.ReadSlice('\n')
		text = append(text, part...)
		if len(text) > MaxLine {
			in.line++
			return nil, false, in.wrong(fmt.Errorf("it is longer than %d bytes", MaxLine), "no message is: export the conversation again")
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, false, fmt.Errorf("read line %d: %w", in.line+1, err)
		}
		if len(text) == 0 {
			return nil, true, io.EOF
		}
		in.line++
		if err != nil {
			return text, true, nil
		}
		_, err = in.r.Peek(1)
		return bytes.TrimSuffix(text, []byte("\n")), errors.Is(err, io.EOF), nil
	}
}

func (in *input) header() (h header, err error) {
	text, _, err := in.next()
	if errors.Is(err, io.EOF) {
		return h, in.wrong(errors.New("the file is empty"), "name a file that was exported")
	}
	if err != nil {
		return h, err
	}
	var kind struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(text, &kind); err != nil || kind.Format != format {
		return h, in.wrong(cmp.Or(err, fmt.Errorf("its format is %q, not %q", kind.Format, format)), "name a file that was exported")
	}
	if kind.Version != version {
		return h, in.wrong(fmt.Errorf("its version is %d, and this program knows %d", kind.Version, version), "import it with the program that wrote it")
	}
	const counts = 1<<31 - 2
	switch err := json.Unmarshal(text, &h, json.RejectUnknownMembers(true)); {
	case err != nil:
		return h, in.wrong(err, "remove what is wrong, or export the conversation again")
	case h.Archived < 0 || h.Messages < 0 || h.Turns < 0 || h.Archived > counts || h.Messages > counts || h.Turns > counts:
		return h, in.wrong(fmt.Errorf("%d turns, %d archived and %d other messages cannot be", h.Turns, h.Archived, h.Messages), "export the conversation again")
	case h.Created.Year() < 1678 || h.Created.Year() > 2261: // beyond that are no nanoseconds
		return h, in.wrong(fmt.Errorf("created: the year %d", h.Created.Year()), "write the day on which the conversation began")
	}
	return h, nil
}

// message reads one message. What cannot be read and is the last line, or is not
// there, is a *CutError.
func (in *input) message() (k store.Kept, err error) {
	text, last, err := in.next()
	switch {
	case errors.Is(err, io.EOF):
		in.line++
		return k, &CutError{Line: in.line, Err: io.ErrUnexpectedEOF}
	case err != nil:
		return k, err
	}
	k, err = parse(text)
	switch {
	case err != nil && last:
		return k, &CutError{Line: in.line, Err: err}
	case err != nil:
		return k, in.wrong(err, "mend or remove the line and count the messages in line 1 again, or export the conversation again")
	}
	return k, nil
}

func parse(text []byte) (k store.Kept, err error) {
	var l line
	if err := json.Unmarshal(text, &l, json.RejectUnknownMembers(true)); err != nil {
		return k, err
	}
	if l.Message == nil {
		return k, errors.New("it has no message")
	}
	m, err := codec.DecodeStrict(l.Message)
	if err != nil {
		return k, err
	}
	switch m.Role {
	case message.RoleUser, message.RoleAssistant, message.RoleTool:
		return store.Kept{Turn: l.Turn, Summary: l.Summary, Message: m}, nil
	}
	return k, fmt.Errorf("the role of its message is %q and has to be %q, %q or %q", m.Role, message.RoleUser, message.RoleAssistant, message.RoleTool)
}

// end wants nothing behind the messages.
func (in *input) end(total int) error {
	_, _, err := in.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return in.wrong(fmt.Errorf("there are more than the %d messages that line 1 says", total), "correct the numbers in line 1, or export the conversation again")
}
