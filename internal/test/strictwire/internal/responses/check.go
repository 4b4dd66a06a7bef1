package responses

import (
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/oai"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
)

// Bounds of the wire.
const (
	maxCallID = 64
	minTokens = 16
)

const members = "model input instructions max_output_tokens max_tool_calls parallel_tool_calls previous_response_id prompt_cache_key " +
	"prompt_cache_retention prompt_cache_options safety_identifier store stream stream_options temperature top_logprobs top_p user background " +
	"context_management conversation include metadata moderation prompt service_tier truncation access_programs reasoning text tool_choice tools"

const includable = "file_search_call.results web_search_call.results web_search_call.action.sources message.input_image.image_url " +
	"computer_call_output.output.image_url code_interpreter_call.outputs reasoning.encrypted_content message.output_text.logprobs"

func check(c *wire.Check, root wire.Node) {
	if key := wire.Unknown(root, members); key != "" {
		c.Refuse("argument", key, "Unknown parameter: '%s'.", key)
	}
	m := root.Get("model")
	if m.Kind != wire.Text || m.Text == "" {
		c.Refuse("model", "model", "Missing required parameter: 'model'.")
	}
	c.Model = m.Text
	if n := root.Get("max_output_tokens"); n.Kind > wire.Null && n.Int() < minTokens {
		c.Refuse("max-tokens", "max_output_tokens", "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= %d, but got %s instead.", minTokens, n.Raw)
	}
	effort := root.Get("reasoning").Get("effort")
	if effort.Kind > wire.Null && !wire.Among("none minimal low medium high xhigh max", effort.Text) {
		c.Refuse("effort", "reasoning.effort", "Invalid value: '%s'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'.", effort.Text)
	}
	oai.Sampling(c, root, effort.Text)
	for _, n := range root.Get("include").List {
		if !wire.Among(includable, n.Text) {
			c.Refuse("include", "include", "Invalid value: '%s'. Supported values are: '%s'.", n.Text, strings.ReplaceAll(includable, " ", "', '"))
		}
	}
	names := tools(c, root.Get("tools"))
	choice(c, root.Get("tool_choice"), names)
	in := items{Check: c, stored: root.Get("store").Text != "false"}
	in.check(root.Get("input"))
}

func tools(c *wire.Check, tools wire.Node) (names []string) {
	if n := len(tools.List); n > oai.MaxTools {
		c.Refuse("tools", "tools", "Invalid 'tools': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", oai.MaxTools, n)
	}
	for i := range tools.List {
		t := tools.List[i]
		at := fmt.Sprintf("tools[%d]", i)
		if !t.Get("type").Is("function") {
			c.Refuse("tool-type", at+".type", "Invalid value: '%s'. Supported values are: 'function' and 'custom'.", t.Get("type").Text)
			continue
		}
		name := t.Get("name")
		oai.Name(c, "tool-name", at+".name", name)
		oai.Schema(c, at+".parameters", name.Text, t.Get("parameters"), t.Get("strict").True())
		names = append(names, name.Text)
	}
	return names
}

func choice(c *wire.Check, choice wire.Node, names []string) {
	switch {
	case choice.Kind <= wire.Null, choice.Is("auto"), choice.Is("none"):
	case len(names) == 0:
		c.Refuse("tool-choice", "tool_choice", "Tool choices other than 'auto' and 'none' need tools.")
	case choice.Is("required"):
	case choice.Kind != wire.Object || !slices.Contains(names, choice.Get("name").Text):
		c.Refuse("tool-choice", "tool_choice", "Tool choice '%s' not found in 'tools' parameter.", choice.Get("name").Text)
	}
}

// items checks the items of the input.
type items struct {
	*wire.Check
	// stored: the server keeps its answers.
	stored bool
	// calls has the index of each call by its call_id, and outputs that of each output.
	calls, outputs map[string]int
	// thoughts has what identifies the reasoning items so far.
	thoughts map[string]bool
}

