package structured

import (
	"encoding/json"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// member is the parameter of final_answer where the answer is no object: parameters of tools
// are objects.
const member = "answer"

// wraps reports whether the parameters of final_answer are an object around the answer.
func (p *progress) wraps() bool { return p.schema == nil || !p.schema.IsObject() }

// finalAnswer is the tool with the schema of the answer.
func (p *progress) finalAnswer() message.Tool {
	input := p.format.Schema
	if p.wraps() {
		input = wrapSchema(input)
	}
	return message.Tool{
		Name: Tool, Input: input,
		Description: "Gives the final answer and ends the turn. Answer by one call of this tool and not in text. " +
			"Call it when everything else is done, and never together with other tools.",
	}
}

// wrapSchema returns the schema of an object whose one member has the schema; "" is any value.
// The text was compiled before, so it is JSON.
func wrapSchema(text message.JSON) message.JSON {
	inner := map[string]any{}
	if text != "" && json.Unmarshal([]byte(text), &inner) != nil {
		inner = map[string]any{}
	}
	delete(inner, "$schema")
	delete(inner, "$id")
	if _, ok := inner["description"]; !ok && len(inner) == 0 {
		inner["description"] = "Any value." // some providers refuse an empty schema
	}
	moveReferences(inner)
	out, err := json.Marshal(map[string]any{
		"type": "object", "properties": map[string]any{member: inner}, "required": []string{member}, "additionalProperties": false,
	})
	if err != nil {
		return `{"type":"object"}` // what was decoded can be encoded
	}
	return message.JSON(out)
}

// moveReferences makes references to the root refer to its new place. Only the model reads
// them, so an enum that looks like a reference does no harm.
func moveReferences(node any) {
	switch n := node.(type) {
	case map[string]any:
		if ref, ok := n["$ref"].(string); ok {
			if rest, local := strings.CutPrefix(ref, "#"); local {
				n["$ref"] = "#/properties/" + member + rest
			}
		}
		for _, sub := range n {
			moveReferences(sub)
		}
	case []any:
		for _, sub := range n {
			moveReferences(sub)
		}
	}
}
