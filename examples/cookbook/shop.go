// Package cookbook has a recipe a file: hooks for what people want most often,
// each as an example that runs. docs/cookbook.md is written from them.
package cookbook

import (
	"cmp"
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

//go:generate go tool hookgen .

// Shop is what the agents of the recipes work with.
//
//hook:subsystem
type Shop struct{ hook.Nop }

// Order is the input of order.
type Order struct {
	// Item to order.
	Item string `json:"item"`
	// Pieces of it.
	Pieces int `json:"pieces"`
}

// Order orders pieces of an item.
//
//hook:tool
func (*Shop) Order(_ context.Context, in Order) (string, error) {
	return fmt.Sprintf("ordered %d %s", in.Pieces, in.Item), nil
}

// Ask has an agent answer one line with a scripted model, through the hook.
func Ask(h hook.Hook, line string, model ...script.Rule) (hook.TurnOutcome, error) {
	ctx := context.Background()
	rt := runtime.New(h, script.New(model...), nil)
	if err := rt.Open(ctx); err != nil {
		return hook.TurnOutcome{}, err
	}
	defer rt.Close(ctx)
	agent, err := rt.Register(ctx, hook.AgentConfig{Name: "clerk", Model: message.Model{Name: "big"}})
	if err != nil {
		return hook.TurnOutcome{}, err
	}
	conv, err := agent.Conversation(ctx, "ann")
	if err != nil {
		return hook.TurnOutcome{}, err
	}
	out, err := conv.Send(ctx, message.TextInput(line), nil)
	return out, cmp.Or(err, out.Err)
}

// order is a model that orders once and then says what came of it.
func order(args message.JSON) []script.Rule {
	return []script.Rule{{Calls: []script.Call{{Tool: "order", Args: args}}}, {Say: "${result}"}}
}

// show prints how a turn ended.
func show(out hook.TurnOutcome, err error) {
	if err != nil {
		fmt.Println(out.Stop, err)
		return
	}
	fmt.Println(out.Stop, out.Text())
}
