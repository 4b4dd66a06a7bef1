package screen

import (
	"strings"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/internal/character"
)

// Stream makes a Text of flowing text that comes in parts. What it returns in all
// does not depend on where the text was cut. The zero Stream works.
type Stream struct {
	// held waits for what follows.
	held string
	// before are the last two characters, as they came.
	before [2]rune
	marks  int
}

// Add takes the next part and returns what is decided.
func (f *Stream) Add(s string) Text {
	f.held += s
	return f.take(false)
}

// End returns the rest of a text that is over, and begins a new one.
func (f *Stream) End() Text {
	out := f.take(true)
	*f = Stream{}
	return out
}

func (f *Stream) take(over bool) Text {
	var sb strings.Builder
	at := 0
	for at < len(f.held) {
		n := f.next(&sb, f.held[at:], over)
		if n == 0 {
			break
		}
		at += n
	}
	f.held = f.held[at:]
	return Text{sb.String()}
}

// next writes the first character of rest and returns its length; 0 if that is not
// decided.
func (f *Stream) next(sb *strings.Builder, rest string, over bool) int {
	if !over && !utf8.FullRuneInString(rest) {
		return 0
	}
	r, n := utf8.DecodeRuneInString(rest)
	v := keep
	f.marks = character.Piled(r, f.marks)
	switch {
	case r == utf8.RuneError && n == 1:
		v = show
	case character.Unseen(r):
		v, n = judge(f.before[:], rest, n, over)
	case f.marks > character.MaxMarks:
		v = show
	}
	switch v {
	case wait:
		return 0
	case keep:
		sb.WriteString(rest[:n])
	case show:
		sb.WriteString(character.Escaped(r, rest[:n]))
	}
	f.before = [2]rune{f.before[1], r}
	return n
}
