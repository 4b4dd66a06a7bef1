package providertest

import (
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
