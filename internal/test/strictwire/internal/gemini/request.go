package gemini

import (
	"slices"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
)

// request returns what the model behind the server is asked. Calls without an id are
// numbered.
func request(root wire.Node) message.ModelRequest {
	req := message.ModelRequest{System: textOf(root.Get("systemInstruction"))}
	var tools []message.Tool
	for _, t := range root.Get("tools").List {
		for _, f := range t.Get("functionDeclarations").List {
			input := f.Get("parametersJsonSchema").Raw + f.Get("parameters").Raw
			tools = append(tools, message.Tool{Name: f.Get("name").Text, Description: f.Get("description").Text, Input: message.JSON(input)})
		}
	}
	if tools != nil {
		req.Tools = message.NewToolSet(tools)
	}
	var ms []message.Message
	var open []string // the ids of the calls that wait for their results
	for i, c := range root.Get("contents").List {
		var blocks []message.Block
		for j, p := range c.Get("parts").List {
			switch call, result := p.Get("functionCall"), p.Get("functionResponse"); {
			case call.Kind != wire.None:
				id := call.Get("id").Text
				if id == "" {
					id = strconv.Itoa(i) + "." + strconv.Itoa(j)
				}
				open = append(open, id)
				args := call.Get("args").Raw
				if args == "" {
					args = "{}"
				}
				blocks = append(blocks, message.Block{Kind: message.BlockToolCall, CallID: id, Tool: call.Get("name").Text, JSON: message.JSON(args)})
			case result.Kind != wire.None:
				at := max(0, slices.Index(open, result.Get("id").Text))
				id := ""
				if len(open) > 0 {
					id = open[at] // before Delete moves the others
					open = slices.Delete(open, at, at+1)
				}
				ms = append(ms, response(id, result))
			default:
				blocks = append(blocks, block(p))
			}
		}
		role := message.RoleUser
		if c.Get("role").Is("model") {
			role = message.RoleAssistant
		}
		if blocks != nil {
			ms = append(ms, message.Message{Role: role, Content: message.ListOf(blocks...)})
		}
	}
	req.Messages = message.MessagesOf(ms...)
	return req
}

// response returns a result; that it failed is a convention of the wire.
func response(id string, f wire.Node) message.Message {
	r := f.Get("response")
	text, failure := r.Get("output"), message.FailureKind("")
	if e := r.Get("error"); e.Kind != wire.None {
		text, failure = e, message.FailOperation
	}
	out := message.TextResult(text.Text)
	if text.Kind != wire.Text {
		out = message.JSONResult(message.JSON(r.Raw))
	}
	out.Failure = failure
	return message.Message{Role: message.RoleTool, CallID: id, Tool: f.Get("name").Text, Result: out}
}

func block(p wire.Node) message.Block {
	if blob := p.Get("inlineData"); blob.Kind != wire.None {
		return message.Block{Kind: message.BlockImage, MIME: blob.Get("mimeType").Text, Data: blob.Get("data").Text}
	}
	b := message.TextBlock(p.Get("text").Text)
	if p.Get("thought").True() {
		b.Kind = message.BlockReasoning
	}
	return b
}

func textOf(content wire.Node) string {
	var texts []string
	for _, p := range content.Get("parts").List {
		texts = append(texts, p.Get("text").Text)
	}
	return strings.Join(texts, "\n")
}
