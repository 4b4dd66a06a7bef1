package responses

import (
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
)

// request returns what the model behind the server is asked. The items of one answer become
// one message.
func request(root wire.Node) message.ModelRequest {
	req := message.ModelRequest{System: root.Get("instructions").Text}
	var tools []message.Tool
	for _, t := range root.Get("tools").List {
		tools = append(tools, message.Tool{Name: t.Get("name").Text, Description: t.Get("description").Text, Input: message.JSON(t.Get("parameters").Raw)})
	}
	if tools != nil {
		req.Tools = message.NewToolSet(tools)
	}
	input := root.Get("input")
	if input.Kind == wire.Text {
		req.Messages = message.MessagesOf(message.UserText(input.Text))
		return req
	}
	var ms []message.Message
	var said []message.Block
	end := func() {
		if said != nil {
			ms = append(ms, message.Message{Role: message.RoleAssistant, Content: message.ListOf(said...)})
			said = nil
		}
	}
	names := map[string]string{}
	for _, item := range input.List {
		switch kind := kindOf(item); {
		case kind == "function_call":
			id, name := item.Get("call_id").Text, item.Get("name").Text
			names[id] = name
			said = append(said, message.Block{Kind: message.BlockToolCall, CallID: id, Tool: name, JSON: message.JSON(item.Get("arguments").Text)})
		case kind == "reasoning":
			said = append(said, message.Block{Kind: message.BlockReasoning, Text: textOf(item.Get("summary"))})
		case kind == "function_call_output":
			end()
			id := item.Get("call_id").Text
			ms = append(ms, message.Message{Role: message.RoleTool, CallID: id, Tool: names[id], Result: message.TextResult(textOf(item.Get("output")))})
		case item.Get("role").Is("assistant"):
			said = append(said, message.TextBlock(textOf(item.Get("content"))))
		case item.Get("role").Is("user"):
			end()
			ms = append(ms, message.Message{Role: message.RoleUser, Content: message.ListOf(blocks(item.Get("content"))...)})
		default:
			req.System = strings.TrimPrefix(req.System+"\n"+textOf(item.Get("content")), "\n")
		}
	}
	end()
	req.Messages = message.MessagesOf(ms...)
	return req
}

func blocks(content wire.Node) (out []message.Block) {
	if content.Kind == wire.Text {
		return []message.Block{message.TextBlock(content.Text)}
	}
	for _, p := range content.List {
		switch p.Get("type").Text {
		case "input_image":
			out = append(out, message.Block{Kind: message.BlockImage, URI: p.Get("image_url").Text})
		case "input_text", "output_text", "summary_text":
			out = append(out, message.TextBlock(p.Get("text").Text))
		case "refusal":
			out = append(out, message.TextBlock(p.Get("refusal").Text))
		}
	}
	return out
}

func textOf(content wire.Node) string {
	var texts []string
	for _, b := range blocks(content) {
		if b.Kind == message.BlockText {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}
