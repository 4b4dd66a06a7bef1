package anthropic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
)

// conversation checks the messages of a request. Consecutive messages of one role are
// allowed, because the vendor joins them. But the results of an assistant's calls must be in
// one message, directly behind it.
type conversation struct {
	*wire.Check
	family
	// tools: the request defines tools. budget: it asks for thinking with a budget.
	tools, budget bool
	// ids has the ids of all calls, open those of the message before, in order, and
	// answered those of them with a result.
	ids            map[string]struct{}
	open, answered []string
	// at is the index of the current message; last: it is the last one.
	at   int
	last bool
	// loop is the index of the first message of the running tool loop: the one behind the
	// last message of a user that is no list of results.
	loop int
}

func (c conversation) check(messages wire.Node) {
	if messages.Kind != wire.Array || len(messages.List) == 0 {
		c.Refuse("messages", "", "messages: at least one message is required")
		return
	}
	c.ids = map[string]struct{}{}
	for i := range messages.List {
		if m := messages.List[i]; m.Get("role").Is("user") && !hasResult(m) {
			c.loop = i + 1
		}
	}
	for i := range messages.List {
		c.at, c.last = i, i+1 == len(messages.List)
		next := wire.Node{}
		if !c.last {
			next = messages.List[i+1]
		}
		c.message(messages.List[i], next)
	}
	c.at++
	c.unanswered()
}

func hasResult(m wire.Node) bool {
	return slices.ContainsFunc(m.Get("content").List, func(b wire.Node) bool { return b.Get("type").Is("tool_result") })
}

// refuse makes a refusal that names the message.
func (c *conversation) refuse(rule, message string) {
	c.Refuse(rule, "", "messages.%d: %s", c.at, message)
}

// refuseBlock makes a refusal that names a block of the message.
func (c *conversation) refuseBlock(rule string, block int, message string) {
	c.Refuse(rule, "", "messages.%d.content.%d%s", c.at, block, message)
}

func (c *conversation) message(m, next wire.Node) {
	role, content := m.Get("role").Text, m.Get("content")
	switch {
	case role == "system" && c.system:
		c.systemMessage(content, next)
		return
	case role == "system":
		c.Refuse("role", "", `messages: Unexpected role "system". The Messages API accepts a top-level `+
			"`system` parameter, not \"system\" as an input message role.")
		return
	case role != "user" && role != "assistant":
		c.Refuse("role", "", "messages.%d.role: Input should be 'user' or 'assistant'", c.at)
		return
	case c.at == 0 && role != "user":
		c.Refuse("first", "", `messages: first message must use the "user" role`)
	case content.Kind != wire.Text && content.Kind != wire.Array:
		c.Refuse("content", "", "messages.%d.content: Field required", c.at)
		return
	case content.Text == "" && len(content.List) == 0 && !(c.last && role == "assistant"):
		c.refuse("content", "all messages must have non-empty content except for the optional final assistant message")
		return
	}
	blocks := content.List
	if content.Kind == wire.Text && content.Text != "" {
		blocks = []wire.Node{wire.TextBlock(content.Text)}
	}
	if role == "user" {
		c.user(blocks)
		return
	}
	c.unanswered()
	c.assistant(blocks)
}

func (c *conversation) systemMessage(content, next wire.Node) {
	if c.unanswered(); c.at == 0 || !c.last && !next.Get("role").Is("assistant") {
		c.refuse("system-place", "a `system` message must follow a `user` message and be the last one or precede an `assistant` message")
	}
	for i := range content.List {
		c.block(i, content.List[i], "text")
	}
}

func (c *conversation) user(blocks []wire.Node) {
	first := 0
	for first < len(blocks) && blocks[first].Get("type").Is("tool_result") {
		c.result(first, blocks[first])
		first++
	}
	late := false
	for i := first; i < len(blocks); i++ {
		if b := blocks[i]; b.Get("type").Is("tool_result") {
			if !late && len(c.open) > 0 {
				c.refuse("result-first", fmt.Sprintf("Did not find %d `tool_result` block(s) at the beginning of this message. "+
					"Messages following `tool_use` blocks must begin with a matching number of `tool_result` blocks.", len(c.open)))
			}
			late = true
			c.result(i, b)
		}
	}
	c.unanswered()
	c.open, c.answered = nil, nil
	for i := first; i < len(blocks); i++ {
		if !blocks[i].Get("type").Is("tool_result") {
			c.block(i, blocks[i], "text image document search_result")
		}
		if cites := blocks[i].Get("citations"); blocks[i].Get("type").Is("text") && !cites.Blank() {
			c.refuseBlock("citations", i, ".text.citations: Extra inputs are not permitted")
		}
	}
}

