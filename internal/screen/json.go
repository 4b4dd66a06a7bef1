package screen

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/internal/character"
)

// JSON returns a text of JSON in which every character is visible: an unseen one becomes
// its escape, for example \u202e, with the same meaning. Line breaks and tabs between the
// values stay.
func JSON(s string) Text { return new(jsonWriter).escape(s) }

func (j *jsonWriter) escape(s string) Text {
	var sb strings.Builder
	for _, r := range s { // bytes that are not UTF-8 become U+FFFD, as in every decoder
		j.marks = character.Piled(r, j.marks)
		switch {
		case r == '\n' || j.marks <= character.MaxMarks && !character.Hidden(r):
			sb.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&sb, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			fmt.Fprintf(&sb, `\u%04x`, r)
		}
	}
	return Text{sb.String()}
}

// JSONWriter returns a writer that passes JSON on to w in the form of [JSON].
func JSONWriter(w io.Writer) io.Writer { return &jsonWriter{out: New(w)} }

type jsonWriter struct {
	out *Output
	// held is the beginning of a character.
	held  string
	marks int
}

func (j *jsonWriter) Write(p []byte) (int, error) {
	s := j.held + string(p)
	n := len(s)
	for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
		if utf8.RuneStart(s[len(s)-i]) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				n -= i
			}
			break
		}
	}
	j.held = s[n:]
	if err := j.out.Print(j.escape(s[:n])); err != nil {
		return 0, err
	}
	return len(p), nil
}
