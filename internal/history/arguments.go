package history

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/hook/message"
)

// maxName is the longest tool name that every provider accepts.
const maxName = 64

// Arguments returns the arguments of a tool call in the form of a history. It compacts
// a JSON object and replaces bytes that are not UTF-8. Some providers refuse a lone
// surrogate. An object with one, and any other text, is quoted in an object:
//
//	{"unparsed_arguments":"ls -l"}
func Arguments(raw message.JSON) message.JSON {
	s := strings.ToValidUTF8(strings.TrimSpace(string(raw)), "\uFFFD")
	if strings.HasPrefix(s, "{") && !loneSurrogate(s) {
		var compact bytes.Buffer
		if json.Compact(&compact, []byte(s)) == nil {
			return message.JSON(compact.String())
		}
	}
	return message.JSON(append(appendString([]byte(`{"unparsed_arguments":`), string(raw)), '}'))
}

// ToolName returns the name of a called tool in the form of a history. A valid name, by
// message.ValidToolName, stays. Models invent names that no tool can have, and providers
// refuse a history with them: ToolName replaces each wrong character by an underscore.
func ToolName(name string) string {
	if validWord(name, maxName) {
		return name
	}
	if name == "" {
		return "unnamed"
	}
	b := []byte(name[:min(len(name), maxName)])
	for i := range b {
		if !wordByte(b[i]) {
			b[i] = '_'
		}
	}
	return string(b)
}

// arguments checks the arguments of many calls with one buffer.
type arguments struct{ buf []byte }

// valid reports whether the arguments are a JSON object of valid UTF-8 without
// lone surrogates.
func (a *arguments) valid(raw message.JSON) bool {
	s := string(raw)
	if s == "{}" {
		return true
	}
	if !strings.HasPrefix(strings.TrimLeft(s, " \t\r\n"), "{") || !utf8.ValidString(s) || loneSurrogate(s) {
		return false
	}
	a.buf = append(a.buf[:0], s...)
	return json.Valid(a.buf)
}

// loneSurrogate reports whether a JSON text escapes half of a character.
func loneSurrogate(s string) bool {
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 == len(s) {
			return false
		}
		s = s[i:]
		switch high, surrogate := surrogateHalf(s); {
		case !surrogate:
			s = s[2:]
		case !high:
			return true
		default:
			if high, surrogate := surrogateHalf(s[6:]); high || !surrogate {
				return true
			}
			s = s[12:]
		}
	}
}

// surrogateHalf reports whether s begins with the escape of a surrogate, and whether that
// is a high one, the first of a pair.
func surrogateHalf(s string) (high, surrogate bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' || s[2]|0x20 != 'd' {
		return false, false
	}
	switch s[3] | 0x20 {
	case '8', '9', 'a', 'b':
		return true, true
	case 'c', 'd', 'e', 'f':
		return false, true
	}
	return false, false
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string in its shortest escaping, the form that stores
// return.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&0xF])
		default:
			dst = utf8.AppendRune(dst, r) // U+FFFD for bytes that are not UTF-8
		}
	}
	return append(dst, '"')
}
