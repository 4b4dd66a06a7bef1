package diag

import (
	"bytes"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Files returns a Source for names that are absolute or relative to dir; "" is the working directory.
func Files(dir string) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, filepath.FromSlash(name))
		}
		return os.ReadFile(name)
	}
}

// sources caches the lines of files.
type sources struct {
	read  func(name string) ([]byte, error)
	files map[string][][]byte
}

// line returns the line of a position; false if there is none or it has no such column.
func (s *sources) line(pos token.Position) (line string, ok bool) {
	if s.read == nil || pos.Filename == "" || pos.Line < 1 || pos.Column < 1 {
		return "", false
	}
	lines, known := s.files[pos.Filename]
	if !known {
		if text, err := s.read(pos.Filename); err == nil {
			lines = bytes.Split(text, []byte("\n"))
		}
		if s.files == nil {
			s.files = map[string][][]byte{}
		}
		s.files[pos.Filename] = lines
	}
	if pos.Line > len(lines) {
		return "", false
	}
	line = strings.TrimSuffix(string(lines[pos.Line-1]), "\r")
	return line, line != "" && pos.Column <= len(line)+1
}

// Locate sets the end of every problem that has none from the text at its place: an identifier, a word of a comment or tag, a whole
// comment, a string.
func Locate(problems []Problem, source func(name string) ([]byte, error)) []Problem {
	lines := &sources{read: source}
	out := slices.Clone(problems)
	for i, p := range out {
		line, ok := lines.line(p.Pos)
		if !ok || p.End.IsValid() || p.Pos.Column > len(line) {
			continue
		}
		n := extent(line[p.Pos.Column-1:])
		out[i].End = p.Pos
		out[i].End.Column += n
		out[i].End.Offset += n
	}
	return out
}

// extent returns the length of the token at the start of a text, which is not empty.
func extent(text string) int {
	switch text[0] {
	case '/':
		if strings.HasPrefix(text, "//") {
			return len(strings.TrimRight(text, " \t"))
		}
		if i := strings.Index(text, "*/"); i >= 0 {
			return i + 2
		}
	case '"', '`':
		if i := strings.IndexByte(text[1:], text[0]); i >= 0 {
			return i + 2
		}
	}
	inWord := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	if n := strings.IndexFunc(text, func(r rune) bool { return !inWord(r) }); n != 0 {
		if n < 0 {
			n = len(text)
		}
		return n
	}
	_, n := utf8.DecodeRuneInString(text)
	return n
}
