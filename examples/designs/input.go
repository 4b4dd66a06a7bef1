package designs

import (
	"context"
	"regexp"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// InputGuardrail is the guardrail of design 000 at pre_turn: what must not be asked never reaches the
// model or the history. A message to the running turn passes it, too.
//
//	000                                   here
//	pre_turn                              BeforeTurn
//	HookDecision::Reject{reason}          hook.RejectTurn
//	HookDecision::Replace{output}         hook.RespondTurn, an answer in the model's place
//
// The subsystem guardrail of this program has more kinds of checks, and those of replies.
//
//hook:subsystem
type InputGuardrail struct {
	hook.Nop
	// Refuse are what an input may not match. Answers are said in the model's place to inputs that match.
	Refuse  []*regexp.Regexp
	Answers map[*regexp.Regexp]string
}

// BeforeTurn is 000's pre_turn.
func (g *InputGuardrail) BeforeTurn(_ context.Context, _ *hook.Turn, in message.Input) (hook.TurnDecision, error) {
	text := in.Text()
	for _, p := range g.Refuse {
		if p.MatchString(text) {
			return hook.RejectTurn("this is not talked about here"), nil
		}
	}
	for p, answer := range g.Answers {
		if p.MatchString(text) {
			return hook.RespondTurn(answer), nil
		}
	}
	return hook.TurnDecision{}, nil
}
