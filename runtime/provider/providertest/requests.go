package providertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Words that the kit looks for in requests.
const (
	saidSystem  = "kit-system-instructions"
	saidUser    = "kit-user-question"
	saidModel   = "kit-model-answer"
	saidArgs    = "kit-arguments"
	saidResult  = "kit-result"
	saidFailure = "kit-failed-result"
	saidTool    = "kit-tool-description"
	saidSchema  = "kit_schema_property"
	saidLast    = "kit-last-question"
)

// tools are those of the kit's requests; nil if the wire has none.
func (w *Wire) tools() *message.ToolSet {
	if w.Lacks.Tools {
		return nil
	}
	return tools()
}

func tools() *message.ToolSet {
	return message.NewToolSet([]message.Tool{
		{Name: toolLook, Description: "Looks somewhere; " + saidTool + ".", Input: `{"type":"object","properties":{"at":{"type":"string"},"` +
			saidSchema + `":{"type":["integer","null"],"description":"How far."}},"required":["at"],"additionalProperties":false}`},
		{Name: toolRead, Description: "Reads a file.", Input: `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`},
		{Name: "now", Description: "Says what time it is.", Input: `{"type":"object"}`},
	})
}

// asks returns a request of these messages.
func (w *Wire) asks(ms ...message.Message) message.ModelRequest {
	return message.ModelRequest{
		Model: message.Model{Name: w.Model}, System: saidSystem, Tools: w.tools(),
		Messages: message.MessagesOf(ms...), Stable: max(0, len(ms)-1),
	}
}

// greets returns a request of one message.
func (w *Wire) greets() message.ModelRequest { return w.asks(message.UserText("Hello.")) }

// says returns an assistant's message.
func says(blocks ...message.Block) message.Message {
	return message.Message{Role: message.RoleAssistant, Content: message.ListOf(blocks...)}
}

// calls returns the block of a call.
func calls(id, tool, args string) message.Block {
	return message.Block{Kind: message.BlockToolCall, CallID: id, Tool: tool, JSON: message.JSON(args)}
}

// answersCall returns the message with the result of a call.
func answersCall(id, tool string, r message.ToolResult) message.Message {
	return message.Message{Role: message.RoleTool, CallID: id, Tool: tool, Result: r}
}

// history is a conversation with calls, a result and a failed one, if the wire has tools.
func (w *Wire) history() []message.Message {
	out := []message.Message{message.UserText(saidUser)}
	if w.Lacks.Tools {
		return append(out, says(message.TextBlock(saidModel)), message.UserText(saidLast))
	}
	return append(out,
		says(message.TextBlock(saidModel), calls("call_Ab1", toolLook, `{"at":"`+saidArgs+`"}`), calls("call_Cd2", toolRead, `{"path":"b"}`)),
		answersCall("call_Ab1", toolLook, message.TextResult(saidResult)),
		answersCall("call_Cd2", toolRead, message.FailedResult(message.FailNotFound, saidFailure)),
		says(message.TextBlock("It is there.")), message.UserText(saidLast))
}

// texts returns all strings in the body of a request, joined, as a reader of it sees them:
// with the escapes of JSON resolved, also those of JSON within a string.
func texts(body string) string {
	var v any
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return body
	}
	var sb strings.Builder
	gather(&sb, v)
	return sb.String()
}

func gather(sb *strings.Builder, v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			gather(sb, e)
		}
	case map[string]any:
		for name, e := range v {
			sb.WriteString(name + "\n")
			gather(sb, e)
		}
	default:
		fmt.Fprintf(sb, "%v\n", v)
	}
}

// plain returns the body without the members that mark what may be cached, and without
// spaces. The order of members is kept: a server sees it.
func plain(body string, marks []string) (string, error) {
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var sb strings.Builder
	err := copyJSON(&sb, d, marks)
	return sb.String(), err
}

// copyJSON copies one value.
func copyJSON(sb *strings.Builder, d *json.Decoder, marks []string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	if !ok {
		text, err := json.Marshal(token)
		sb.Write(text)
		return err
	}
	sb.WriteString(open.String())
	for first := true; d.More(); {
		name := ""
		if open == '{' {
			token, err := d.Token()
			if err != nil {
				return err
			}
			if name = token.(string); slices.Contains(marks, name) {
				if err := copyJSON(new(strings.Builder), d, nil); err != nil {
					return err
				}
				continue
			}
		}
		if !first {
			sb.WriteString(",")
		}
		first = false
		if open == '{' {
			fmt.Fprintf(sb, "%q:", name)
		}
		if err := copyJSON(sb, d, marks); err != nil {
			return err
		}
	}
	end, err := d.Token()
	if err == nil {
		sb.WriteString(end.(json.Delim).String())
	}
	return err
}

// grows says how the body of a request changes what the one before has said; "" if it only
// says more at the end of the conversation. The conversation is the one member at the top
// that is a list and has grown.
func grows(before, after string) string {
	was, is := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if json.Unmarshal([]byte(before), &was) != nil || json.Unmarshal([]byte(after), &is) != nil {
		if strings.HasPrefix(after, strings.TrimRight(before, "\n")) {
			return ""
		}
		return fmt.Sprintf("it does not begin with the request before: after %d bytes it differs", common(before, after))
	}
	for name, value := range was {
		var some, more []json.RawMessage
		switch {
		case string(value) == string(is[name]):
		case json.Unmarshal(value, &some) != nil || json.Unmarshal(is[name], &more) != nil || len(more) < len(some):
			return fmt.Sprintf("the member %q is another one: %s", name, apart(string(value), string(is[name])))
		default:
			for i := range some {
				if string(some[i]) != string(more[i]) {
					return fmt.Sprintf("element %d of %q is another one: %s", i, name, apart(string(some[i]), string(more[i])))
				}
			}
		}
	}
	for name := range is {
		if _, there := was[name]; !there {
			return fmt.Sprintf("it has the new member %q", name)
		}
	}
	return ""
}

// common is the length of what both begin with.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// apart shows where two texts begin to differ.
func apart(a, b string) string {
	n := common(a, b)
	from := max(0, n-20)
	return fmt.Sprintf("%.60q, before %.60q", b[from:], a[from:])
}
