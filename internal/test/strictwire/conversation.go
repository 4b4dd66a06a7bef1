package strictwire

import (
	"fmt"
	"slices"
	"strings"
)

// conversation checks the messages of a request to Anthropic. Consecutive messages of one
// role are allowed, because the vendor joins them. But the results of an assistant's calls
// must be in one message, directly behind it.
type conversation struct {
	// tools: the request defines tools.
	tools bool
	// ids has the ids of all calls, open those of the message before, in order, and
	// answered those of them with a result.
	ids            map[string]struct{}
	open, answered []string
	// at is the index of the current message; last: it is the last one.
	at   int
	last bool
}

func (c *conversation) check(messages node) *Refusal {
	if messages.kind != array || len(messages.list) == 0 {
		return anthropicRefusal("messages", "messages: at least one message is required")
	}
	c.ids = map[string]struct{}{}
	for i := range messages.list {
		c.at, c.last = i, i+1 == len(messages.list)
		if r := c.message(messages.list[i]); r != nil {
			return r
		}
	}
	c.at++
	return c.unanswered()
}

// refuse makes a refusal that names the message.
func (c *conversation) refuse(rule, message string) *Refusal {
	return anthropicRefusal(rule, fmt.Sprintf("messages.%d: %s", c.at, message))
}

// refuseBlock makes a refusal that names a block of the message.
func (c *conversation) refuseBlock(rule string, block int, message string) *Refusal {
	return anthropicRefusal(rule, fmt.Sprintf("messages.%d.content.%d%s", c.at, block, message))
}

func (c *conversation) message(m node) *Refusal {
	role, content := m.get("role").text, m.get("content")
	switch {
	case role == "system":
		return anthropicRefusal("role", `messages: Unexpected role "system". The Messages API accepts a top-level `+
			"`system` parameter, not \"system\" as an input message role.")
	case role != "user" && role != "assistant":
		return anthropicRefusal("role", fmt.Sprintf("messages.%d.role: Input should be 'user' or 'assistant'", c.at))
	case c.at == 0 && role != "user":
		return anthropicRefusal("first", `messages: first message must use the "user" role`)
	case content.kind != text && content.kind != array:
		return anthropicRefusal("content", fmt.Sprintf("messages.%d.content: Field required", c.at))
	case content.text == "" && len(content.list) == 0 && !(c.last && role == "assistant"):
		return c.refuse("content", "all messages must have non-empty content except for the optional final assistant message")
	}
	blocks := content.list
	if content.kind == text && content.text != "" {
		blocks = oneText(content.text)
	}
	if role == "user" {
		return c.user(blocks)
	}
	if r := c.unanswered(); r != nil {
		return r
	}
	return c.assistant(blocks)
}

func (c *conversation) user(blocks []node) *Refusal {
	first := 0
	for first < len(blocks) && blocks[first].get("type").is("tool_result") {
		if r := c.result(first, blocks[first]); r != nil {
			return r
		}
		first++
	}
	for i := first; i < len(blocks); i++ {
		b := blocks[i]
		if b.get("type").is("tool_result") {
			if len(c.open) > 0 {
				return c.refuse("result-first", fmt.Sprintf("Did not find %d `tool_result` block(s) at the beginning of this message. "+
					"Messages following `tool_use` blocks must begin with a matching number of `tool_result` blocks.", len(c.open)))
			}
			return c.result(i, b)
		}
	}
	if r := c.unanswered(); r != nil {
		return r
	}
	c.open, c.answered = nil, nil
	for i := first; i < len(blocks); i++ {
		if r := c.block(i, blocks[i], "text image document search_result"); r != nil {
			return r
		}
	}
	return nil
}

func (c *conversation) result(i int, b node) *Refusal {
	id, content := b.get("tool_use_id").text, b.get("content")
	switch {
	case !c.tools:
		return anthropicRefusal("tools-missing", "Requests which include `tool_use` or `tool_result` blocks must define tools")
	case !slices.Contains(c.open, id):
		return c.refuseBlock("result-unknown", i, fmt.Sprintf(": unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
			"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", id))
	case slices.Contains(c.answered, id):
		return c.refuseBlock("result-twice", i, ": each tool_use must have a single result. Found multiple `tool_result` blocks with id: "+id)
	case b.get("is_error").text == "true" && content.text == "" && len(content.list) == 0:
		return c.refuseBlock("result-error", i, ".tool_result: content cannot be empty if `is_error` is true")
	}
	c.answered = append(c.answered, id)
	for j := range content.list {
		if r := c.block(i, content.list[j], "text image document search_result"); r != nil {
			return r
		}
	}
	return nil
}

