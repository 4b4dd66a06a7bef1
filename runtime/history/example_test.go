package history_test

import (
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/history"
)

// A program was killed while two tools ran. One of them had ended; the other
// one's call has no result, and every provider would refuse what is left.
func ExampleRepair() {
	messages := []hook.Message{
		hook.UserText("How large is the repository?"),
		{Role: hook.RoleAssistant, Content: hook.ListOf(
			hook.Block{Kind: hook.BlockToolCall, CallID: "call_1", Tool: "count_files", JSON: `{}`},
			hook.Block{Kind: hook.BlockToolCall, CallID: "call_2", Tool: "count_lines", JSON: `{}`},
		)},
		{Role: hook.RoleTool, CallID: "call_1", Tool: "count_files", Result: hook.TextResult("120")},
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
	problems := history.Check([]hook.Message{
		hook.UserText("hi"),
		{Role: hook.RoleTool, CallID: "call_1", Tool: "read", Result: hook.TextResult("a line")},
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
