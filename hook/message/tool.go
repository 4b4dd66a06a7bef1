package message

import (
	"strings"
	"time"
)

// Tool describes a tool that the model may call. It is a value: to change a tool, make
// another.
type Tool struct {
	// Name matches ^[a-zA-Z0-9_-]{1,64}$, the pattern that all providers accept.
	Name        string
	Description string
	// Input is the JSON Schema of the arguments: an object at the top.
	Input JSON
	// Output is the JSON Schema of a structured result; "" if there is none, or if it
	// is unknown. Its top need not be an object: a list is an array, and a pointer may
	// be null.
	Output      JSON
	Annotations Annotations
	// Timeout bounds one execution, counted from its start; 0 is no bound of the
	// tool's own.
	Timeout time.Duration
	// Exclusive is a key: calls with the same non-empty key never overlap. An abandoned
	// call keeps its key until it returns.
	Exclusive string
	// MaxResult bounds the text of a result in bytes; 0 is the runtime's default.
	MaxResult int
	// Trust is the label of results that have none, failures included; "" is external.
	Trust Trust
	// Waits marks a tool that waits for a person or another agent: it takes no
	// execution slot.
	Waits bool
}

// Annotations are the owner's claims about a tool, all false by default. Do not trust
// those of a remote owner.
type Annotations struct {
	// ReadOnly: the tool changes nothing.
	ReadOnly bool
	// Destructive: the tool may overwrite or delete.
	Destructive bool
	// Idempotent: a second call with the same arguments changes nothing more.
	Idempotent bool
	// OpenWorld: the tool reaches beyond this machine or runs code of others.
	OpenWorld bool
}

// maxName is the length of a tool's name.
const maxName = 64

// word reports whether a text has 1 to maxName letters and digits of ASCII, and further characters.
func word(text, further string) bool {
	for i := range len(text) {
		c := text[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte(further, c) < 0 {
			return false
		}
	}
	return text != "" && len(text) <= maxName
}

// ValidToolName reports whether name is one that every provider accepts:
// ^[a-zA-Z0-9_-]{1,64}$.
func ValidToolName(name string) bool { return word(name, "_-") }
