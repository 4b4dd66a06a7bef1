package composite_test

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
)

// Loud has something to say in every prompt.
type Loud struct {
	hook.Nop
	Words string
}

func (l *Loud) SystemPrompt(*hook.AgentConfig) string { return l.Words }

// Careful lets no tool run.
type Careful struct{ hook.Nop }

func (*Careful) BeforeTool(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
	return hook.DenyTool("not today"), nil
}

// Agency is a composite.
type Agency struct {
	Loud    *Loud
	Careful *Careful
}

// A file of settings is laid over a composite: what it turns off is nowhere in the
// composite that comes out, and the plan says who has turned it off.
func ExampleComposite_Layered() {
	c, err := composite.New(&Agency{&Loud{Words: "Be brief."}, &Careful{}})
	if err != nil {
		panic(err)
	}
	layer, err := composite.ParseLayer("hooks.json", []byte(`{"Loud": "off", "Careful": "BeforeTool: timeout=2s"}`))
	if err != nil {
		panic(err)
	}
	h, err := c.Layered(layer)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%q\n", h.SystemPrompt(&hook.AgentConfig{}))
	fmt.Print(h.Plan().Text())

	layer, _ = composite.NewLayer("--set", map[string]string{"Lound": "off"})
	_, err = c.Layered(layer)
	fmt.Println(err)
	// Output:
	// ""
	// #  field    acts at
	// 1  Careful  BeforeTool:timeout=2s
	//
	// off: Loud, by hooks.json
	// HG056: --set names Lound, but composite_test.Agency has no such member; did you mean Loud?
}
