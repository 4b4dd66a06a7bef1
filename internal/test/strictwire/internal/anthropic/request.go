package anthropic

import (
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
)

// request returns what the model behind the server is asked.
func request(root wire.Node) message.ModelRequest {
	req := message.ModelRequest{System: textOf(root.Get("system"))}
	var tools []message.Tool
	for _, t := range root.Get("tools").List {
		tools = append(tools, message.Tool{Name: t.Get("name").Text, Description: t.Get("description").Text, Input: message.JSON(t.Get("input_schema").Raw)})
	}
	if tools != nil {
		req.Tools = message.NewToolSet(tools)
	}
	names := map[string]string{}
	var ms []message.Message
	for _, m := range root.Get("messages").List {
		role := message.RoleUser
		if m.Get("role").Is("assistant") {
			role = message.RoleAssistant
		}
		var blocks []message.Block
		content := m.Get("content")
		if content.Kind == wire.Text {
			blocks = append(blocks, message.TextBlock(content.Text))
		}
		for _, b := range content.List {
			if b.Get("type").Is("tool_result") {
				id := b.Get("tool_use_id").Text
				ms = append(ms, result(id, names[id], b))
				continue
			}
			if b.Get("type").Is("tool_use") {
				names[b.Get("id").Text] = b.Get("name").Text
			}
			blocks = append(blocks, block(b))
		}
		if blocks != nil {
			ms = append(ms, message.Message{Role: role, Content: message.ListOf(blocks...)})
		}
	}
	req.Messages = message.MessagesOf(ms...)
	return req
}

func result(id, tool string, b wire.Node) message.Message {
	r := message.TextResult(textOf(b.Get("content")))
	if b.Get("is_error").True() {
		r.Failure = message.FailOperation
	}
	return message.Message{Role: message.RoleTool, CallID: id, Tool: tool, Result: r}
}

func block(b wire.Node) message.Block {
	switch b.Get("type").Text {
	case "tool_use":
		return message.Block{Kind: message.BlockToolCall, CallID: b.Get("id").Text, Tool: b.Get("name").Text, JSON: message.JSON(b.Get("input").Raw)}
	case "thinking", "redacted_thinking":
		return message.Block{Kind: message.BlockReasoning, Text: b.Get("thinking").Text}
	case "image":
		source := b.Get("source")
		return message.Block{Kind: message.BlockImage, MIME: source.Get("media_type").Text, Data: source.Get("data").Text, URI: source.Get("url").Text}
	}
	return message.TextBlock(b.Get("text").Text)
}

// textOf returns the text of a content.
func textOf(content wire.Node) string {
	if content.Kind == wire.Text {
		return content.Text
	}
	var texts []string
	for _, b := range content.List {
		if t := b.Get("text"); t.Kind == wire.Text {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}
