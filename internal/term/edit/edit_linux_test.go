package edit_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/term/edit"
	"github.com/grapnel-go/grapnel/internal/test/tty"
)

type result struct {
	text string
	err  error
}

// desk is an editor at a terminal.
type desk struct {
	*tty.Terminal
	t    *testing.T
	ed   *edit.Editor
	dumb bool
}

func sit(t *testing.T, columns, rows int, o *edit.Options) *desk {
	term := tty.Open(t, columns, rows)
	ed, err := edit.New(term.TTY(), term.TTY(), o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, ed.Close()) })
	return &desk{Terminal: term, t: t, ed: ed, dumb: o != nil && o.Dumb}
}

// read begins to read a line and returns where the result will be. The terminal
// has to be as it was after it.
func (d *desk) read(ctx context.Context, l edit.Line) <-chan result {
	got := make(chan result, 1)
	before, reads := d.Mode(), d.Reads()
	go func() {
		text, err := d.ed.Read(ctx, l)
		assert.Equal(d.t, before, d.Mode(), "the terminal's mode")
		got <- result{text, err}
	}()
	if !d.dumb {
		d.Until("keys are read", func(string) bool { return d.Reads() > reads })
	}
	return got
}

// enter types what is entered as one line.
func (d *desk) enter(l edit.Line, keys string) (string, error) {
	got := d.read(d.t.Context(), l)
	d.Type(keys)
	r := <-got
	return r.text, r.err
}

