package bound

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// maxMember is the size in bytes of the longest member that Args keeps.
const maxMember = 1024

// Args returns arguments of at most limit bytes, and how many bytes of them are left out.
// A long member says only how long it is, so that a path beside the content of a file can
// still be read. Only the rest is copied, because arguments may be huge. A limit below 40
// bytes may be exceeded up to that.
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

// objectMembers yields the texts between the commas of a JSON object. If s is no object,
// it may yield anything.
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
