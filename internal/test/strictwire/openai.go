package strictwire

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of the OpenAI wire.
const (
	openAIMaxTools       = 128
	openAIMaxID          = 40
	openAIMaxName        = 64
	openAIMaxDescription = 1024
	openAIMaxString      = 10 << 20
)

// OpenAIRules are the rules of the chat-completions wire.
func OpenAIRules() []Rule {
	return []Rule{
		{"json", "the body is one JSON value of valid UTF-8 without lone surrogates"},
		{"argument", "OpenAI refuses members that it does not know"},
		{"model", "there is no default model"},
		{"messages", "an empty list of messages cannot be answered"},
		{"max-tokens", "a bound of the answer is an integer of at least 1"},
		{"role", "there are system, developer, user, assistant and tool; function is gone"},
		{"content", "content is a string or a list of parts; only an assistant who calls tools may leave it out"},
		{"content-empty", "OpenAI takes an empty message, Moonshot and DeepSeek on the same wire do not"},
		{"string-length", "a string has at most 10,485,760 characters"},
		{"calls", "tool_calls is a list with a call in it, or not there"},
		{"call-role", "only an assistant calls tools"},
		{"call-type", "the one type of a call is function"},
		{"call-id", "an id is a string of 1 to 40 characters"},
		{"call-id-unique", "the results of two calls with one id could not be told apart"},
		{"call-name", "a name matches ^[a-zA-Z0-9_-]+$ and has at most 64 characters, also one that a model made up"},
		{"call-arguments", "arguments are a string that holds a JSON object; servers read them again for their templates"},
		{"result-missing", "every call of an assistant is answered by the tool messages behind it"},
		{"result-orphan", "a tool message stands behind an assistant's message with calls"},
		{"result-id", "a tool message says which call it answers"},
		{"result-unknown", "a tool message answers a call of the assistant's message in front of it"},
		{"result-twice", "a call is answered once"},
		{"tools", "there are 1 to 128 tools, or the member is left out"},
		{"tool-type", "the one type of a tool is function"},
		{"tool-name", "a tool's name matches ^[a-zA-Z0-9_-]+$ and has at most 64 characters"},
		{"tool-description", "a description has at most 1,024 characters"},
		{"tool-schema", "the parameters are the schema of an object, with its properties"},
		{"tool-choice", "a choice needs tools, and the chosen tool is one of them"},
	}
}

// openAIMembers are the members of a request that the adapter or its users write.
const openAIMembers = "model messages tools tool_choice parallel_tool_calls response_format max_tokens max_completion_tokens " +
	"stream stream_options temperature top_p n stop seed user reasoning_effort verbosity metadata store service_tier " +
	"frequency_penalty presence_penalty logit_bias logprobs top_logprobs prompt_cache_key safety_identifier modalities prediction"

// CheckOpenAI checks the body of a request to /chat/completions. It returns the refusal of
// the first broken rule, or nil. It is safe for concurrent use.
func CheckOpenAI(body []byte) *Refusal { return checkOpenAI(&parser{}, body) }

func checkOpenAI(p *parser, body []byte) *Refusal {
	root, fault := p.parse(string(body))
	if fault != "" || root.kind != object {
		return openAIRefusal("json", "", "", "We could not parse the JSON body of your request. "+
			"The OpenAI API expects a JSON payload, but what was sent was not valid JSON: "+fault)
	}
	if key := unknown(root, openAIMembers); key != "" {
		return openAIRefusal("argument", "", "", "Unrecognized request argument supplied: "+key)
	}
	if m := root.get("model"); m.kind != text || m.text == "" {
		return openAIRefusal("model", "", "", "you must provide a model parameter")
	}
	for _, key := range []string{"max_tokens", "max_completion_tokens"} {
		if n := root.get(key); n.kind != none && !n.natural() {
			return openAIRefusal("max-tokens", "integer_below_min_value", key,
				fmt.Sprintf("Invalid '%s': integer below minimum value. Expected a value >= 1.", key))
		}
	}
	names, r := openAITools(root.get("tools"))
	if r == nil {
		r = openAIChoice(root.get("tool_choice"), names)
	}
	if r == nil {
		turn := openAITurn{p: p}
		r = turn.messages(root.get("messages"))
	}
	return r
}