func TestReadLines(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, keys, want string }{
		{"plain", "hello\r", "hello"},
		{"UTF-8", "日本 é 👍\x1b[D\x7f!\r", "日本 é!👍"},
		{"in the middle", "helo\x1b[Dl\r", "hello"},
		{"home and end", "b\x01a\x05c\r", "abc"},
		{"backslash", "one\\\rtwo\r", "one\ntwo"},
		{"two backslashes", "one\\\\\r", `one\\`},
		{"Alt-Enter", "one\x1b\rtwo\r", "one\ntwo"},
		{"pasted", "\x1b[200~one\ntwo\r\nthree\x1b[31m\x1b[201~!\r", "one\ntwo\nthree[31m!"},
		{"killed and entered anew", "one\x03two\r", "two"},
		{"unknown keys", "a\x1b[15~\x1b[1;9Pb\x00\x1f\r", "ab"},
		{"delete key", "abc\x1b[H\x1b[3~\r", "bc"},
		{"Ctrl-D deletes", "abc\x01\x04\r", "bc"},
		{"words", "one two\x1bbX\x1b[1;5D\x1b[1;5D\x1bd\x19Y\r", "oneY Xtwo"},
		{"a blank in front stays", " x \r", " x "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := sit(t, 40, 10, nil)
			got, err := d.enter(edit.Line{Prompt: "> "}, tt.keys)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestTypedAhead(t *testing.T) {
	t.Parallel()
	d := sit(t, 40, 10, nil)
	first, err := d.enter(edit.Line{}, "one\rtwo\rthr")
	require.NoError(t, err)
	assert.Equal(t, "one", first)
	second, err := d.enter(edit.Line{}, "")
	require.NoError(t, err)
	assert.Equal(t, "two", second)
	third, err := d.enter(edit.Line{}, "ee\r")
	require.NoError(t, err)
	assert.Equal(t, "three", third)
	d.ed.Forget()
}

func TestForget(t *testing.T) {
	t.Parallel()
	d := sit(t, 40, 10, nil)
	first, err := d.enter(edit.Line{}, "one\ry\r")
	require.NoError(t, err)
	assert.Equal(t, "one", first)
	d.Type("yes\r")
	d.Until("the terminal has echoed", func(s string) bool { return strings.Contains(s, "yes") })
	d.ed.Forget()
	second, err := d.enter(edit.Line{}, "no\r")
	require.NoError(t, err)
	assert.Equal(t, "no", second, "what was typed before the question is no answer")
}

func TestHowReadingEnds(t *testing.T) {
	t.Parallel()
	d := sit(t, 40, 10, nil)
	_, err := d.enter(edit.Line{Prompt: "> "}, "\x03")
	require.ErrorIs(t, err, edit.ErrInterrupt)
	_, err = d.enter(edit.Line{Prompt: "> "}, "\x04")
	require.ErrorIs(t, err, io.EOF)
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("over")
	got := d.read(ctx, edit.Line{Prompt: "> "})
	d.Type("half")
	d.Wait("> half")
	cancel(over)
	require.ErrorIs(t, (<-got).err, over)
	_, err = d.ed.Read(ctx, edit.Line{})
	require.ErrorIs(t, err, over)
	assert.Equal(t, "> ^C\n>\n> half", d.Text())
}

func TestAPanicLeavesTheTerminalAsItWas(t *testing.T) {
	t.Parallel()
	d := sit(t, 40, 10, nil)
	before := d.Mode()
	ended := make(chan any)
	go func() {
		defer func() { ended <- recover() }()
		_, _ = d.ed.Read(t.Context(), edit.Line{Prompt: "> ", Complete: func(string) (int, []edit.Word) { panic("oh") }})
	}()
	d.Wait(">")
	assert.NotEqual(t, before, d.Mode())
	d.Type("x\t")
	assert.Equal(t, "oh", <-ended)
	assert.Equal(t, before, d.Mode())
	text, err := d.enter(edit.Line{Prompt: "> "}, "again\r")
	require.NoError(t, err)
	assert.Equal(t, "again", text)
}

func TestHistoryKeys(t *testing.T) {
	t.Parallel()
	d := sit(t, 40, 10, nil)
	h, err := edit.OpenHistory(filepath.Join(t.TempDir(), "h"))
	require.NoError(t, err)
	require.NoError(t, h.Add("first"))
	require.NoError(t, h.Add("second\nline"))
	for _, tt := range []struct{ keys, want string }{
		{"\x1b[A\r", "second\nline"},
		{"\x1b[A\x1b[A\x1b[A\r", "first"},
		{"\x10\x10\x10\x10\x10!\r", "first!"},
		{"draft\x1b[A\x1b[A\x1b[A\x1b[B\x1b[B\x1b[B\r", "draft"},
		{"\x1b[Bx\r", "x"},
	} {
		got, err := d.enter(edit.Line{Prompt: "> ", History: h}, tt.keys)
		require.NoError(t, err)
		assert.Equal(t, tt.want, got)
	}
}

func complete(before string) (int, []edit.Word) {
	var out []edit.Word
	from := strings.LastIndexByte(before, ' ') + 1
	for _, w := range []edit.Word{{Text: "/help", Help: "what there is"}, {Text: "/hello", Help: "日本語 " + strings.Repeat("long ", 20)}, {Text: "/résumé"}} {
		if strings.HasPrefix(w.Text, before[from:]) {
			out = append(out, w)
		}
	}
	return from, out
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	d := sit(t, 30, 10, nil)
	l := edit.Line{Prompt: "> ", Complete: complete}
	got, err := d.enter(l, "日 /r\t!\r")
	require.NoError(t, err)
	assert.Equal(t, "日 /résumé !", got)
	got, err = d.enter(l, "x\t\r")
	require.NoError(t, err)
	assert.Equal(t, "x", got)

	end := d.read(t.Context(), l)
	d.Type("/h\t")
	d.Wait("> /hel")
	d.Type("\t")
	screen := d.Until("the words are listed", func(s string) bool { return strings.Contains(s, "/hello ") && strings.HasSuffix(s, "> /hel") })
	assert.Contains(t, screen, "\n  /help   what there is\n  /hello  日本語 long long l…\n> /hel")
	d.Type("p\t\r")
	assert.Equal(t, "/help ", (<-end).text)
}

func TestWrittenAboveTheLine(t *testing.T) {
	t.Parallel()
	d := sit(t, 20, 6, nil)
	got := d.read(t.Context(), edit.Line{Prompt: "> "})
	d.Type("half of a line, and more")
	d.Wait("nd more")
	_, err := d.ed.Write([]byte("one\ntwo\n"))
	require.NoError(t, err)
	d.Until("the line is below", func(s string) bool { return s == "one\ntwo\n> half of a line, a\nnd more" })
	d.Type("\r")
	assert.Equal(t, "half of a line, and more", (<-got).text)
	_, err = d.ed.Write([]byte("three"))
	require.NoError(t, err)
	d.Wait("nd more\nthree")
}

func TestSmallScreens(t *testing.T) {
	t.Parallel()
	d := sit(t, 20, 5, nil)
	got := d.read(t.Context(), edit.Line{Prompt: "> "})
	text := strings.Repeat("0123456789", 12) // 7 rows of 19
	d.Type(text)
	d.Until("the end is on the screen", func(s string) bool { return strings.HasSuffix(s, "56789") })
	d.Type("\x01")
	d.Until("the beginning is", func(s string) bool { return strings.Contains(s, "> 01234567890123456\n") })
	row, col := d.Cursor()
	assert.Equal(t, 2, col)
	assert.True(t, strings.HasPrefix(strings.Split(d.Text(), "\n")[row], "> 012"))
	d.Type("A\x05Z\r")
	assert.Equal(t, "A"+text+"Z", (<-got).text)
	d.Until("the whole line is there", func(s string) bool {
		return strings.Contains(strings.ReplaceAll(s, "\n", ""), "> A"+text+"Z")
	})
}

func TestResize(t *testing.T) {
	t.Parallel()
	d := sit(t, 40, 10, nil)
	got := d.read(t.Context(), edit.Line{Prompt: "> "})
	d.Type("0123456789 0123456789 0123456789")
	d.Wait("0123456789")
	for _, columns := range []int{60, 20, 3, 80} {
		d.Resize(columns, 10)
		d.Type("\x1b[D\x1b[C.")
		d.Until("it is drawn", func(s string) bool { return strings.HasSuffix(s, ".") })
	}
	d.Type("\r")
	assert.Equal(t, "0123456789 0123456789 0123456789....", (<-got).text)
}

func TestADumbTerminal(t *testing.T) {
	t.Parallel()
	d := sit(t, 40, 10, &edit.Options{Dumb: true})
	assert.True(t, d.ed.Interactive())
	got, err := d.enter(edit.Line{Prompt: "> "}, "one\\\ntwo\n")
	require.NoError(t, err)
	assert.Equal(t, "one\ntwo", got)
	_, err = d.enter(edit.Line{Prompt: "> "}, "\x04")
	require.ErrorIs(t, err, io.EOF)
	assert.NotContains(t, d.Text(), "<", "it knows no control sequence")
	ctx, cancel := context.WithCancel(t.Context())
	ended := d.read(ctx, edit.Line{Prompt: "> "})
	cancel()
	require.ErrorIs(t, (<-ended).err, context.Canceled)
}

func TestAPipe(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _ = r.Close() }()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	ed, err := edit.New(r, file, nil)
	require.NoError(t, err)
	assert.False(t, ed.Interactive())
	assert.Equal(t, 80, ed.Columns())
	_, err = w.WriteString("one\r\n\ntwo\\\nthree\nthe end")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	for _, want := range []string{"one", "", "two\nthree", "the end"} {
		ed.Forget() // only a person types ahead
		got, err := ed.Read(t.Context(), edit.Line{Prompt: "> "})
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for range 2 {
		_, err = ed.Read(t.Context(), edit.Line{})
		require.ErrorIs(t, err, io.EOF)
	}
	require.NoError(t, ed.Close())
	info, err := file.Stat()
	require.NoError(t, err)
	assert.Zero(t, info.Size(), "nobody is asked")
}
