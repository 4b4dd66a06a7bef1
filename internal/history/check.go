package history

import (
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Check returns the problems that Repair would mend, sorted by message; nil if there are
// none. A valid history costs one pass and a set of its call ids; Check does not read its
// texts.
func Check(messages []message.Message) []Problem {
	if valid(messages) {
		return nil
	}
	_, problems := repaired(messages)
	return problems
}

// maxID is the longest id of a tool call that OpenAI takes.
const maxID = 40

// ValidID reports whether every provider accepts the id of a tool call: 1 to 40 ASCII
// letters, digits, underscores and hyphens. Anthropic limits the characters, OpenAI the
// length.
func ValidID(id string) bool { return validWord(id, maxID) }

// validWord reports whether s matches ^[a-zA-Z0-9_-]{1,most}$.
func validWord(s string, most int) bool {
	if s == "" || len(s) > most {
		return false
	}
	for i := range len(s) {
		if !wordByte(s[i]) {
			return false
		}
	}
	return true
}

func wordByte(b byte) bool {
	return b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9' || b == '_' || b == '-'
}

// valid reports whether the history keeps every rule. It stops at the first breach. The
// slower repaired must agree with it, and names the breaches.
func valid(messages []message.Message) bool {
	if len(messages) > 0 && messages[0].Role != message.RoleUser {
		return false
	}
	ids := make(map[string]struct{}, len(messages)/2)
	var a arguments
	for i := 0; i < len(messages); {
		m := &messages[i]
		if m.Role == message.RoleTool || Blank(m.Content) || !known(m.Role) {
			return false // results are skipped with their call below
		}
		i++
		for _, b := range m.Content.All() {
			if b.Kind != message.BlockToolCall {
				continue
			}
			if m.Role != message.RoleAssistant || i == len(messages) || !answers(&messages[i], b) ||
				!ValidID(b.CallID) || !validWord(b.Tool, maxName) || !a.valid(b.JSON) {
				return false
			}
			if _, repeated := ids[b.CallID]; repeated {
				return false
			}
			ids[b.CallID] = struct{}{}
			i++
		}
	}
	return true
}

func known(r message.Role) bool {
	return r == message.RoleUser || r == message.RoleAssistant || r == message.RoleTool
}

func answers(m *message.Message, call message.Block) bool {
	return m.Role == message.RoleTool && m.CallID == call.CallID && m.Tool == call.Tool && m.Content.Len() == 0
}

// Blank reports whether a message has no text but blanks, no media and no tool call.
// Reasoning does not count, because no provider accepts a message of reasoning alone.
func Blank(content message.List[message.Block]) bool {
	for _, b := range content.All() {
		switch b.Kind {
		case message.BlockToolCall:
			return false
		case message.BlockReasoning:
			continue
		}
		if strings.TrimSpace(b.Text) != "" || b.Data != "" || b.URI != "" || b.JSON != "" {
			return false
		}
	}
	return true
}