const resultMembers = "type tool_use_id content is_error cache_control toolset_name"

func (c *conversation) result(i int, b wire.Node) {
	id, content, failed := b.Get("tool_use_id").Text, b.Get("content"), b.Get("is_error").True()
	if key := wire.Unknown(b, resultMembers); key != "" {
		c.refuseBlock("block-extra", i, ".tool_result."+key+": Extra inputs are not permitted")
	}
	switch {
	case !c.tools:
		c.Refuse("tools-missing", "", "Requests which include `tool_use` or `tool_result` blocks must define tools")
	case !slices.Contains(c.open, id):
		c.refuseBlock("result-unknown", i, fmt.Sprintf(": unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
			"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", id))
	case slices.Contains(c.answered, id):
		c.refuseBlock("result-twice", i, ": each tool_use must have a single result. Found multiple `tool_result` blocks with id: "+id)
	case failed && content.Text == "" && len(content.List) == 0:
		c.refuseBlock("result-error", i, ".tool_result: content cannot be empty if `is_error` is true")
	case failed && slices.ContainsFunc(content.List, func(b wire.Node) bool { return !b.Get("type").Is("text") }):
		c.refuseBlock("result-error-text", i, ".tool_result: all content must be type 'text' if 'is_error' is true")
	}
	if slices.Contains(c.open, id) && !slices.Contains(c.answered, id) {
		c.answered = append(c.answered, id)
	}
	for j := range content.List {
		c.block(i, content.List[j], "text image document search_result")
	}
}

// unanswered checks that the calls of the message before were answered.
func (c *conversation) unanswered() {
	missing := slices.DeleteFunc(slices.Clone(c.open), func(id string) bool { return slices.Contains(c.answered, id) })
	if len(missing) > 0 {
		c.Refuse("result-missing", "", "messages.%d: %s", c.at-1, unansweredText(missing))
	}
}

func unansweredText(ids []string) string {
	return fmt.Sprintf("`tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
		"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", strings.Join(ids, ", "))
}

func thinks(b wire.Node) bool {
	return b.Get("type").Is("thinking") || b.Get("type").Is("redacted_thinking")
}

