package script_test

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

func ExampleParse() {
	s, err := script.Parse("greeter.yaml", []byte(`
rules:
  - when: {user: {matches: 'my name is (\w+)'}}
    say: Hello, ${1}.
  - when: always
    say: Hello. What is your name?
`))
	if err != nil {
		panic(err)
	}
	for _, text := range []string{"hi", "my name is Ada"} {
		req := message.ModelRequest{Messages: message.MessagesOf(message.UserText(text))}
		reply, err := provider.Collect(s.Stream(context.Background(), req))
		fmt.Println(reply.Text(), err)
	}
	// Output:
	// Hello. What is your name? <nil>
	// Hello, Ada. <nil>
}

func ExampleNew() {
	s := script.New(
		script.Rule{When: &script.When{Step: 1}, Calls: []script.Call{{Tool: "recall", Args: `{"query":"tea"}`}}},
		script.Rule{When: &script.When{}, Say: "You told me: ${result:recall}"},
	)
	reply, err := provider.Collect(s.Stream(context.Background(), message.ModelRequest{
		Messages: message.MessagesOf(message.UserText("How do I like my tea?")),
	}))
	for _, call := range reply.Calls() {
		fmt.Println(reply.Finish, call.CallID, call.Tool, call.JSON, err)
	}
	// Output:
	// tool_calls call_1_0 recall {"query":"tea"} <nil>
}

func ExampleScript_mistakes() {
	_, err := script.Parse("answers.yaml", []byte("rules:\n  - say: Hello, ${1}.\n    wen: {step: 1}\n"))
	fmt.Println(err)
	// Output:
	// answers.yaml:2: say: ${1} needs a `matches` in the rule's when
	// answers.yaml:3: a rule has no key "wen"; known are name, when, reason, say, calls, finish, usage, error, pace
}
