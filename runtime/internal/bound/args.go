package bound

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// maxMember is the size in bytes of the longest member that Args keeps.
const maxMember = 1024

// Args returns arguments of at most limit bytes, and how many bytes it left out. It replaces
// the value of a long member with a note of its length, so that the path next to the content
// of a file stays readable. It copies only short members, because arguments may be huge. With
// a limit below 40 bytes the result may have up to 40.
func Args(args message.JSON, limit int) (message.JSON, int) {
	if len(args) <= limit {
		return args, 0
	}
	var out strings.Builder
	sep := byte('{')
	for member := range objectMembers(string(args)) {
		out.WriteByte(sep)
		out.WriteString(shortMember(member))
		sep = ','
		if out.Len() > limit {
			break
		}
	}
	out.WriteByte('}')
	short := out.String()
	if len(short) > limit || !json.Valid([]byte(short)) {
		short = fmt.Sprintf(`{"omitted":"%d bytes"}`, len(args))
	}
	return message.JSON(short), len(args) - len(short)
}

// shortMember returns a member, `"name":value`, with a marker as its value if it is long.
func shortMember(member string) string {
	if len(member) <= maxMember {
		return member
	}
	name, _, ok := strings.Cut(member[:maxMember], `":`)
	if !ok {
		return `"omitted":true`
	}
	return fmt.Sprintf(`%s":"[… %d bytes left out …]"`, name, len(member)-len(name)-len(`":`))
}

// objectMembers yields the members of a JSON object as text. For any other s the texts are
// undefined.
func objectMembers(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		depth, start, text, escaped := 0, 0, false, false
		for i := range len(s) {
			b := s[i]
			switch {
			case escaped:
				escaped = false
			case text:
				text, escaped = b != '"', b == '\\'
			case b == '"':
				text = true
			case b == '{' || b == '[':
				if depth++; depth == 1 {
					start = i + 1
				}
			case depth == 1 && (b == ',' || b == '}'):
				if !yield(s[start:i]) || b == '}' {
					return
				}
				start = i + 1
			case b == '}' || b == ']':
				depth--
			}
		}
	}
}
