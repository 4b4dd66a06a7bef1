package yamldoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/grapnel-go/grapnel/internal/character"
)

// MaxFront limits a frontmatter, in bytes.
const MaxFront = 64 << 10

// The errors of [Split].
var (
	// ErrMissing: the text does not begin with a line ---.
	ErrMissing = errors.New("the frontmatter is missing")
	// ErrOpen: the second line --- is missing.
	ErrOpen = errors.New("the frontmatter has no end")
)

// Split separates the frontmatter of a text from the body below. It drops a byte order mark
// and reads CRLF as LF. With ErrMissing, body is the whole text.
func Split(text string) (front, body string, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n")
	first, rest, ok := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return "", text, ErrMissing
	}
	if !ok {
		return "", "", ErrOpen
	}
	size := 0
	for line := range strings.Lines(rest) {
		if strings.TrimRight(line, " \t\n") == "---" {
			return rest[:size], rest[size+len(line):], nil
		}
		size += len(line)
	}
	return "", "", ErrOpen
}

// Keys are the keys that a frontmatter may have.
type Keys struct {
	// Free are keys with text for people as values. Such text needs no quotes.
	Free []string
	// Guarded are keys that grant or restrict something. A line that looks like one of
	// them must be that key, else the text is refused. Only text in quotes, in a block
	// (| or >) or in a comment may look like one, because people read that as text.
	Guarded []string
	// Other are the other keys; they, too, end a text without quotes.
	Other []string
}

// Front reads a frontmatter. Its lines count from 2, because the first line of the file is
// ---. If it is not valid YAML, Front reads the values of free keys leniently: they may have
// a colon, and continue up to the line of the next key. Quoted reports that this was
// needed. The error is an [*Error].
func Front(text string, keys *Keys) (root *yaml.Node, quoted bool, err error) {
	if len(text) > MaxFront {
		return nil, false, &Error{Line: 1, Column: 1, What: fmt.Sprintf("has more than %d bytes", MaxFront), Fix: "make it shorter"}
	}
	if err := visible(text); err != nil {
		return nil, false, err
	}
	root, err = Parse([]byte("\n" + text))
	if err != nil {
		quoted = true
		root, err = keys.lenient(text)
	}
	if err == nil {
		err = keys.check(root, text)
	}
	if err != nil {
		return nil, false, err
	}
	return root, quoted, nil
}

// visible refuses controls, and characters that break a line only in YAML or only in some
// editors: they can hide keys from a person.
func visible(text string) error {
	line, start := 2, 0
	for i, r := range text {
		what := ""
		switch {
		case r == '\n':
			line, start = line+1, i+1
		case strings.ContainsRune("\r\v\f\u0085\u2028\u2029", r):
			what = "at which some programs begin a line"
		case r != '\t' && unicode.IsControl(r):
			what = "which cannot be seen"
		}
		if what != "" {
			return &Error{
				Line: line, Column: utf8.RuneCountInString(text[start:i]) + 1,
				What: fmt.Sprintf("has the character %s, %s", character.Escaped(r, text[i:i+utf8.RuneLen(r)]), what), Fix: "delete it",
			}
		}
	}
	return nil
}

// lenient reads a text with quotes around the values of free keys: first around values of one
// line, then around values of several lines.
func (k *Keys) lenient(text string) (*yaml.Node, error) {
	if root, err := Parse([]byte("\n" + k.quoteLines(text))); err == nil {
		return root, nil
	}
	blocks, err := k.quoteBlocks(text)
	if err != nil {
		return nil, err
	}
	return Parse([]byte("\n" + blocks))
}

// keyValue is a line with a key and a plain value: one without quotes that is neither a
// list nor a block.
var keyValue = regexp.MustCompile(`^([A-Za-z_-]+):[ \t]+([^"'\[{|>#\s].*)$`)

// free returns the key and the plain value of a line with a free key; ok is false for
// other lines.
func (k *Keys) free(line string) (key, value string, ok bool) {
	m := keyValue.FindStringSubmatch(line)
	if m == nil || !slices.Contains(k.Free, m[1]) {
		return "", "", false
	}
	return m[1], m[2], true
}

// quoteLines puts quotes around free values that have a colon and a blank.
func (k *Keys) quoteLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if key, value, ok := k.free(line); ok && strings.Contains(value, ": ") {
			lines[i] = key + ": " + quote(value)
		}
	}
	return strings.Join(lines, "\n")
}

// quoteBlocks puts quotes around free values, each with the lines that follow up to the
// next of the keys. The lines keep their numbers. None of them may look like a guarded key.
func (k *Keys) quoteBlocks(text string) (string, error) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		key, value, ok := k.free(lines[i])
		if !ok {
			continue
		}
		first := i
		for i+1 < len(lines) && keyIn(lines[i+1], k.Free, k.Guarded, k.Other) == "" {
			i++
			if word, near := k.guarded(lines[i]); near != "" {
				return "", ambiguous(i+2, word, fmt.Sprintf("the value of %q", key), near)
			}
			value += "\n" + lines[i]
			lines[i] = ""
		}
		lines[first] = key + ": " + quote(strings.TrimSpace(value))
	}
	return strings.Join(lines, "\n"), nil
}

// keyIn returns the key of a line that begins with one of the lists; "" if none does.
func keyIn(line string, lists ...[]string) string {
	key, _, ok := strings.Cut(line, ":")
	if ok && slices.ContainsFunc(lists, func(keys []string) bool { return slices.Contains(keys, key) }) {
		return key
	}
	return ""
}

// quote returns a text as YAML in double quotes: a JSON string is valid YAML.
func quote(text string) string {
	data, err := json.Marshal(text)
	if err != nil { // cannot happen for a string
		return ""
	}
	return string(data)
}
