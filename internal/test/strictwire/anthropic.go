package strictwire

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds of the Anthropic wire.
const (
	anthropicMaxBody = 32 << 20
	anthropicMaxName = 64
)

// AnthropicRules are the rules of the messages wire.
func AnthropicRules() []Rule {
	return []Rule{
		{"size", "a request has at most 32 MB"},
		{"json", "the body is one JSON value of valid UTF-8 without lone surrogates"},
		{"extra", "members that the API does not know are refused"},
		{"model", "there is no default model"},
		{"max-tokens", "the bound of the answer is required, an integer of at least 1"},
		{"system", "the system prompt is a string or text blocks beside the messages, and not blank"},
		{"messages", "an empty list of messages cannot be answered"},
		{"role", "there are user and assistant; the system prompt is no message"},
		{"first", "the first message is the user's"},
		{"content", "every message but a last one of the assistant says something"},
		{"block", "a block has a known type and stands with the role that may use it"},
		{"text-empty", "a text block is not empty"},
		{"text-blank", "a text block is not all blanks"},
		{"trailing", "a last message of the assistant does not end with a blank"},
		{"image", "an image is a GIF, JPEG, PNG or WebP in base64, or an address"},
		{"thinking-first", "thinking stands at the beginning of an assistant's message"},
		{"thinking-last", "an assistant's message does not end with thinking"},
		{"thinking-signature", "thinking goes back with its signature, which proves that it was not changed"},
		{"use-id", "the id of a call matches ^[a-zA-Z0-9_-]+$"},
		{"use-name", "the name of a call matches ^[a-zA-Z0-9_-]{1,64}$ (128 for newer models), also one that a model made up"},
		{"use-input", "the arguments of a call are an object"},
		{"use-unique", "the id of a call is unique in the request"},
		{"use-last", "nothing but calls stands behind a call: the next thing has to be its result"},
		{"result-missing", "every call is answered in the next message, which is the user's"},
		{"result-first", "the results stand in front of everything else in their message"},
		{"result-unknown", "a result answers a call of the message in front of it"},
		{"result-twice", "a call is answered once"},
		{"result-error", "a failed result says something"},
		{"tools-missing", "requests with calls or results define tools"},
		{"tool-name", "a tool's name matches ^[a-zA-Z0-9_-]{1,64}$ (128 for newer models)"},
		{"tool-unique", "no two tools have one name"},
		{"tool-schema", "the input schema is that of an object"},
		{"tool-choice", "a choice needs tools, and the chosen tool is one of them"},
	}
}

const anthropicMembers = "model messages max_tokens system tools tool_choice stream stop_sequences temperature top_p top_k " +
	"thinking metadata service_tier container context_management mcp_servers output_config cache_control"

// CheckAnthropic checks the body of a request to /v1/messages. It returns the refusal of the
// first broken rule, or nil. It is safe for concurrent use.
func CheckAnthropic(body []byte) *Refusal { return checkAnthropic(&parser{}, body) }

func checkAnthropic(p *parser, body []byte) *Refusal {
	if len(body) > anthropicMaxBody {
		return anthropicRefusal("size", "Request exceeds the maximum size")
	}
	root, fault := p.parse(string(body))
	if fault != "" || root.kind != object {
		return anthropicRefusal("json", "The request body is not valid JSON: "+fault)
	}
	if key := unknown(root, anthropicMembers); key != "" {
		return anthropicRefusal("extra", key+": Extra inputs are not permitted")
	}
	switch {
	case root.get("model").kind != text || root.get("model").text == "":
		return anthropicRefusal("model", "model: Field required")
	case root.get("max_tokens").kind == none:
		return anthropicRefusal("max-tokens", "max_tokens: Field required")
	case !root.get("max_tokens").natural():
		return anthropicRefusal("max-tokens", "max_tokens: Input should be greater than or equal to 1")
	}
	if r := anthropicSystem(root.get("system")); r != nil {
		return r
	}
	names, r := anthropicTools(root.get("tools"))
	if r == nil {
		r = anthropicChoice(root.get("tool_choice"), names)
	}
	if r != nil {
		return r
	}
	c := conversation{tools: len(names) > 0}
	return c.check(root.get("messages"))
}

func anthropicSystem(system node) *Refusal {
	texts := system.list
	switch system.kind {
	case none:
		return nil
	case text:
		texts = oneText(system.text)
	case array:
	default:
		return anthropicRefusal("system", "system: Input should be a valid list")
	}
	for i := range texts {
		if b := texts[i]; !b.get("type").is("text") || strings.TrimSpace(b.get("text").text) == "" {
			return anthropicRefusal("system", "system: text content blocks must contain non-whitespace text")
		}
	}
	return nil
}

func anthropicTools(tools node) (names []string, r *Refusal) {
	for i := range tools.list {
		t := tools.list[i]
		name := t.get("name").text
		schema := t.get("input_schema")
		at := func(member string) string { return fmt.Sprintf("tools.%d.custom.%s", i, member) }
		switch {
		case !word(name) || len(name) > anthropicMaxName:
			return nil, anthropicRefusal("tool-name", at("name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"))
		case schema.kind == none:
			return nil, anthropicRefusal("tool-schema", at("input_schema: Field required"))
		case schema.kind != object:
			return nil, anthropicRefusal("tool-schema", at("input_schema: Input should be a valid dictionary"))
		case schema.get("type").kind == none:
			return nil, anthropicRefusal("tool-schema", at("input_schema.type: Field required"))
		case !schema.get("type").is("object"):
			return nil, anthropicRefusal("tool-schema", at("input_schema.type: Input should be 'object'"))
		case slices.Contains(names, name):
			return nil, anthropicRefusal("tool-unique", "tools: Tool names must be unique.")
		}
		names = append(names, name)
	}
	return names, nil
}

func anthropicChoice(choice node, names []string) *Refusal {
	kind, name := choice.get("type"), choice.get("name").text
	switch {
	case choice.kind == none:
		return nil
	case len(names) == 0:
		return anthropicRefusal("tool-choice", "tool_choice: Tool choice may only be specified while providing tools.")
	case kind.is("tool") && !slices.Contains(names, name):
		return anthropicRefusal("tool-choice", fmt.Sprintf("tool_choice: Tool '%s' not found in provided tools", name))
	case kind.is("auto"), kind.is("any"), kind.is("none"), kind.is("tool"):
		return nil
	}
	return anthropicRefusal("tool-choice", "tool_choice: Input tag does not match any of the expected tags: 'auto', 'any', 'tool', 'none'")
}
