package provider

import (
	"encoding/json"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Meta returns the metadata of a block for the wire with that name: v as the only member of
// an object. Only [MetaFor] with the same name reads it again, so what one vendor has signed
// is never sent to another. It returns "" if v has no JSON form.
func Meta(wire string, v any) message.JSON {
	data, err := json.Marshal(map[string]any{wire: v})
	if err != nil {
		return ""
	}
	return message.JSON(data)
}

// MetaFor reads the metadata that the wire wrote into v. It returns false if another wire
// wrote it, or nobody.
func MetaFor(wire string, meta message.JSON, v any) bool {
	if meta == "" {
		return false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(meta), &members) != nil {
		return false
	}
	own, ok := members[wire]
	return ok && json.Unmarshal(own, v) == nil
}
