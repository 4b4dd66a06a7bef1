package conversation_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook/message"
)

// wires has for each wire the models that are asked over it.
var wires = []struct {
	name   string
	models [2]message.Model
}{
	{"chat", [2]message.Model{{Name: "openai:gpt-4.1"}, {Name: "openai:gpt-4o"}}},
	{"responses", [2]message.Model{{Name: "openai:gpt-5.6", Reasoning: message.Reasoning{Effort: message.EffortMedium}}, {Name: "openai:gpt-6.2-sol"}}},
	{"messages", [2]message.Model{
		{Name: "anthropic:claude-opus-5-5"}, {Name: "anthropic:claude-sonnet-4-5", Reasoning: message.Reasoning{Effort: message.EffortMedium}},
	}},
	{"gemini", [2]message.Model{{Name: "gemini:gemini-3.8-flash"}, {Name: "gemini:gemini-2.5-pro", Reasoning: message.Reasoning{Budget: 1000}}}},
}

// plan says which model of which wire answers each turn; turns count from 1.
type plan struct {
	name string
	at   func(turn int) (wire, model int)
}

// switches returns a plan that asks one model up to turn 6 and then another one.
func switches(name string, wire, model, wire2, model2 int) plan {
	return plan{name, func(turn int) (int, int) {
		if turn <= 6 {
			return wire, model
		}
		return wire2, model2
	}}
}

func plans() (out []plan) {
	for i := range wires {
		for m := range 2 {
			out = append(out, switches(wires[i].models[m].Name, i, m, i, m),
				switches(wires[i].models[m].Name+" to the other", i, m, i, 1-m))
		}
		for k := range wires {
			if i == k {
				continue
			}
			for m := range 2 {
				out = append(out, switches(wires[i].models[m].Name+" to "+wires[k].models[m].Name, i, m, k, m))
			}
		}
		out = append(out,
			plan{"every turn from " + wires[i].name, func(turn int) (int, int) { return (turn + i) % len(wires), 0 }},
			plan{"every turn back from " + wires[i].name, func(turn int) (int, int) { return (i + 3*turn) % len(wires), turn / 4 % 2 }})
	}
	return out
}

// play plays a conversation and returns what is wrong with it.
func (p plan) play(t *testing.T, turns int, script func(n int, wire string) turn, bad wrap) (*stage, []string) {
	t.Helper()
	first, _ := p.at(1)
	s := newStage(t, wires[first].models[0].Name, bad)
	defer s.close(t)
	for n := 1; n <= turns; n++ {
		wire, of := p.at(n)
		model := wires[wire].models[of]
		if n == 10 && turns == 12 {
			s.compact(t, model.Name)
		}
		next := script(n, wires[wire].name)
		s.play(t, n, next, model)
		slices.Sort(s.ran)
		if !slices.Equal(s.ran, next.runs) {
			s.problem(fmt.Sprintf("the tool has run for %v, not for %v", s.ran, next.runs))
		}
		if len(s.problems) > 20 {
			break
		}
	}
	return s, s.verdict(s.servers)
}

// TestOneConversation plays twelve turns with tools, reasoning, media, a compaction, a refusal
// and failures.
func TestOneConversation(t *testing.T) {
	t.Parallel()
	for _, p := range plans() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s, problems := p.play(t, 12, twelve, nil)
			for _, problem := range problems {
				assert.Fail(t, problem)
			}
			requests := 0
			for _, all := range s.sents {
				requests += len(all)
			}
			assert.GreaterOrEqual(t, requests, 20)
		})
	}
}
