package askuser_test

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/askuser"
)

// first is a host whose people always take the first option. A runtime shows the
// questions to somebody instead.
type first struct{ hook.NoHost }

func (first) Ask(_ context.Context, q hook.Inquiry) (hook.Response, error) {
	var given []hook.Given
	for _, question := range q.Questions.All() {
		given = append(given, hook.Given{Chosen: message.ListOf(question.Options.At(0).Label)})
	}
	return hook.Response{Given: message.Freeze(given)}, nil
}

func Example() {
	turn := hooktest.Turn(hooktest.Conversation(nil, first{}), "Set up the project.")
	call := hooktest.Call(hooktest.Step(turn), askuser.ToolAskUser, `{"questions":[{
		"question": "Which database do you want to use?", "header": "Database",
		"options": [{"label": "SQLite", "description": "one file, no server"}, {"label": "PostgreSQL"}]}]}`)
	fmt.Println(hooktest.Invoke(context.Background(), askuser.New(nil), call).Text())
	// Output: Which database do you want to use? → SQLite
}
