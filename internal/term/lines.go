package term

import (
	"bufio"
	"context"
	"io"

	"github.com/grapnel-go/grapnel/internal/screen"
)

// maxLine is the longest line in bytes that is read as an answer.
const maxLine = 4096

// lineReader reads lines so that waiting for one ends with a context. Reading a
// terminal cannot be interrupted, so one goroutine, started by the first read,
// may outlive a cancelled wait: at most one, blocked in Read until there is a
// line or the input ends, which is when the process does. Its line then goes to
// the next read, unless drop came first.
type lineReader struct {
	in      *bufio.Reader
	got     chan typed
	pending bool
}

type typed struct {
	line string
	err  error
}

func newLineReader(in io.Reader) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, maxLine), got: make(chan typed, 1)}
}

// drop forgets a line that was typed before the question was shown. One
// goroutine at a time, as read.
func (r *lineReader) drop() {
	select {
	case t := <-r.got:
		r.pending = false
		if t.err != nil { // the end of the input is still the end
			r.got <- t
			r.pending = true
		}
	default:
	}
}

// read returns the next line without its end; io.EOF after the last one.
func (r *lineReader) read(ctx context.Context) (string, error) {
	if !r.pending {
		r.pending = true
		go func() {
			line, err := r.in.ReadSlice('\n')
			if err != nil && (err != io.EOF || len(line) == 0) {
				line = nil
			} else {
				err = nil
			}
			r.got <- typed{string(line), err}
		}()
	}
	select {
	case t := <-r.got:
		r.pending = false
		return t.line, t.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// typist is a person who types lines and reads what is written.
type typist struct {
	lines *lineReader
	out   *screen.Output
}

// Answer asks the person. An answer that does not come ends the question's line.
func (t *typist) Answer(ctx context.Context, question string) (string, error) {
	t.lines.drop()
	t.show(screen.Rows(question))
	answer, err := t.lines.read(ctx)
	if err != nil {
		t.show(screen.Lit("\n"))
	}
	return answer, err
}

// Edit shows the text and asks for another one.
func (t *typist) Edit(ctx context.Context, question, text string) (string, error) {
	t.show(screen.Format("  %s\n", text))
	return t.Answer(ctx, question)
}

// show drops the error: if the question cannot be shown, the answer does not come.
func (t *typist) show(text screen.Text) { _ = t.out.Print(text) }