// unanswered checks that the calls of the message before were answered.
func (c *conversation) unanswered() *Refusal {
	if len(c.answered) == len(c.open) {
		return nil
	}
	missing := slices.DeleteFunc(slices.Clone(c.open), func(id string) bool { return slices.Contains(c.answered, id) })
	return anthropicRefusal("result-missing", fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks "+
		"immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
		c.at-1, strings.Join(missing, ", ")))
}

func (c *conversation) assistant(blocks []node) *Refusal {
	c.open, c.answered = nil, nil
	thinks := func(b node) bool { return b.get("type").is("thinking") || b.get("type").is("redacted_thinking") }
	for i := range blocks {
		b := blocks[i]
		switch {
		case thinks(b) && i > 0 && !thinks(blocks[0]):
			return c.refuseBlock("thinking-first", 0, ": If an assistant message contains any thinking blocks, "+
				"the first block must be `thinking` or `redacted_thinking`. Found `"+blocks[0].get("type").text+"`.")
		case b.get("type").is("tool_use"):
			if r := c.use(i, b); r != nil {
				return r
			}
			continue
		case len(c.open) > 0:
			return anthropicRefusal("use-last", fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks "+
				"immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
				c.at, strings.Join(c.open, ", ")))
		}
		if r := c.block(i, b, "text thinking redacted_thinking"); r != nil {
			return r
		}
	}
	if len(blocks) == 0 {
		return nil
	}
	end := blocks[len(blocks)-1]
	switch said := end.get("text").text; {
	case thinks(end):
		return c.refuse("thinking-last", "The final block in an assistant message cannot be `thinking`.")
	case c.last && said != strings.TrimRight(said, " \t\r\n"):
		return anthropicRefusal("trailing", "messages: final assistant content cannot end with trailing whitespace")
	}
	return nil
}

func (c *conversation) use(i int, b node) *Refusal {
	id, name := b.get("id").text, b.get("name").text
	_, repeated := c.ids[id]
	switch {
	case !c.tools:
		return anthropicRefusal("tools-missing", "Requests which include `tool_use` or `tool_result` blocks must define tools")
	case !word(id):
		return c.refuseBlock("use-id", i, ".tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
	case !word(name) || len(name) > anthropicMaxName:
		return c.refuseBlock("use-name", i, ".tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'")
	case b.get("input").kind != object:
		return c.refuseBlock("use-input", i, ".tool_use.input: Input should be a valid dictionary")
	case repeated:
		return c.refuseBlock("use-unique", i, ": `tool_use` ids must be unique")
	}
	c.ids[id] = struct{}{}
	c.open = append(c.open, id)
	return nil
}

// block checks a block; types are the types that are allowed here.
func (c *conversation) block(i int, b node, types string) *Refusal {
	kind := b.get("type")
	if kind.text == "" || !among(types, kind.text) {
		return c.refuseBlock("block", i, fmt.Sprintf(": Input tag '%s' found using 'type' does not match any of the expected tags: %s", kind.text, types))
	}
	switch kind.text {
	case "text":
		switch said := b.get("text"); {
		case said.text == "":
			return anthropicRefusal("text-empty", "messages: text content blocks must be non-empty")
		case strings.TrimSpace(said.text) == "":
			return anthropicRefusal("text-blank", "messages: text content blocks must contain non-whitespace text")
		}
	case "thinking":
		if b.get("signature").text == "" {
			return c.refuseBlock("thinking-signature", i, ".thinking.signature: Field required")
		}
	case "image":
		source := b.get("source")
		kinds := []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
		base64 := source.get("type").is("base64") && source.get("data").text != "" && slices.Contains(kinds, source.get("media_type").text)
		if !base64 && !(source.get("type").is("url") && source.get("url").text != "") {
			return c.refuseBlock("image", i, ".image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'")
		}
	}
	return nil
}
