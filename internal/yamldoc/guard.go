package yamldoc

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/grapnel-go/grapnel/internal/character"
)

// colons are characters that look like a colon: those that Unicode lists as confusable, forms
// for other directions and widths, and other signs of two dots.
const colons = "\u02d0\u02f8\u0589\u05c3\u0703\u0704\u0903\u0a83\u1365\u1366\u16ec\u1803\u1809\u205a\u2236\u2982\ua4fd\ua789\ufe13\ufe30\ufe55\uff1a"

// maxWord limits the key of a line in messages, in characters.
const maxWord = 40

// tags matches tags and anchors, which YAML allows before a key.
var tags = regexp.MustCompile(`^(?:[!&]\S*\s+)+`)

// guarded returns the word of a line that looks like a guarded key, and that key. It ignores
// comments.
func (k *Keys) guarded(line string) (word, key string) {
	if word, key = k.lookalike(line); key != "" {
		return word, key
	}
	line = strings.TrimSpace(line)
	word, _, ok := strings.Cut(line, ":")
	if !ok && !strings.HasPrefix(word, "?") || strings.HasPrefix(line, "#") {
		return "", ""
	}
	return k.almost(word)
}

// lookalike is guarded for a line whose colon only looks like one.
func (k *Keys) lookalike(line string) (word, key string) {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "#") {
		return "", ""
	}
	begun, last := false, ' '
	for i, r := range line {
		mark := unicode.In(r, unicode.Mn, unicode.Me) && unicode.IsPunct(last) // a dot over a dot
		switch {
		case begun && r == ':':
			return "", ""
		case begun && (mark || strings.ContainsRune(colons, r)):
			return k.almost(line[:i])
		}
		begun = begun || unicode.IsLetter(r) || unicode.IsDigit(r)
		last = r
	}
	return "", ""
}

// almost returns the shown form of a word, and the guarded key that it equals or resembles.
func (k *Keys) almost(word string) (shown, key string) {
	key = Almost(tags.ReplaceAllString(word, ""), k.Guarded)
	shown, _ = character.Cut(strings.TrimSpace(word), maxWord)
	return shown, key
}

func ambiguous(line int, word, within, near string) error {
	return &Error{
		Line: line, Column: 1, What: fmt.Sprintf("is ambiguous: %q stands within %s and is almost the key %q", word, within, near),
		Fix: "mend the key, or write the value in quotes",
	}
}

// check refuses keys that are not plain text, for example merge keys; values that a tag
// changes; lines within another value that have a free or guarded key; and lines that look
// like a guarded key.
func (k *Keys) check(root *yaml.Node, text string) error {
	if root == nil || root.Kind != yaml.MappingNode {
		return nil
	}
	at := map[int]string{} // the first key of each line
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return &Error{Line: key.Line, Column: key.Column, What: "a key is no plain text", Fix: "write `key: value`"}
		}
		if value.Tag == "!!null" && value.Style&yaml.TaggedStyle != 0 {
			return &Error{Line: value.Line, Column: value.Column, What: "a value is tagged as none", Fix: "take the tag out"}
		}
		if word, near := k.lookalike(key.Value); near != "" {
			return ambiguous(key.Line, word, "a key", near)
		}
		if _, ok := at[key.Line]; !ok {
			at[key.Line] = key.Value
		}
	}
	if err := k.checkPlain(root, strings.Split(text, "\n")); err != nil {
		return err
	}
	line := 1
	for text := range strings.Lines(text) {
		line++
		if key := keyIn(text, k.Free, k.Guarded); key != "" && at[line] != key {
			return &Error{
				Line: line, Column: 1, What: fmt.Sprintf("is ambiguous: %q stands within another value", key),
				Fix: "begin no line of a text with a key",
			}
		}
	}
	return nil
}

// checkPlain refuses lines of values without quotes that look like a guarded key. A line with
// a colon and a blank is not such a line, because YAML takes it for a key.
func (k *Keys) checkPlain(root *yaml.Node, lines []string) error {
	scalars := scalarsOf(root, nil)
	for i, n := range scalars {
		if n.Style&^yaml.TaggedStyle != 0 {
			continue
		}
		from, to := n.Line, len(lines)+2
		if i > 0 && scalars[i-1].Line == n.Line {
			from++ // the line begins with another node
		}
		if i+1 < len(scalars) {
			to = scalars[i+1].Line
		}
		for line := from; line < to; line++ {
			guarded := k.lookalike
			if line > n.Line {
				guarded = k.guarded
			}
			if word, near := guarded(lines[line-2]); near != "" {
				return ambiguous(line, word, "another value", near)
			}
		}
	}
	return nil
}

// scalarsOf returns the scalar nodes, in the order of the text.
func scalarsOf(n *yaml.Node, out []*yaml.Node) []*yaml.Node {
	if n.Kind == yaml.ScalarNode {
		return append(out, n)
	}
	for _, c := range n.Content {
		out = scalarsOf(c, out)
	}
	return out
}
