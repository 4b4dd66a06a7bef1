package chat

import (
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
)

// request returns what the model behind the server is asked.
func request(root wire.Node) message.ModelRequest {
	var req message.ModelRequest
	var tools []message.Tool
	for _, t := range root.Get("tools").List {
		f := t.Get("function")
		tools = append(tools, message.Tool{Name: f.Get("name").Text, Description: f.Get("description").Text, Input: message.JSON(f.Get("parameters").Raw)})
	}
	if tools != nil {
		req.Tools = message.NewToolSet(tools)
	}
	names := map[string]string{}
	var ms []message.Message
	for _, m := range root.Get("messages").List {
		switch m.Get("role").Text {
		case "system", "developer":
			req.System = strings.TrimPrefix(req.System+"\n"+textOf(m.Get("content")), "\n")
		case "tool":
			id := m.Get("tool_call_id").Text
			ms = append(ms, message.Message{Role: message.RoleTool, CallID: id, Tool: names[id], Result: message.TextResult(textOf(m.Get("content")))})
		case "user":
			ms = append(ms, message.Message{Role: message.RoleUser, Content: message.ListOf(blocks(m.Get("content"))...)})
		default:
			said := blocks(m.Get("content"))
			for _, c := range m.Get("tool_calls").List {
				f := c.Get("function")
				names[c.Get("id").Text] = f.Get("name").Text
				said = append(said, message.Block{Kind: message.BlockToolCall, CallID: c.Get("id").Text, Tool: f.Get("name").Text, JSON: message.JSON(f.Get("arguments").Text)})
			}
			ms = append(ms, message.Message{Role: message.RoleAssistant, Content: message.ListOf(said...)})
		}
	}
	req.Messages = message.MessagesOf(ms...)
	return req
}

func blocks(content wire.Node) (out []message.Block) {
	if content.Kind == wire.Text && content.Text != "" {
		out = append(out, message.TextBlock(content.Text))
	}
	for _, p := range content.List {
		switch p.Get("type").Text {
		case "text":
			out = append(out, message.TextBlock(p.Get("text").Text))
		case "image_url":
			out = append(out, message.Block{Kind: message.BlockImage, URI: p.Get("image_url").Get("url").Text})
		}
	}
	return out
}

func textOf(content wire.Node) string {
	var texts []string
	for _, b := range blocks(content) {
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, "\n")
}