func openAITools(tools node) (names []string, r *Refusal) {
	switch n := len(tools.list); {
	case tools.kind == none:
		return nil, nil
	case tools.kind != array || n == 0:
		return nil, openAIRefusal("tools", "empty_array", "tools",
			"Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	case n > openAIMaxTools:
		return nil, openAIRefusal("tools", "array_above_max_length", "tools",
			fmt.Sprintf("Invalid 'tools': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", openAIMaxTools, n))
	}
	for i := range tools.list {
		t := tools.list[i]
		f := t.get("function")
		if !t.get("type").is("function") {
			return nil, openAIRefusal("tool-type", "invalid_value", fmt.Sprintf("tools[%d].type", i),
				fmt.Sprintf("Invalid value: '%s'. Supported values are: 'function' and 'custom'.", t.get("type").text))
		}
		if r := openAIName("tool-name", place{"tools", i, -1, ".function.name"}, f.get("name")); r != nil {
			return nil, r
		}
		if n := utf8.RuneCountInString(f.get("description").text); n > openAIMaxDescription {
			return nil, openAITooLong("tool-description", place{"tools", i, -1, ".function.description"}, openAIMaxDescription, n)
		}
		if r := openAISchema(i, f.get("name").text, f.get("parameters")); r != nil {
			return nil, r
		}
		names = append(names, f.get("name").text)
	}
	return names, nil
}

func openAISchema(i int, name string, schema node) *Refusal {
	what := ""
	switch kind := schema.get("type"); {
	case schema.kind == none:
		return nil
	case schema.kind != object:
		what = "the parameters are not of type 'object', 'boolean'."
	case kind.kind == none:
		what = `schema must be a JSON Schema of 'type: "object"', got 'type: "None"'.`
	case !kind.is("object"):
		what = fmt.Sprintf("schema must be a JSON Schema of 'type: \"object\"', got 'type: %q'.", kind.text)
	case schema.get("properties").kind != object:
		what = "In context=(), object schema missing properties."
	default:
		return nil
	}
	return openAIRefusal("tool-schema", "invalid_function_parameters", place{"tools", i, -1, ".function.parameters"}.String(),
		fmt.Sprintf("Invalid schema for function '%s': %s", name, what))
}

func openAIChoice(choice node, names []string) *Refusal {
	switch {
	case choice.kind == none:
		return nil
	case names == nil:
		return openAIRefusal("tool-choice", "", "tool_choice",
			"Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
	case choice.kind == text && slices.Contains([]string{"auto", "none", "required"}, choice.text):
		return nil
	}
	if name := choice.get("function").get("name").text; choice.kind != object || !slices.Contains(names, name) {
		return openAIRefusal("tool-choice", "", "tool_choice",
			fmt.Sprintf("Invalid value for 'tool_choice': no function named '%s' was specified in the 'tools' parameter.", name))
	}
	return nil
}

// place is a place in a request: "messages[1].tool_calls[0].id". call is -1 outside calls.
type place struct {
	list    string
	i, call int
	member  string
}

func (p place) String() string {
	if p.call < 0 {
		return fmt.Sprintf("%s[%d]%s", p.list, p.i, p.member)
	}
	return fmt.Sprintf("%s[%d].tool_calls[%d]%s", p.list, p.i, p.call, p.member)
}

func openAITooLong(rule string, at place, most, is int) *Refusal {
	param := at.String()
	return openAIRefusal(rule, "string_above_max_length", param,
		fmt.Sprintf("Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", param, most, is))
}

func openAIName(rule string, at place, name node) *Refusal {
	if word(name.text) && len(name.text) <= openAIMaxName {
		return nil
	}
	param := at.String()
	switch {
	case name.kind == none:
		return openAIRefusal(rule, "missing_required_parameter", param, fmt.Sprintf("Missing required parameter: '%s'.", param))
	case name.text == "":
		return openAIRefusal(rule, "empty_string", param,
			fmt.Sprintf("Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", param))
	case len(name.text) > openAIMaxName:
		return openAITooLong(rule, at, openAIMaxName, len(name.text))
	}
	return openAIRefusal(rule, "invalid_value", param,
		fmt.Sprintf("Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", param))
}

// openAITurn has the open calls of the messages before one.
type openAITurn struct {
	p *parser
	// calls are the ids of the newest assistant's message, and answered the index
	// of the message that answers each, 0 for none.
	calls    []string
	answered []int
}

func (t *openAITurn) messages(messages node) *Refusal {
	if messages.kind != array || len(messages.list) == 0 {
		return openAIRefusal("messages", "empty_array", "messages",
			"Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	for i := range messages.list {
		m := messages.list[i]
		if r := openAIContent(i, m); r != nil {
			return r
		}
		if m.get("role").is("tool") {
			if r := t.result(i, m); r != nil {
				return r
			}
			continue
		}
		if r := t.over(i); r != nil {
			return r
		}
		if r := t.begin(i, m); r != nil {
			return r
		}
	}
	return t.over(len(messages.list))
}

func openAIContent(i int, m node) *Refusal {
	role, content, calls := m.get("role").text, m.get("content"), m.get("tool_calls")
	switch role {
	case "system", "developer", "user", "assistant", "tool":
	default:
		return openAIRefusal("role", "invalid_value", fmt.Sprintf("messages[%d].role", i),
			fmt.Sprintf("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", role))
	}
	switch {
	case content.kind == text && len(content.text) > openAIMaxString:
		return openAITooLong("string-length", place{"messages", i, -1, ".content"}, openAIMaxString, len(content.text))
	case content.kind == text, content.kind == array:
	case role == "assistant" && calls.kind == array && (content.kind == none || content.kind == null):
	default:
		return openAIRefusal("content", "", fmt.Sprintf("messages.[%d].content", i), "Invalid value for 'content': expected a string, got null.")
	}
	if content.text == "" && len(content.list) == 0 && calls.kind == none && (role == "user" || role == "assistant") {
		return openAIRefusal("content-empty", "", fmt.Sprintf("messages.[%d].content", i),
			fmt.Sprintf("the message at position %d with role '%s' must not be empty", i, role))
	}
	return nil
}

// begin checks the calls of a message; the following messages must answer them.
func (t *openAITurn) begin(i int, m node) *Refusal {
	t.calls, t.answered = t.calls[:0], t.answered[:0]
	calls := m.get("tool_calls")
	if calls.kind == none {
		return nil
	}
	param := fmt.Sprintf("messages[%d].tool_calls", i)
	switch {
	case !m.get("role").is("assistant"):
		return openAIRefusal("call-role", "", param, "Invalid parameter: only messages with role 'assistant' can have a tool_calls field.")
	case calls.kind != array || len(calls.list) == 0:
		return openAIRefusal("calls", "empty_array", param,
			fmt.Sprintf("Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.", param))
	}
	for j := range calls.list {
		c := calls.list[j]
		if r := openAICall(t.p, place{"messages", i, j, ""}, c); r != nil {
			return r
		}
		id := c.get("id").text
		if slices.Contains(t.calls, id) {
			return openAIRefusal("call-id-unique", "", param, fmt.Sprintf("Duplicate value for 'id' of '%s' in 'tool_calls'.", id))
		}
		t.calls, t.answered = append(t.calls, id), append(t.answered, 0)
	}
	return nil
}

func openAICall(p *parser, at place, c node) *Refusal {
	id, f := c.get("id"), c.get("function")
	in := func(member string) place { at.member = member; return at }
	switch {
	case !c.get("type").is("function"):
		return openAIRefusal("call-type", "invalid_value", in(".type").String(),
			fmt.Sprintf("Invalid value: '%s'. Supported values are: 'function' and 'custom'.", c.get("type").text))
	case id.kind != text || id.text == "":
		return openAIRefusal("call-id", "empty_string", in(".id").String(),
			fmt.Sprintf("Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", in(".id")))
	case len(id.text) > openAIMaxID:
		return openAITooLong("call-id", in(".id"), openAIMaxID, len(id.text))
	}
	if r := openAIName("call-name", in(".function.name"), f.get("name")); r != nil {
		return r
	}
	args := f.get("arguments")
	if v, fault := p.parse(args.text); args.kind != text || fault != "" || v.kind != object {
		return openAIRefusal("call-arguments", "invalid_value", in(".function.arguments").String(),
			fmt.Sprintf("Invalid '%s': expected a string that holds a JSON object. %s", in(".function.arguments"), fault))
	}
	return nil
}

func (t *openAITurn) result(i int, m node) *Refusal {
	id := m.get("tool_call_id")
	if len(t.calls) == 0 {
		return openAIRefusal("result-orphan", "", fmt.Sprintf("messages.[%d].role", i),
			"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
	}
	if id.kind != text {
		return openAIRefusal("result-id", "", resultParam(i), "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.")
	}
	at := slices.Index(t.calls, id.text)
	switch {
	case at < 0:
		return openAIRefusal("result-unknown", "", resultParam(i),
			fmt.Sprintf("Invalid parameter: 'tool_call_id' of '%s' not found in 'tool_calls' of previous message.", id.text))
	case t.answered[at] != 0:
		return openAIRefusal("result-twice", "", resultParam(i),
			fmt.Sprintf("Invalid parameter: Duplicate value for 'tool_call_id' of '%s', in messages[%d] and messages[%d].", id.text, t.answered[at], i))
	}
	t.answered[at] = i
	return nil
}

func resultParam(i int) string { return fmt.Sprintf("messages.[%d].tool_call_id", i) }

// over checks that every call was answered before message i.
func (t *openAITurn) over(i int) *Refusal {
	var open []string
	for j, id := range t.calls {
		if t.answered[j] == 0 {
			open = append(open, id)
		}
	}
	if open == nil {
		return nil
	}
	return openAIRefusal("result-missing", "", fmt.Sprintf("messages.[%d].role", i),
		"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
			"The following tool_call_ids did not have response messages: "+strings.Join(open, ", "))
}
