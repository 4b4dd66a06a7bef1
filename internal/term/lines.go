package term

import (
	"bufio"
	"context"
	"io"

	"github.com/grapnel-go/grapnel/internal/screen"
)

// maxLine limits the line of an answer, in bytes.
const maxLine = 4096

// lineReader reads lines with a wait that ends with a context. A read of a terminal cannot
// be interrupted. So the first read starts a goroutine, which may outlive a cancelled wait:
// it stays blocked in Read until the next line, or the end of the process. The next read
// gets that line, unless drop was called before.
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

// drop drops a line that was typed before the question was shown. One goroutine at a time
// may call drop and read.
func (r *lineReader) drop() {
	select {
	case t := <-r.got:
		r.pending = false
		if t.err != nil { // keep the end of the input
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

// Answer asks the person. Without an answer it ends the question's line.
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

// show drops the error: without the question there is no answer.
func (t *typist) show(text screen.Text) { _ = t.out.Print(text) }
