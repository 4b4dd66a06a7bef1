// Package edit reads lines that a person edits at a terminal: of any length and over
// several rows, with history and completion, for wide characters and screens of any
// size. If the input is no terminal, or a dumb one, it reads plain lines.
//
// The editor changes the terminal only during Read, and restores it when Read returns,
// also after a panic.
package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/grapnel-go/grapnel/internal/screen"
)

// ErrInterrupt is Ctrl-C at an empty line.
var ErrInterrupt = errors.New("editor: interrupted")

// Editor reads lines from one terminal, or from a file or a pipe. Make it with
// New. Reading is for one goroutine at a time; everything else is safe for
// concurrent use.
type Editor struct {
	in    *input
	out   *os.File
	write io.Writer // to out
	color bool
	// edits: the editor handles keys, not the terminal. asks: a person sees the prompt.
	edits, asks bool
	// typed has the input that was read and not used yet.
	typed []byte
	// over: the input has ended.
	over bool

	// mu guards view and line, which are set while a line is on the screen.
	mu   sync.Mutex
	view *view
	line *editing
}

// Options of New.
type Options struct {
	// Dumb: the terminal can only write from left to right.
	Dumb bool
	// Color: highlight the prompt.
	Color bool
	// Write writes to out, for callers that need its errors; nil is out itself.
	Write io.Writer
}

// New returns an editor for a person who types into in and sees out. Nil options are all
// zero values. The caller closes the editor.
func New(in, out *os.File, o *Options) (*Editor, error) {
	if o == nil {
		o = &Options{}
	}
	e := &Editor{out: out, write: o.Write, color: o.Color}
	if e.write == nil {
		e.write = out
	}
	e.asks = term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
	e.edits = e.asks && !o.Dumb
	var err error
	if e.in, err = newInput(in); err != nil {
		return nil, fmt.Errorf("read the terminal: %w", err)
	}
	return e, nil
}

// Close frees the editor's resources; in and out stay open.
func (e *Editor) Close() error { return e.in.close() }

// Interactive reports whether a person types and sees the prompt.
func (e *Editor) Interactive() bool { return e.asks }

// Columns returns the width of the screen; 80 if it is not known.
func (e *Editor) Columns() int {
	columns, _ := e.size()
	return columns
}

func (e *Editor) size() (columns, height int) { return Size(e.out) }

// Line is a line to be read; the zero Line works.
type Line struct {
	// Prompt is shown before the line.
	Prompt string
	// Text is the initial text.
	Text string
	// History has the lines for the arrow keys; nil is none.
	History *History
	// Question: Ctrl-C is ErrInterrupt also after typed text.
	Question bool
	// Complete returns words that complete the text before the cursor, and the byte from
	// which they replace it. Nil completes nothing.
	Complete func(before string) (from int, words []Word)
}

// Word is a completion.
type Word struct {
	Text string
	// Help is shown next to it.
	Help string
}

// Forget drops input that was typed before.
func (e *Editor) Forget() {
	if e.asks {
		e.typed = nil
		e.in.forget()
	}
}

// Read reads one line. The line may have line breaks: pasted ones, and those typed after a
// backslash or with Alt. The error is ErrInterrupt for Ctrl-C at an empty line or a
// question, io.EOF for Ctrl-D at an empty line and at the end of the input, and the cause of
// ctx when it ends. Ctrl-C at another line begins a new one.
func (e *Editor) Read(ctx context.Context, l Line) (text string, err error) {
	stop := e.in.watch(ctx)
	defer stop()
	if !e.edits {
		return e.plain(ctx, l)
	}
	leave, err := e.enter()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, leave()) }()
	s := &editing{e: e, line: l, leave: leave, at: l.History.len()}
	s.text.set(l.Text)
	e.begin(s)
	defer e.finish()
	return s.run(ctx)
}

