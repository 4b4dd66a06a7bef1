package history_test

import (
	"fmt"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/history"
)

// A program was killed while two tools ran. One of them had ended; the other
// one's call has no result, and every provider would refuse what is left.
func ExampleRepair() {
	messages := []message.Message{
		message.UserText("How large is the repository?"),
		{Role: message.RoleAssistant, Content: message.ListOf(
			message.Block{Kind: message.BlockToolCall, CallID: "call_1", Tool: "count_files", JSON: `{}`},
			message.Block{Kind: message.BlockToolCall, CallID: "call_2", Tool: "count_lines", JSON: `{}`},
		)},
		{Role: message.RoleTool, CallID: "call_1", Tool: "count_files", Result: message.TextResult("120")},
	}
	messages, problems := history.Repair(messages)
	for _, p := range problems {
		fmt.Println(p)
	}
	for _, m := range messages[2:] {
		fmt.Println(m.Tool, "->", m.Result.Text())
	}
	// Output:
	// messages[1]: tool call 1 has no result
	// count_files -> 120
	// count_lines -> interrupted: no result of this call was kept; its outcome is not known
}

func ExampleCheck() {
	problems := history.Check([]message.Message{
		message.UserText("hi"),
		{Role: message.RoleTool, CallID: "call_1", Tool: "read", Result: message.TextResult("a line")},
	})
	fmt.Println(problems)
	// Output: [messages[1]: it is the result of no tool call]
}

func ExampleArguments() {
	fmt.Println(history.Arguments(` { "path" : "a" } `))
	fmt.Println(history.Arguments(`{"path":"a`))
	// Output:
	// {"path":"a"}
	// {"unparsed_arguments":"{\"path\":\"a"}
}
