package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/estimate"
)

// MaxCalls limits the tool calls of one answer.
const MaxCalls = 1024

// IDs makes the ids of an answer's tool calls unique. The zero value is ready.
type IDs struct{ used map[string]bool }

// Unique returns the id. If there is none, or this answer has used it before, it makes one
// from the place in the conversation: the number of messages of the request and the call's
// place in the answer.
func (s *IDs) Unique(id string, messages, at int) string {
	if s.used == nil {
		s.used = map[string]bool{}
	}
	for n := 0; id == "" || s.used[id]; n++ {
		id = "call_" + strconv.Itoa(messages) + "_" + strconv.Itoa(at+n*MaxCalls)
	}
	s.used[id] = true
	return id
}

// CallID returns the id of a tool call as a vendor takes it that allows at most most bytes of
// letters, digits, "_" and "-". An id that it would refuse becomes another one, always the
// same, so that a call and its result still have the same id. most is at least 29.
func CallID(id string, most int) string {
	fits := id != "" && len(id) <= most
	for i := 0; fits && i < len(id); i++ {
		b := id[i]
		fits = b == '_' || b == '-' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
	}
	if fits {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}

// Estimate returns the usage of an answer that nobody counted, from the bytes of the request
// without media and those of the answer.
func Estimate(request, answer int) message.Usage {
	return message.Usage{Input: estimate.Tokens(request), Output: estimate.Tokens(answer)}
}