// enter takes the terminal over, and leave restores it.
func (e *Editor) enter() (leave func() error, err error) {
	restore, err := e.in.raw()
	if err != nil {
		return nil, fmt.Errorf("read the terminal: %w", err)
	}
	e.put("\x1b[?2004h") // bracketed paste
	return func() error {
		e.put("\x1b[?2004l")
		if err := restore(); err != nil {
			return fmt.Errorf("restore the terminal: %w", err)
		}
		return nil
	}, nil
}

// plain reads a line without editing, from a dumb terminal or a pipe.
func (e *Editor) plain(ctx context.Context, l Line) (string, error) {
	var lines []string
	prompt := l.Prompt
	for {
		if e.asks {
			e.put(screen.Rows(prompt).String())
		}
		line, err := e.plainLine(ctx)
		if err != nil {
			if e.asks {
				e.put("\n")
			}
			return "", err
		}
		before, more := continued(line)
		if lines = append(lines, before); !more {
			return strings.Join(lines, "\n"), nil
		}
		prompt = strings.Repeat(" ", Width(l.Prompt))
	}
}

func (e *Editor) plainLine(ctx context.Context) (string, error) {
	for {
		if i := bytes.IndexByte(e.typed, '\n'); i >= 0 {
			line := string(bytes.TrimSuffix(e.typed[:i], []byte("\r")))
			e.typed = e.typed[i+1:]
			return line, nil
		}
		err := e.more(ctx, 0)
		switch {
		case err == io.EOF && len(e.typed) > 0:
			line := string(e.typed)
			e.typed = nil
			return line, nil
		case err != nil:
			return "", err
		}
	}
}

// continued reports whether a line ends in an odd number of backslashes, and returns the
// line without the last.
func continued(line string) (string, bool) {
	before := strings.TrimRight(line, `\`)
	if (len(line)-len(before))%2 == 1 {
		return line[:len(line)-1], true
	}
	return line, false
}

// more waits for more input, at most for the time most unless that is 0. It may return
// without input, because the screen was resized.
func (e *Editor) more(ctx context.Context, most time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e.over {
		return io.EOF
	}
	var buf [4096]byte
	n, err := e.in.read(buf[:], most)
	e.typed = append(e.typed, buf[:n]...)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, io.EOF):
		// A terminal can continue after Ctrl-D, a file or pipe cannot.
		e.over = !e.asks
		return io.EOF
	case err != nil:
		return fmt.Errorf("read what is typed: %w", err)
	}
	return nil
}

// put writes to the screen. It drops the error: when the screen is gone, the input fails,
// too.
func (e *Editor) put(s string) { _, _ = io.WriteString(e.write, s) }

// Write writes text to the screen, above the line that is being edited if there
// is one.
func (e *Editor) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.view == nil {
		return e.write.Write(p)
	}
	text := strings.ReplaceAll(strings.TrimSuffix(string(p), "\n"), "\n", "\r\n")
	e.put(e.view.erase() + text + "\r\n")
	e.drawLocked(false)
	return len(p), nil
}

func (e *Editor) begin(s *editing) {
	e.mu.Lock()
	defer e.mu.Unlock()
	columns, height := e.size()
	e.view, e.line = &view{columns: columns, height: height}, s
	e.drawLocked(false)
}

// finish draws the whole line and moves the cursor below it.
func (e *Editor) finish() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.line.text.at = len(e.line.text.runes)
	e.drawLocked(true)
	e.put("\r\n")
	e.view, e.line = nil, nil
}

// drawLocked draws the line, for the size that the screen has now.
func (e *Editor) drawLocked(last bool) {
	columns, height := e.size()
	clean := ""
	if columns != e.view.columns || height != e.view.height {
		e.view.resize(columns, height)
		// A terminal joins wrapped rows again on a wider screen, unless they are erased
		// before.
		clean = e.view.erase()
	}
	e.put(clean + e.view.draw(lay(e.line.line.Prompt, &e.line.text, columns, e.color), last))
}
