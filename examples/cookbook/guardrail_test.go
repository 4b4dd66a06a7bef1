package cookbook

import (
	"context"
	"regexp"
	"strings"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// Guardrail
//
// Input is refused at BeforeTurn, before it is stored. Output is redacted at
// RewriteReply, and judged at AfterModel. Where a hook has RewriteReply, text is
// held back until it has returned: nobody sees what it takes out.

// Guardrail refuses questions about a word and hides card numbers.
type Guardrail struct {
	hook.Nop
	Word string
}

var cards = regexp.MustCompile(`\b\d{4}( \d{4}){3}\b`)

// BeforeTurn refuses the word.
func (g *Guardrail) BeforeTurn(_ context.Context, _ *hook.Turn, in message.Input) (hook.TurnDecision, error) {
	if strings.Contains(in.Text(), g.Word) {
		return hook.RejectTurn("we do not talk about " + g.Word), nil
	}
	return hook.TurnDecision{}, nil
}

// RewriteReply hides card numbers.
func (*Guardrail) RewriteReply(_ context.Context, _ *hook.Step, reply message.ModelReply) (message.ModelReply, error) {
	blocks := reply.Content.Slice()
	for i := range blocks {
		if blocks[i].Kind == message.BlockText {
			blocks[i].Text = cards.ReplaceAllString(blocks[i].Text, "[card]")
		}
	}
	reply.Content = message.ListOf(blocks...)
	return reply, nil
}

func Example_guardrail() {
	h, err := composite.Of("Desk", composite.Field{Name: "Guardrail", Hook: &Guardrail{Word: "yachts"}}, composite.Field{Name: "Shop", Hook: &Shop{}})
	if err != nil {
		panic(err)
	}
	show(Ask(h, "my card?", script.Rule{Say: "It is 1234 5678 9012 3456."}))
	show(Ask(h, "what about yachts?"))
	// Output:
	// completed It is [card].
	// denied runtime: rejected by a hook: Guardrail: we do not talk about yachts
}
