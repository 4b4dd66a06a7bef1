package sessions_test

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/subsystems/sessions"
)

// The program brings the search; here it always finds the same message.
func Example() {
	ctx := context.Background()
	search := func(_ context.Context, q sessions.Query) ([]sessions.Match, error) {
		fmt.Println("searched:", q.Text, "of", q.Sender)
		return []sessions.Match{{
			Conversation: "may", Title: "A berth for the sloop", Agent: q.Agent, Sender: q.Sender, Role: message.RoleUser, Snippet: "We took pier seven.",
		}}, nil
	}
	model := script.New(
		script.Rule{Calls: []script.Call{{Tool: "search_sessions", Args: `{"query":"pier"}`}}},
		script.Rule{When: &script.When{Results: []script.Result{{Text: script.Text{Contains: "pier seven"}}}}, Say: "In May you took pier seven."})
	rt := runtime.New(sessions.New(&sessions.Options{Search: search}), model, nil)
	_ = rt.Open(ctx)
	defer rt.Close(ctx)
	agent, err := rt.Register(ctx, hook.AgentConfig{Name: "helper"}.WithSection("sessions", `{}`))
	if err != nil {
		panic(err)
	}
	conv, _ := agent.Conversation(ctx, "ann")
	out, err := conv.Send(ctx, message.TextInput("Which pier did we take?"), nil)
	fmt.Println(out.Text(), err)
	// Output:
	// searched: pier of ann
	// In May you took pier seven. <nil>
}
