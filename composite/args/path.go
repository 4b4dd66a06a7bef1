package args

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// fault returns the path and the reason of the first error in a text that jsontext has
// refused.
func fault(text string) (path, reason string) {
	d := jsontext.NewDecoder(strings.NewReader(text))
	if kind := d.PeekKind(); kind != jsontext.KindInvalid && kind != jsontext.KindBeginObject {
		return "", "must be an object"
	}
	for {
		_, err := d.ReadToken()
		bad, wrong := errors.AsType[*jsontext.SyntacticError](err)
		switch {
		case err == io.EOF:
			return "", "must be complete JSON: there is nothing"
		case wrong:
			return pathOf(d, bad.JSONPointer), why(text, bad)
		case d.StackDepth() > maxDepth:
			return pathOf(d, d.StackPointer()), tooDeep()
		case d.StackDepth() == 0:
			return "", fmt.Sprintf("must be one JSON object with nothing after it: there is more behind byte %d", d.InputOffset())
		}
	}
}

// why describes the error for a model. It repeats at most one character of the text.
func why(text string, bad *jsontext.SyntacticError) string {
	at := min(int(bad.ByteOffset), len(text))
	switch r, n := utf8.DecodeRuneInString(text[at:]); {
	case errors.Is(bad, jsontext.ErrDuplicateName):
		return twice
	case errors.Is(bad, io.ErrUnexpectedEOF):
		return "must be complete JSON: the text ends too early"
	case surrogate(text[at:]):
		return "must not contain half a surrogate pair"
	case r == '\\':
		return fmt.Sprintf("must be valid JSON: the escape sequence at byte %d is none", at)
	case r == utf8.RuneError && n == 1:
		return fmt.Sprintf("must be valid UTF-8, which it is not at byte %d", at)
	}
	return fmt.Sprintf("must be valid JSON: %v at byte %d", bad.Err, at)
}

// surrogate reports whether the bad escape sequence at the beginning of the text is half a
// surrogate pair: all other four digits are a character.
func surrogate(text string) bool {
	if len(text) < 6 || text[:2] != `\u` {
		return false
	}
	_, err := strconv.ParseUint(text[2:6], 16, 16)
	return err == nil
}

const twice = "must not be given twice"

func tooDeep() string { return fmt.Sprintf("must not be nested deeper than %d levels", maxDepth) }

// pathTo returns the path of the value that contains byte at of a canonical text,
// "items[2].name", extended by name. It walks the text again, but only after an error.
func pathTo(text string, at int, name string) string {
	d := jsontext.NewDecoder(strings.NewReader(text))
	for d.InputOffset() <= int64(at) {
		if _, err := d.ReadToken(); err != nil {
			break
		}
	}
	path := pathOf(d, d.StackPointer())
	if name != "" {
		path += member(name)
	}
	return strings.TrimPrefix(path, ".")
}

func pathOf(d *jsontext.Decoder, p jsontext.Pointer) string {
	var b strings.Builder
	level := 0
	for token := range p.Tokens() {
		level++
		if kind, _ := d.StackIndex(level); kind == jsontext.KindBeginArray {
			b.WriteString("[" + token + "]")
			continue
		}
		b.WriteString(member(token))
	}
	return strings.TrimPrefix(b.String(), ".")
}

// member returns one name as a part of a path. It quotes and cuts an unusual one, because
// the model chose it.
func member(name string) string {
	const most = 64
	if plainName(name) && len(name) <= most {
		return "." + name
	}
	if utf8.RuneCountInString(name) > most {
		name = string([]rune(name)[:most]) + "…"
	}
	return "[" + strconv.Quote(name) + "]"
}

func plainName(name string) bool {
	for i := range len(name) {
		c := name[i] | 0x20
		if (c < 'a' || c > 'z') && name[i] != '_' && (i == 0 || name[i] != '-' && !isDigit(name[i])) {
			return false
		}
	}
	return name != ""
}