func (in *items) check(input wire.Node) {
	if input.Kind == wire.Text && input.Text != "" {
		return
	}
	if input.Kind != wire.Array || len(input.List) == 0 {
		in.Refuse("input", "input", "Missing required parameter: 'input'.")
		return
	}
	in.calls, in.outputs, in.thoughts = map[string]int{}, map[string]int{}, map[string]bool{}
	for i := range input.List {
		next := wire.Node{}
		if i+1 < len(input.List) {
			next = input.List[i+1]
		}
		in.item(i, input.List[i], next)
	}
	for i := range input.List {
		id := input.List[i].Get("call_id").Text
		if _, answered := in.outputs[id]; kindOf(input.List[i]) == "function_call" && !answered {
			in.Refuse("output-missing", "input", "No tool output found for function call %s.", id)
		}
	}
}

// kindOf returns the type of an item; a message may leave it out.
func kindOf(item wire.Node) string {
	if kind := item.Get("type"); kind.Kind != wire.None {
		return kind.Text
	}
	if item.Get("role").Kind != wire.None {
		return "message"
	}
	return ""
}

func (in *items) item(i int, item, next wire.Node) {
	at := fmt.Sprintf("input[%d]", i)
	kind := kindOf(item)
	prefix, known := "", ""
	switch kind {
	case "message":
		known = "type role content id status phase"
		if item.Get("role").Is("assistant") {
			prefix = "msg"
		}
		in.message(at, item)
	case "function_call":
		prefix, known = "fc", "type call_id name arguments id status namespace async caller"
		in.call(i, at, item)
	case "function_call_output":
		known = "type call_id output id status name namespace caller"
		in.output(i, at, item)
	case "reasoning":
		prefix, known = "rs", "type id summary encrypted_content content"
		in.reasoning(at, item, next)
	case "item_reference":
		known = "type id"
		in.Refuse("reference", "input", "Item with id '%s' not found. Items are not persisted when `store` is set to false. "+
			"Try again with `store` set to true, or remove this item from your input.", item.Get("id").Text)
	default:
		in.Refuse("item-type", at, "Invalid value: '%s'. Supported values are: 'function_call', 'function_call_output', 'item_reference', 'message', and 'reasoning'.", kind)
		return
	}
	if key := wire.Unknown(item, known); key != "" {
		in.Refuse("item-extra", at+"."+key, "Unknown parameter: '%s.%s'.", at, key)
	}
	in.id(at+".id", prefix, item.Get("id"))
	if prefix == "msg" || prefix == "fc" {
		in.comesWithReasoning(item.Get("id").Text)
	}
}

func (in *items) id(at, prefix string, id wire.Node) {
	switch {
	case id.Kind <= wire.Null:
	case !wire.Word(id.Text):
		in.Refuse("id-word", at, "Invalid '%s': '%s'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.", at, id.Text)
	case !strings.HasPrefix(id.Text, prefix):
		in.Refuse("id-prefix", at, "Invalid '%s': '%s'. Expected an ID that begins with '%s'.", at, id.Text, prefix)
	}
}

// comesWithReasoning checks that the reasoning of an item of an answer is there.
func (in *items) comesWithReasoning(id string) {
	if reasoning, known := in.Memory.Noted("before " + id); known && id != "" && !in.thoughts[reasoning] {
		in.Refuse("reasoning-missing", "input", "Item '%s' was provided without its required 'reasoning' item: '%s'.", id, reasoning)
	}
}

func (in *items) message(at string, m wire.Node) {
	role, content := m.Get("role").Text, m.Get("content")
	if !wire.Among("user assistant system developer", role) || role == "" {
		in.Refuse("role", at+".role", "Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", role)
		return
	}
	if content.Kind != wire.Text && content.Kind != wire.Array {
		in.Refuse("content", at+".content", "Missing required parameter: '%s.content'.", at)
	}
	kinds := "input_text input_image input_file input_audio"
	if role == "assistant" {
		kinds = "output_text refusal"
		if phase := m.Get("phase"); phase.Kind > wire.Null && !phase.Is("commentary") && !phase.Is("final_answer") {
			in.Refuse("phase", at+".phase", "Invalid value: '%s'. Supported values are: 'commentary' and 'final_answer'.", phase.Text)
		}
	}
	in.parts(at+".content", content, kinds)
}

