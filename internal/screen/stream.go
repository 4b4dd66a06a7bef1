package screen

import (
	"strings"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/internal/character"
)

// Stream is [Flow] for text that comes in parts. Its output does not depend on how the text
// was cut. The zero Stream works.
type Stream struct {
	// held waits for more.
	held string
	// before has the last two characters of the input.
	before [2]rune
	marks  int
}

// Add adds the next part and returns the output decided by now.
func (f *Stream) Add(s string) Text {
	f.held += s
	return f.take(false)
}

// End ends the text and returns the rest of the output. Another text may follow.
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

// next writes the first character of rest and returns its length; 0 if more text must
// decide.
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
