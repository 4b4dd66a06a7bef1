package conversation_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook/message"
)

var seedsFlag = flag.Uint64("conversation.seeds", 0, "conversations of TestDrawnConversations; 0 is 200, with -short 20")

func seeds() uint64 {
	switch {
	case *seedsFlag > 0:
		return *seedsFlag
	case testing.Short():
		return 20
	}
	return 200
}

// draw returns any turn; fallback: there is a model besides the turn's.
func draw(r *rand.Rand, n int, wire string, fallback bool) turn {
	kinds := 15
	if fallback {
		kinds = 17
	}
	switch k := r.IntN(kinds); k {
	case 10:
		return refusedTurn(n, wire)
	case 11:
		return cutTurn(n, wire)
	case 12, 13:
		return stoppedTurn(n, k == 13)
	case 14:
		return steeredTurn(n)
	case 15, 16:
		return failover(n, k == 16)
	default:
		return steady(k, n, wire)
	}
}

// TestDrawnConversations plays turns in any order, each with any model, with compactions and
// with fallbacks to any model.
func TestDrawnConversations(t *testing.T) {
	t.Parallel()
	for seed := range seeds() {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 12))
			any := func() (string, string) {
				w := wires[r.IntN(len(wires))]
				return w.name, w.models[r.IntN(2)].Name
			}
			_, first := any()
			_, other := any()
			s := newStage(t, first, nil, other)
			stays, wire, model := r.IntN(4), "", ""
			for n := 1; n <= 14 && len(s.problems) == 0; n++ {
				if n == 1 || r.IntN(4) >= stays {
					wire, model = any()
				}
				if n > 4 && r.IntN(6) == 0 {
					s.compact(t, model)
				}
				s.play(t, n, draw(r, n, wire, first != model || other != model), message.Model{Name: model, Reasoning: reasoning(r, model, first, other)})
			}
			s.close(t)
			for _, problem := range s.verdict(s.servers) {
				assert.Fail(t, problem)
			}
		})
	}
}

// reasoning returns any that the models have: those of chat completions have none.
func reasoning(r *rand.Rand, models ...string) message.Reasoning {
	if r.IntN(2) == 0 || slices.ContainsFunc(models, func(m string) bool { return m == wires[0].models[0].Name || m == wires[0].models[1].Name }) {
		return message.Reasoning{}
	}
	return message.Reasoning{Effort: []message.Effort{message.EffortLow, message.EffortHigh}[r.IntN(2)]}
}