func (c *conversation) assistant(blocks []wire.Node) {
	c.open, c.answered = nil, nil
	for i := range blocks {
		b := blocks[i]
		switch {
		case thinks(b) && i > 0 && !thinks(blocks[0]):
			c.refuseBlock("thinking-first", 0, ": If an assistant message contains any thinking blocks, "+
				"the first block must be `thinking` or `redacted_thinking`. Found `"+blocks[0].Get("type").Text+"`.")
		case b.Get("type").Is("tool_use"):
			c.use(i, b)
			continue
		case len(c.open) > 0:
			c.Refuse("use-last", "", "messages.%d: %s", c.at, unansweredText(c.open))
			return
		}
		c.block(i, b, "text thinking redacted_thinking")
	}
	if len(blocks) == 0 {
		return
	}
	c.thought(blocks)
	end := blocks[len(blocks)-1]
	if thinks(end) {
		c.refuse("thinking-last", "The final block in an assistant message cannot be `thinking`.")
	}
	if !c.last || len(c.open) > 0 {
		return
	}
	if _, paused := c.Memory.Noted("paused " + wire.Digest(spoken(blocks))); !c.prefill && !paused {
		c.Refuse("prefill", "", "This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	if said := end.Get("text").Text; said != strings.TrimRight(said, " \t\r\n") {
		c.Refuse("trailing", "", "messages: final assistant content cannot end with trailing whitespace")
	}
}

// spoken returns the text of a message.
func spoken(blocks []wire.Node) string {
	var sb strings.Builder
	for i := range blocks {
		sb.WriteString(blocks[i].Get("text").Text)
	}
	return sb.String()
}

// thought checks that the thinking of a message stands as it was answered.
func (c *conversation) thought(blocks []wire.Node) {
	if c.budget && c.at >= c.loop && len(c.open) > 0 && !thinks(blocks[0]) {
		c.refuseBlock("thinking-start", 0, ".type: Expected `thinking` or `redacted_thinking`, but found `"+blocks[0].Get("type").Text+"`. "+
			"When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of "+
			"`tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`.")
		return
	}
	for i := range blocks {
		want, known := c.Memory.Noted("thought " + blocks[i].Get("id").Text)
		if !known || !blocks[i].Get("type").Is("tool_use") {
			continue
		}
		model, want, _ := strings.Cut(want, " ")
		got := shape(blocks)
		if model == c.Model && got != want && (c.at >= c.loop || got != "") {
			c.refuseBlock("thinking-kept", i, ": `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "+
				"These blocks must remain as they were in the original response.")
			return
		}
	}
}

// shape returns what tells whether thinking is all there, in its order.
func shape(blocks []wire.Node) string {
	var proofs []string
	for i := range blocks {
		if thinks(blocks[i]) {
			proofs = append(proofs, wire.Digest(blocks[i].Get("signature").Text+blocks[i].Get("data").Text))
		}
	}
	return strings.Join(proofs, ",")
}

const useMembers = "type id name input cache_control caller toolset_name"

func (c *conversation) use(i int, b wire.Node) {
	id, name := b.Get("id").Text, b.Get("name").Text
	if !c.tools {
		c.Refuse("tools-missing", "", "Requests which include `tool_use` or `tool_result` blocks must define tools")
	}
	if key := wire.Unknown(b, useMembers); key != "" {
		c.refuseBlock("block-extra", i, ".tool_use."+key+": Extra inputs are not permitted")
	}
	if !wire.Word(id) {
		c.refuseBlock("use-id", i, ".tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
	}
	if !wire.Word(name) || len(name) > maxName {
		c.refuseBlock("use-name", i, ".tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
	}
	if b.Get("input").Kind != wire.Object {
		c.refuseBlock("use-input", i, ".tool_use.input: Input should be a valid dictionary")
	}
	if _, repeated := c.ids[id]; repeated {
		c.refuseBlock("use-unique", i, ": `tool_use` ids must be unique")
	}
	c.ids[id] = struct{}{}
	c.open = append(c.open, id)
}

// membersOf returns the members of a type of block.
func membersOf(kind string) string {
	switch kind {
	case "text":
		return "type text citations cache_control"
	case "image":
		return "type source transformations cache_control"
	case "document":
		return "type source context title citations cache_control"
	case "search_result":
		return "type source title content citations cache_control"
	case "thinking":
		return "type thinking signature cache_control" // cache_control has a rule of its own
	}
	return "type data cache_control"
}

// block checks a block; types are the types that are allowed here.
func (c *conversation) block(i int, b wire.Node, types string) {
	kind := b.Get("type").Text
	if kind == "" || !wire.Among(types, kind) {
		c.refuseBlock("block", i, fmt.Sprintf(": Input tag '%s' found using 'type' does not match any of the expected tags: %s", kind, types))
		return
	}
	if key := wire.Unknown(b, membersOf(kind)); key != "" {
		c.refuseBlock("block-extra", i, "."+kind+"."+key+": Extra inputs are not permitted")
	}
	switch kind {
	case "text":
		switch said := b.Get("text"); {
		case said.Text == "" && b.Get("cache_control").Kind == wire.None:
			c.Refuse("text-empty", "", "messages: text content blocks must be non-empty")
		case said.Text != "" && strings.TrimSpace(said.Text) == "":
			c.Refuse("text-blank", "", "messages: text content blocks must contain non-whitespace text")
		}
	case "thinking":
		switch signature := b.Get("signature").Text; {
		case signature == "":
			c.refuseBlock("thinking-signature", i, ".thinking.signature: Field required")
		case !c.Signer.Signed(c.Model, "thinking", b.Get("thinking").Text, signature):
			c.refuseBlock("thinking-signed", i, ": Invalid `signature` in `thinking` block")
		}
	case "redacted_thinking":
		if !c.Signer.Sealed(c.Model, "redacted", b.Get("data").Text) {
			c.refuseBlock("redacted-signed", i, ": Invalid `data` in `redacted_thinking` block")
		}
	case "image":
		c.image(i, b.Get("source"))
	case "document":
		c.document(i, b.Get("source"))
	}
}

func (c *conversation) image(i int, source wire.Node) {
	base64 := source.Get("type").Is("base64") && source.Get("data").Text != "" &&
		wire.Among("image/jpeg image/png image/gif image/webp", source.Get("media_type").Text)
	if !base64 && !(source.Get("type").Is("url") && source.Get("url").Text != "") {
		c.refuseBlock("image", i, ".image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'")
	}
}

func (c *conversation) document(i int, source wire.Node) {
	ok := false
	switch source.Get("type").Text {
	case "base64":
		ok = source.Get("media_type").Is("application/pdf") && source.Get("data").Text != ""
	case "text":
		ok = source.Get("media_type").Is("text/plain") && source.Get("data").Text != ""
	case "url":
		ok = source.Get("url").Text != ""
	case "content":
		ok = !source.Get("content").Blank()
	}
	if !ok {
		c.refuseBlock("document", i, ".document.source: a PDF in base64, a plain text, content or a url is expected")
	}
}
