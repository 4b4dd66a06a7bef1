// Package console is the terminal of one program: what a command writes, notes and asks there.
package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/stdout"
	"github.com/grapnel-go/grapnel/internal/term"
)

// Console is what a command reads and writes. It is for one goroutine at a time, but for Note.
type Console struct {
	In, Out, Err *os.File
	// Written is Out as commands write to it.
	Written *stdout.Output
	// NewPerson makes the person who types into in and sees out; nil is [NewPerson].
	NewPerson func(in, out *os.File) (term.Answers, error)

	// Mask masks the texts of Note and Remark; nil masks nothing.
	Mask func(text string) string

	// person answers at the terminal, once somebody was needed.
	person term.Answers
	// tty is the terminal where questions are asked, once it was needed.
	tty *os.File
}

// Close frees what asking took.
func (c *Console) Close() {
	if p, ok := c.person.(io.Closer); ok {
		_ = p.Close() // it has only read
	}
	if c.tty != nil {
		_ = c.tty.Close() // nothing is lost: it was only written to
	}
}

// Masked masks a text for people.
func (c *Console) Masked(text string) string {
	if c.Mask == nil {
		return text
	}
	return c.Mask(text)
}

// Note tells the person something beside the output.
func (c *Console) Note(text string) {
	_ = screen.New(c.Err).Print(screen.Format("note: %s\n", screen.Rows(c.Masked(text)))) // the output tells whether one can write
}

// Remark tells the person something that matters little.
func (c *Console) Remark(text string) {
	t := screen.Format("· %s", screen.Rows(c.Masked(text)))
	if term.Colored(c.Err) {
		t = screen.Paint(screen.Dim, t)
	}
	_ = screen.New(c.Err).Print(screen.Format("%s\n", t)) // it matters little
}

// Print writes to standard output.
func (c *Console) Print(t screen.Text) error { return screen.New(c.Written).Print(t) }

// Say writes a line for people.
func (c *Console) Say(text string) error {
	return c.Print(screen.Format("%s\n", screen.Rows(text)))
}

// Tables writes tables, as [term.Tables] makes them.
func (c *Console) Tables(tables ...[][]string) error { return c.Print(term.Tables(tables...)) }

// Whole writes tables as Tables does, but cuts no cell.
func (c *Console) Whole(tables ...[][]string) error { return c.Print(term.AlignedTables(0, tables...)) }

// JSON writes one value; v is any because it is only encoded.
func (c *Console) JSON(v any) error {
	enc := json.NewEncoder(screen.JSONWriter(c.Written))
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Shower returns what shows a turn, with hook runs that are as visible as hooks, or its answer alone if that is JSON by request.
// The gate keeps it still while a question is on the screen.
func (c *Console) Shower(json, answer bool, hooks hook.Visibility) (term.Shower, *term.Gate) {
	gate := term.NewGate(c.Written)
	switch {
	case json:
		return term.NewJSONPrinter(gate).ShowHooks(hooks), gate
	case answer:
		return term.NewAnswerPrinter(gate, c.Err), gate
	}
	return term.NewPrinter(gate, term.Colored(c.Out)).ShowHooks(hooks), gate
}

// maxPrompt is the longest prompt in bytes that is read from standard input.
const maxPrompt = 4 << 20

// Prompt returns the argument, or what is on standard input for "-".
func (c *Console) Prompt(arg string) (string, error) {
	if arg == "-" {
		data, err := io.ReadAll(io.LimitReader(c.In, maxPrompt+1))
		if err != nil {
			return "", fmt.Errorf("read the prompt from standard input: %w", err)
		}
		if len(data) > maxPrompt {
			return "", fmt.Errorf("the prompt on standard input is longer than %d bytes; put the text into a file and tell the agent to read it", maxPrompt)
		}
		arg = string(data)
	}
	switch {
	case strings.TrimSpace(arg) == "":
		return "", errors.New("the prompt is empty; write what the agent is to do")
	case !utf8.ValidString(arg):
		return "", errors.New("the prompt is no UTF-8 text; convert it first")
	}
	return arg, nil
}