func (in *items) parts(at string, content wire.Node, kinds string) {
	for j, p := range content.List {
		if kind := p.Get("type").Text; !wire.Among(kinds, kind) || kind == "" {
			in.Refuse("part", fmt.Sprintf("%s[%d]", at, j), "Invalid value: '%s'. Supported values are: '%s'.", kind, strings.ReplaceAll(kinds, " ", "', '"))
		}
	}
}

func (in *items) callID(at string, item wire.Node) string {
	id := item.Get("call_id")
	switch {
	case id.Kind != wire.Text || id.Text == "":
		in.Refuse("call-id", at+".call_id", "Missing required parameter: '%s.call_id'.", at)
	case len(id.Text) > maxCallID:
		oai.TooLong(in.Check, "call-id-length", at+".call_id", maxCallID, len(id.Text))
	}
	return id.Text
}

func (in *items) call(i int, at string, item wire.Node) {
	in.calls[in.callID(at, item)] = i
	oai.Name(in.Check, "call-name", at+".name", item.Get("name"))
	if item.Get("arguments").Kind != wire.Text {
		in.Refuse("call-arguments", at+".arguments", "Invalid type for '%s.arguments': expected a string, but got something else instead.", at)
	}
}

func (in *items) output(i int, at string, item wire.Node) {
	id, output := in.callID(at, item), item.Get("output")
	_, called := in.calls[id]
	_, answered := in.outputs[id]
	switch {
	case !called && id != "":
		in.Refuse("output-orphan", "input", "No tool call found for function call output with call_id %s.", id)
	case answered:
		in.Refuse("output-twice", "input", "Found several outputs for function call %s.", id)
	}
	in.outputs[id] = i
	if output.Kind != wire.Text && output.Kind != wire.Array {
		in.Refuse("output", at+".output", "Invalid type for '%s.output': expected one of an array of objects or string, but got something else instead.", at)
	}
	in.parts(at+".output", output, "input_text input_image input_file")
}

func (in *items) reasoning(at string, item, next wire.Node) {
	id, sealed := item.Get("id").Text, item.Get("encrypted_content")
	name := id
	if name == "" {
		name, _ = in.Memory.Noted("id " + wire.Digest(sealed.Text))
	}
	in.thoughts[name] = true
	_, issued := in.Memory.Noted("follow " + id)
	switch {
	case sealed.Blank() && in.stored && issued:
	case sealed.Blank():
		in.Refuse("reasoning-content", "input", "Item with id '%s' not found. Items are not persisted when `store` is set to false. "+
			"Try again with `store` set to true, or remove this item from your input.", id)
	case !in.Signer.Sealed(in.Model, "done "+name, sealed.Text):
		in.Refuse("reasoning-sealed", "", "The encrypted content for item %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", id)
		return
	}
	got := follower(next)
	lonely := !strings.HasPrefix(got, "function_call ") && !strings.HasPrefix(got, "reasoning ") && got != "message assistant"
	if want, known := in.Memory.Noted("follow " + name); lonely || known && want != got {
		in.Refuse("reasoning-follow", "input", "Item '%s' of type 'reasoning' was provided without its required following item.", name)
	}
}

// follower returns what tells which item of an answer an item is.
func follower(item wire.Node) string {
	switch kindOf(item) {
	case "function_call":
		return "function_call " + item.Get("call_id").Text
	case "message":
		return "message " + item.Get("role").Text
	case "reasoning":
		return "reasoning " + wire.Digest(item.Get("encrypted_content").Text)
	}
	return "nothing of an answer"
}
