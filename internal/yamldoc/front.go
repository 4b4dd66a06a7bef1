package yamldoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxFront is the size of a frontmatter in bytes.
const MaxFront = 64 << 10

// The errors of [Split].
var (
	// ErrMissing: the text does not begin with a line ---.
	ErrMissing = errors.New("the frontmatter is missing")
	// ErrOpen: the second line --- is missing.
	ErrOpen = errors.New("the frontmatter has no end")
)

// Split separates the frontmatter of a text from what is below. A byte order mark is
// dropped and CRLF read as LF. With ErrMissing, body is all of the text.
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

// Front reads a frontmatter; its lines count from 2, because the first one of the file is
// the line ---. What is no YAML is read as people mean it: values without quotes may
// have a colon, and a value may go on in lines up to the next of the keys. Quoted reports
// that this was needed. The error is an [*Error].
func Front(text string, keys []string) (root *yaml.Node, quoted bool, err error) {
	if len(text) > MaxFront {
		return nil, false, &Error{Line: 1, Column: 1, What: fmt.Sprintf("has more than %d bytes", MaxFront), Fix: "make it shorter"}
	}
	root, err = Parse([]byte("\n" + text))
	if err == nil {
		return root, false, nil
	}
	for _, mend := range []string{quoteLines(text), quoteBlocks(text, keys)} {
		if root, again := Parse([]byte("\n" + mend)); again == nil {
			return root, true, nil
		}
	}
	return nil, false, err
}

// keyValue is a line with a key and a plain value: one without quotes that is neither a
// list nor a block.
var keyValue = regexp.MustCompile(`^([A-Za-z_-]+):[ \t]+([^"'\[{|>#\s].*)$`)

// quoteLines puts quotes around plain values that have a colon and a blank.
func quoteLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if m := keyValue.FindStringSubmatch(line); m != nil && strings.Contains(m[2], ": ") {
			lines[i] = m[1] + ": " + quoted(m[2])
		}
	}
	return strings.Join(lines, "\n")
}

// quoteBlocks puts quotes around plain values, each with the lines that follow up to the
// next of the keys. The lines keep their numbers.
func quoteBlocks(text string, keys []string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); {
		end := i + 1
		for end < len(lines) && !begins(lines[end], keys) {
			end++
		}
		if m := keyValue.FindStringSubmatch(lines[i]); m != nil {
			value := strings.Join(append([]string{m[2]}, lines[i+1:end]...), "\n")
			lines[i] = m[1] + ": " + quoted(strings.TrimSpace(value))
			clear(lines[i+1 : end])
		}
		i = end
	}
	return strings.Join(lines, "\n")
}

func begins(line string, keys []string) bool {
	key, _, ok := strings.Cut(line, ":")
	return ok && slices.Contains(keys, key)
}

// quoted writes a text as YAML in double quotes, which a string of JSON is too.
func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil { // a string always can be
		return ""
	}
	return string(data)
}
