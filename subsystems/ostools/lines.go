package ostools

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// sniffed is how many bytes at the beginning of a file decide whether it is
// text.
const sniffed = 8 << 10

// lines reads a text line by line in bounded memory: it keeps the beginning of each line.
type lines struct {
	r    *bufio.Reader
	keep int
	buf  []byte
	// number counts the lines read; crlf counts those that ended in CR LF.
	number, crlf int
}

func newLines(r io.Reader, keep int) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), keep: keep}
}

func (l *lines) reset(r io.Reader) {
	l.r.Reset(r)
	l.number, l.crlf = 0, 0
}

// binary reports whether the text looks binary. Call it before next.
func (l *lines) binary() bool {
	head, _ := l.r.Peek(sniffed)
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		_, _ = l.r.Discard(3)
	}
	return isBinary(head)
}

// next returns the beginning of the next line, and the bytes of the whole line without its
// end. line is valid until the next call. The error is io.EOF after the last line.
func (l *lines) next() (line []byte, size int, err error) {
	l.buf = l.buf[:0]
	var end [2]byte // the last two bytes of the line
	for {
		part, err := l.r.ReadSlice('\n')
		size += len(part)
		if room := l.keep + len(end) - len(l.buf); room > 0 {
			l.buf = append(l.buf, part[:min(room, len(part))]...)
		}
		for _, b := range part[max(0, len(part)-len(end)):] {
			end[0], end[1] = end[1], b
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && (err != io.EOF || size == 0) {
			return nil, 0, err
		}
		break
	}
	l.number++
	if end[1] == '\n' {
		size--
		if end[0] == '\r' && size > 0 {
			size--
			l.crlf++
		}
	}
	line = l.buf[:min(size, len(l.buf))]
	if len(line) > l.keep {
		line = line[:runeEnd(line, l.keep)]
	}
	return line, size, nil
}

// runeEnd returns the largest index of at most n at which s can be cut without
// splitting a rune; n < len(s).
func runeEnd[T ~string | ~[]byte](s T, n int) int {
	for i := n; i >= 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return i
		}
	}
	return n
}

// runeStart returns the smallest index of at least n at which s can be cut.
func runeStart(s []byte, n int) int {
	for i := n; i < len(s) && i < n+utf8.UTFMax; i++ {
		if utf8.RuneStart(s[i]) {
			return i
		}
	}
	return n
}

// valid replaces bytes that are not UTF-8; whole is false if there were any.
func valid(b []byte) (s string, whole bool) {
	if utf8.Valid(b) {
		return string(b), true
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), false
}

// shown returns the beginning of a line for the model, with a mark if the line of size
// bytes is longer.
func shown(line []byte, size int) (text string, whole bool) {
	text, whole = valid(line)
	if size > len(line) {
		text += fmt.Sprintf(" … [the line has %d bytes]", size)
	}
	return text, whole
}

// lastRune returns the length of b without a cut rune at its end.
func lastRune(b []byte) int {
	for i := len(b) - 1; i >= 0 && i > len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if utf8.FullRune(b[i:]) {
				break
			}
			return i
		}
	}
	return len(b)
}
