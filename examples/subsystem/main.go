// Command subsystem shows a subsystem of one's own: three typed tools, joined
// with a rule of the house by generated code, and played by a scripted model.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/grapnel-go/grapnel/examples/subsystem/pantry"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// Kitchen is one hook made of two; what joins them is generated.
//
//hook:composite
type Kitchen struct {
	Rules  *HouseRules
	Pantry *pantry.Pantry
}

// HouseRules has the last word on what may be taken.
type HouseRules struct{ hook.Nop }

// BeforeTool sees every call, with its arguments decoded and checked.
func (*HouseRules) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	if call.Name() == pantry.ToolPantryTake && call.Args() == `{"item":"cake","pieces":1}` {
		return hook.DenyTool("Nobody takes the last piece of cake."), nil
	}
	return hook.ToolDecision{}, nil
}

//go:embed script.yaml
var answers []byte

func main() {
	if err := cook(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func cook(ctx context.Context, out io.Writer) error {
	model, err := script.Parse("script.yaml", answers)
	if err != nil {
		return err
	}
	rt := runtime.New(&Kitchen{Rules: &HouseRules{}, Pantry: pantry.New()}, model, nil)
	if err := rt.Open(ctx); err != nil {
		return err
	}
	defer rt.Close(ctx)
	agent, err := rt.Register(ctx, hook.AgentConfig{Name: "cook", Instructions: "You run a kitchen."})
	if err != nil {
		return err
	}
	conv, err := agent.Conversation(ctx, "ann")
	if err != nil {
		return err
	}
	outcome, err := conv.Send(ctx, message.TextInput("We are back from the market. What is for dinner?"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		if d := ev.Detail(); ev.Kind == event.CallResult {
			line, _, _ := strings.Cut(d.Result.Text(), "\n")
			fmt.Fprintf(out, "%s: %s: %s\n", d.Tool, d.Outcome, line)
		}
	}})
	if err := cmp.Or(err, outcome.Err); err != nil {
		return err
	}
	fmt.Fprintln(out, outcome.Text())
	return nil
}
