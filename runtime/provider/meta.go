package provider

import (
	"bytes"
	"encoding/json"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Meta returns the Meta of a block that the adapter of the wire writes: {"wire": v}. The
// key keeps what one vendor signed from another one: MetaFor returns only its own wire's
// value. A v that has no JSON gives "".
func Meta(wire string, v any) message.JSON {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(map[string]any{wire: v}) != nil {
		return ""
	}
	return message.JSON(bytes.TrimSpace(b.Bytes()))
}

// MetaFor reads into v, a pointer, what the wire has written into the Meta of a block. It
// reports false, and v may be half filled, if the wire wrote nothing or something else
// than a v.
func MetaFor(wire string, meta message.JSON, v any) bool {
	if meta == "" {
		return false
	}
	var wires map[string]json.RawMessage
	if json.Unmarshal([]byte(meta), &wires) != nil {
		return false
	}
	own, ok := wires[wire]
	return ok && json.Unmarshal(own, v) == nil
}
