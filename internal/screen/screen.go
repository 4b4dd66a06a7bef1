// Package screen writes to a person's terminal. [Text] is text that cannot control a
// terminal and hides nothing; an [Output] writes only Text.
//
// Three functions make a Text of untrusted text, from models, tools, servers, files and
// other programs: [Flow] for an answer over several lines, [Line] for a listing, [Exact]
// for text that a person decides about. Each shows an unseen character as \x1b or
// \u{202e} instead of writing or dropping it.
package screen

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/internal/character"
)

// Text is safe to write to a terminal. The zero Text is empty.
type Text struct{ s string }

// literal is a constant of the program: no other package can convert a variable
// to it.
type literal string

// Lit returns a constant of the program.
func Lit(s literal) Text { return Text{string(s)} }

// Flow returns text over several lines, for answers of models. Line breaks and tabs stay,
// and so do valid sequences of emoji and the joiners that scripts need.
func Flow(s string) Text {
	var f Stream
	return Join(f.Add(s), f.End())
}

// Line returns text on one line: blanks, tabs and line breaks become one blank.
func Line(s string) Text { return Flow(Fold(s)) }

// Fold replaces each run of blanks, tabs and line breaks by one blank. Use it before [Exact]
// for text in which they have no meaning. Other characters that look like blanks stay.
func Fold(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' }), " ")
}

// Exact returns text on one line in which every character can be seen: line breaks,
// unusual blanks and the joiners of emoji are shown, too. Tabs stay.
func Exact(s string) Text {
	var sb strings.Builder
	marks := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		marks = character.Piled(r, marks)
		if character.Hidden(r) || marks > character.MaxMarks || r == utf8.RuneError && n == 1 {
			sb.WriteString(character.Escaped(r, s[i:i+n]))
		} else {
			sb.WriteRune(r)
		}
		i += n
	}
	return Text{sb.String()}
}

// Rows returns the lines of a text, each in the form of [Exact]. All but the first have a
// mark in front, so that they cannot pass for lines of the program.
func Rows(s string) Text { return rows(s, "\n  │ ") }

// Lines is Rows without marks, for a text that the program has joined from parts of one
// line each.
func Lines(s string) Text { return rows(s, "\n") }

func rows(s, between string) Text {
	lines := strings.Split(strings.Trim(strings.ReplaceAll(s, "\r\n", "\n"), "\n"), "\n")
	for i, l := range lines {
		lines[i] = Exact(l).s
	}
	return Text{strings.Join(lines, between)}
}

// Format formats like fmt.Sprintf. A Text as an argument stays as it is; any other argument
// is formatted and then shown in the form of [Exact].
func Format(format literal, args ...any) Text {
	safe := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case Text:
			safe[i] = a.s
		case string:
			safe[i] = Exact(a).s
		case int, int64:
			safe[i] = a
		default:
			safe[i] = Exact(fmt.Sprint(a)).s
		}
	}
	return Text{fmt.Sprintf(string(format), safe...)}
}

// Join puts texts together.
func Join(parts ...Text) Text {
	var sb strings.Builder
	for _, p := range parts {
		sb.WriteString(p.s)
	}
	return Text{sb.String()}
}

// Repeat returns a constant n times; negative is 0.
func Repeat(s literal, n int) Text { return Text{strings.Repeat(string(s), max(0, n))} }

// String returns the bytes for the terminal.
func (t Text) String() string { return t.s }

// Empty reports whether there is nothing to see.
func (t Text) Empty() bool { return t.s == "" }

// EndsLine reports whether the text ends with a line break, whatever its style.
func (t Text) EndsLine() bool { return strings.HasSuffix(strings.TrimSuffix(t.s, "\x1b[0m"), "\n") }

// Len returns the number of characters, counted as runes.
func (t Text) Len() int { return utf8.RuneCountInString(t.s) }

// Cut returns the text with at most width characters; a longer one ends with an
// ellipsis. The text has no style.
func (t Text) Cut(width int) Text {
	if t.Len() <= width {
		return t
	}
	return Text{string([]rune(t.s)[:max(0, width-1)]) + "…"}
}

// Slice returns the bytes from i to j of a text that has no style; both are borders
// of characters.
func (t Text) Slice(i, j int) Text { return Text{t.s[i:j]} }

// Style is a style of text. Its colours are those that every theme defines.
type Style uint8

// The styles.
const (
	Plain Style = iota
	Bold
	Dim
	Italic
	Underline
	Struck
	Red
	Green
	Yellow
	Cyan
)

// codes returns the parameters of the sequences that begin a style, and that end only it.
func (s Style) codes() (begin, end string) {
	switch s {
	case Bold:
		return "1", "22"
	case Dim:
		return "2", "22"
	case Italic:
		return "3", "23"
	case Underline:
		return "4", "24"
	case Struck:
		return "9", "29"
	case Red:
		return "31", "39"
	case Green:
		return "32", "39"
	case Yellow:
		return "33", "39"
	case Cyan:
		return "36", "39"
	}
	return "0", "0"
}

// Begin returns the sequence that begins the style.
func (s Style) Begin() Text { begin, _ := s.codes(); return Text{"\x1b[" + begin + "m"} }

// End returns the sequence that ends the style and no other.
func (s Style) End() Text { _, end := s.codes(); return Text{"\x1b[" + end + "m"} }

// Paint returns the text in a style.
func Paint(s Style, t Text) Text {
	if s == Plain || t.s == "" {
		return t
	}
	return Text{s.Begin().s + t.s + "\x1b[0m"}
}

// Output writes to a terminal, a file or a pipe. Make it with New.
type Output struct{ w io.Writer }

// New returns an output to w.
func New(w io.Writer) *Output { return &Output{w: w} }

// Print writes the text.
func (o *Output) Print(t Text) error {
	_, err := io.WriteString(o.w, t.s)
	return err
}

// Write implements io.Writer for libraries that write text. It shows p in the form of
// [Flow]. Each call must have whole characters.
func (o *Output) Write(p []byte) (int, error) {
	if err := o.Print(Flow(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
