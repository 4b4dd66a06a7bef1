package chat

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/oai"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
)

// Bounds of the wire.
const (
	maxID          = 40
	maxDescription = 1024
)

// members are the members of a request.
const members = "model messages tools tool_choice parallel_tool_calls response_format max_tokens max_completion_tokens " +
	"stream stream_options temperature top_p n stop seed user reasoning_effort verbosity metadata store service_tier " +
	"frequency_penalty presence_penalty logit_bias logprobs top_logprobs prompt_cache_key prompt_cache_retention prompt_cache_options " +
	"safety_identifier modalities audio moderation prediction web_search_options functions function_call"

func check(c *wire.Check, root wire.Node) {
	if key := wire.Unknown(root, members); key != "" {
		c.Refuse("argument", "", "Unrecognized request argument supplied: %s", key)
	}
	m := root.Get("model")
	if m.Kind != wire.Text || m.Text == "" {
		c.Refuse("model", "", "you must provide a model parameter")
	}
	c.Model = m.Text
	for _, key := range []string{"max_tokens", "max_completion_tokens"} {
		if n := root.Get(key); n.Kind != wire.None && n.Int() < 1 {
			c.Refuse("max-tokens", key, "Invalid '%s': integer below minimum value. Expected a value >= 1.", key)
		}
	}
	if oai.Reasons(c.Model) && root.Get("max_tokens").Kind != wire.None {
		c.Refuse("max-tokens-old", "max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	}
	effort := root.Get("reasoning_effort")
	oai.Sampling(c, root, effort.Text)
	if root.Get("stream_options").Kind > wire.Null && !root.Get("stream").True() {
		c.Refuse("stream-options", "stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	names := tools(c, root.Get("tools"))
	toolsWithEffort(c, len(names) > 0, effort)
	choice(c, root.Get("tool_choice"), names)
	turn := turn{Check: c}
	turn.messages(root.Get("messages"))
}

func toolsWithEffort(c *wire.Check, tools bool, effort wire.Node) {
	major, minor := wire.Version(c.Model, "gpt-")
	switch set := effort.Kind == wire.Text && effort.Text != "none"; {
	case !tools:
	case wire.From(major, minor, 5, 6) && effort.Text != "none":
		c.Refuse("tools-effort", "reasoning_effort", "Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. "+
			"To use function tools, use /v1/responses or set reasoning_effort to 'none'.", c.Model)
	case wire.From(major, minor, 5, 4) && set:
		c.Refuse("tools-effort", "reasoning_effort", "Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. "+
			"Please use /v1/responses instead.", c.Model)
	}
}

func tools(c *wire.Check, tools wire.Node) (names []string) {
	switch n := len(tools.List); {
	case tools.Kind == wire.None:
		return nil
	case tools.Kind != wire.Array || n == 0:
		c.Refuse("tools", "tools", "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	case n > oai.MaxTools:
		c.Refuse("tools", "tools", "Invalid 'tools': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", oai.MaxTools, n)
	}
	for i := range tools.List {
		t := tools.List[i]
		f := t.Get("function")
		at := fmt.Sprintf("tools[%d]", i)
		if !t.Get("type").Is("function") {
			c.Refuse("tool-type", at+".type", "Invalid value: '%s'. Supported values are: 'function' and 'custom'.", t.Get("type").Text)
			continue
		}
		oai.Name(c, "tool-name", at+".function.name", f.Get("name"))
		if n := utf8.RuneCountInString(f.Get("description").Text); n > maxDescription {
			oai.TooLong(c, "tool-description", at+".function.description", maxDescription, n)
		}
		oai.Schema(c, at+".function.parameters", f.Get("name").Text, f.Get("parameters"), f.Get("strict").True())
		names = append(names, f.Get("name").Text)
	}
	return names
}

func choice(c *wire.Check, choice wire.Node, names []string) {
	switch {
	case choice.Kind == wire.None:
	case len(names) == 0:
		c.Refuse("tool-choice", "tool_choice", "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
	case choice.Is("none"), choice.Is("auto"), choice.Is("required"):
	default:
		if name := choice.Get("function").Get("name").Text; choice.Kind != wire.Object || !slices.Contains(names, name) {
			c.Refuse("tool-choice", "tool_choice", "Invalid value for 'tool_choice': no function named '%s' was specified in the 'tools' parameter.", name)
		}
	}
}

// turn has the open calls of the messages before one.
type turn struct {
	*wire.Check
	// calls are the ids of the newest assistant's message, and answered the index
	// of the message that answers each, 0 for none.
	calls    []string
	answered []int
}

func (t *turn) messages(messages wire.Node) {
	if messages.Kind != wire.Array || len(messages.List) == 0 {
		t.Refuse("messages", "messages", "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
		return
	}
	for i := range messages.List {
		m := messages.List[i]
		if !t.content(i, m) {
			continue
		}
		if m.Get("role").Is("tool") {
			t.result(i, m)
			continue
		}
		t.over(i)
		t.begin(i, m)
	}
	t.over(len(messages.List))
}

// messageMembers are the members of a message; reasoning_content and its like are those of
// servers that think aloud.
const messageMembers = "role content name refusal audio tool_calls tool_call_id reasoning_content reasoning reasoning_details"

// content checks what a message says; it reports whether the message has a known role.
func (t *turn) content(i int, m wire.Node) bool {
	role, content, calls := m.Get("role").Text, m.Get("content"), m.Get("tool_calls")
	if !wire.Among("system developer user assistant tool", role) || role == "" {
		t.Refuse("role", fmt.Sprintf("messages[%d].role", i),
			"Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", role)
		return false
	}
	if key := wire.Unknown(m, messageMembers); key != "" {
		t.Refuse("message-extra", fmt.Sprintf("messages[%d].%s", i, key), "Unknown parameter: 'messages[%d].%s'.", i, key)
	}
	switch at := fmt.Sprintf("messages.[%d].content", i); {
	case content.Kind == wire.Text && len(content.Text) > oai.MaxString:
		oai.TooLong(t.Check, "string-length", fmt.Sprintf("messages[%d].content", i), oai.MaxString, len(content.Text))
	case content.Kind == wire.Text, content.Kind == wire.Array:
	case role == "assistant" && calls.Kind == wire.Array && content.Kind <= wire.Null:
	default:
		t.Refuse("content", at, "Invalid value for 'content': expected a string, got null.")
		return true
	}
	for j, p := range content.List {
		t.part(role, fmt.Sprintf("messages[%d].content[%d]", i, j), p)
	}
	if content.Text == "" && len(content.List) == 0 && calls.Kind == wire.None && (role == "user" || role == "assistant") {
		t.Refuse("content-empty", fmt.Sprintf("messages.[%d].content", i), "the message at position %d with role '%s' must not be empty", i, role)
	}
	return true
}

func (t *turn) part(role, at string, p wire.Node) {
	kinds := "text"
	switch role {
	case "user":
		kinds = "text image_url input_audio file"
	case "assistant":
		kinds = "text refusal"
	}
	kind := p.Get("type").Text
	if !wire.Among(kinds, kind) || kind == "" {
		t.Refuse("part", at+".type", "Invalid value: '%s'. Supported values are: '%s'.", kind, strings.ReplaceAll(kinds, " ", "', '"))
		return
	}
	if p.Get(kind).Kind <= wire.Null {
		t.Refuse("part", at+"."+kind, "Missing required parameter: '%s.%s'.", at, kind)
	}
}

// begin checks the calls of a message; the following messages must answer them.
func (t *turn) begin(i int, m wire.Node) {
	t.calls, t.answered = t.calls[:0], t.answered[:0]
	calls := m.Get("tool_calls")
	if calls.Kind == wire.None {
		return
	}
	param := fmt.Sprintf("messages[%d].tool_calls", i)
	switch {
	case !m.Get("role").Is("assistant"):
		t.Refuse("call-role", param, "Invalid parameter: only messages with role 'assistant' can have a tool_calls field.")
	case calls.Kind != wire.Array || len(calls.List) == 0:
		t.Refuse("calls", param, "Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.", param)
	}
	for j := range calls.List {
		c := calls.List[j]
		t.call(fmt.Sprintf("%s[%d]", param, j), c)
		id := c.Get("id").Text
		if slices.Contains(t.calls, id) {
			t.Refuse("call-id-unique", param, "Duplicate value for 'id' of '%s' in 'tool_calls'.", id)
			continue
		}
		t.calls, t.answered = append(t.calls, id), append(t.answered, 0)
	}
}

func (t *turn) call(at string, c wire.Node) {
	id, f := c.Get("id"), c.Get("function")
	if !c.Get("type").Is("function") {
		t.Refuse("call-type", at+".type", "Invalid value: '%s'. Supported values are: 'function' and 'custom'.", c.Get("type").Text)
	}
	switch {
	case id.Kind != wire.Text || id.Text == "":
		oai.Empty(t.Check, "call-id", at+".id")
	case len(id.Text) > maxID:
		oai.TooLong(t.Check, "call-id-length", at+".id", maxID, len(id.Text))
	}
	oai.Name(t.Check, "call-name", at+".function.name", f.Get("name"))
	args := f.Get("arguments")
	if v, fault := t.Parser.Parse(args.Text); args.Kind != wire.Text || fault != "" || v.Kind != wire.Object {
		t.Refuse("call-arguments", at+".function.arguments", "Invalid '%s.function.arguments': expected a string that holds a JSON object. %s", at, fault)
	}
}

func (t *turn) result(i int, m wire.Node) {
	id := m.Get("tool_call_id")
	param := fmt.Sprintf("messages.[%d].tool_call_id", i)
	at := slices.Index(t.calls, id.Text)
	switch {
	case len(t.calls) == 0:
		t.Refuse("result-orphan", fmt.Sprintf("messages.[%d].role", i),
			"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
	case id.Kind != wire.Text:
		t.Refuse("result-id", param, "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.")
	case at < 0:
		t.Refuse("result-unknown", param, "Invalid parameter: 'tool_call_id' of '%s' not found in 'tool_calls' of previous message.", id.Text)
	case t.answered[at] != 0:
		t.Refuse("result-twice", param, "Invalid parameter: Duplicate value for 'tool_call_id' of '%s', in messages[%d] and messages[%d].", id.Text, t.answered[at], i)
	default:
		t.answered[at] = i
	}
}

// over checks that every call was answered before message i.
func (t *turn) over(i int) {
	var open []string
	for j, id := range t.calls {
		if t.answered[j] == 0 {
			open = append(open, id)
		}
	}
	if open != nil {
		t.Refuse("result-missing", fmt.Sprintf("messages.[%d].role", i),
			"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
				"The following tool_call_ids did not have response messages: %s", strings.Join(open, ", "))
	}
}
