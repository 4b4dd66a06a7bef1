package conversation_test

import (
	"slices"
	"strings"
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

// play plays a conversation on a stage and returns what is wrong with it.
func (p plan) play(t *testing.T, s *stage, turns int, script func(n int, wire string) turn) []string {
	t.Helper()
	defer s.close(t)
	for n := 1; n <= turns && len(s.problems) < 20; n++ {
		wire, of := p.at(n)
		model := wires[wire].models[of]
		if n == 10 && turns == 12 {
			s.compact(t, model.Name)
		}
		s.play(t, n, script(n, wires[wire].name), model)
	}
	return s.verdict(s.servers)
}

// stage opens a stage for the plan.
func (p plan) stage(t *testing.T, bad wrap) *stage {
	t.Helper()
	wire, model := p.at(1)
	return newStage(t, wires[wire].models[model].Name, bad)
}

func report(t *testing.T, problems []string) {
	t.Helper()
	for _, problem := range problems {
		assert.Fail(t, problem)
	}
}

// asked counts the requests over all wires.
func asked(s *stage) (n int) {
	for _, all := range s.sents {
		n += len(all)
	}
	return n
}

// TestOneConversation plays twelve turns with tools, reasoning, media, a compaction, a refusal
// and failures.
func TestOneConversation(t *testing.T) {
	t.Parallel()
	for _, p := range plans() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s := p.stage(t, nil)
			report(t, p.play(t, s, 12, twelve))
			assert.GreaterOrEqual(t, asked(s), 20)
		})
	}
}

// TestOneConversationOfTheProgram is the same with the models of the program over real
// connections, which are really cut.
func TestOneConversationOfTheProgram(t *testing.T) {
	t.Parallel()
	for _, p := range plans() {
		if !strings.HasPrefix(p.name, "every turn") {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s := p.stage(t, nil)
			s.program(t)
			report(t, p.play(t, s, 12, twelve))
		})
	}
}

// TestTheFirstPartOfRequestsStays: each request of twenty turns begins with the whole one
// before, and so most of it comes from a cache.
func TestTheFirstPartOfRequestsStays(t *testing.T) {
	t.Parallel()
	for i, w := range wires {
		for m, model := range w.models {
			t.Run(model.Name, func(t *testing.T) {
				t.Parallel()
				p := switches(model.Name, i, m, i, m)
				s := p.stage(t, nil)
				report(t, p.play(t, s, 20, func(n int, wire string) turn { return steady(n, n, wire) }))
				assert.GreaterOrEqual(t, asked(s), 36)
				for n, r := range s.servers[w.name].Requests()[1:] {
					assert.True(t, r.Prefix.Stable(), "request %d: %+v", n+1, r.Prefix)
				}
				if w.name == "messages" { // its server has a cache
					assert.Greater(t, float64(s.usage.CacheRead)/float64(s.usage.Input), 0.8, "%+v", s.usage)
				}
			})
		}
	}
}

// TestAConversationThatIsReadAgain: after a restart requests continue the ones before it, byte
// for byte, also by what was signed before.
func TestAConversationThatIsReadAgain(t *testing.T) {
	t.Parallel()
	for _, w := range wires {
		for _, model := range w.models {
			t.Run(model.Name, func(t *testing.T) {
				t.Parallel()
				s := newStage(t, model.Name, nil)
				for n := 1; n <= 10; n++ {
					if n%2 == 1 { // read the file again
						s.close(t)
						s.store = s.reopened(t)
						s.open(t, model.Name)
					}
					s.play(t, n, steady(n-1, n, w.name), model)
				}
				s.close(t)
				report(t, s.verdict(s.servers))
				for n, r := range s.servers[w.name].Requests()[1:] {
					assert.True(t, r.Prefix.Stable(), "request %d: %+v", n+1, r.Prefix)
				}
			})
		}
	}
}

// failover is a turn whose model fails for good while tools run, or at once. Another vendor's
// model then answers one step.
func failover(n int, atOnce bool) turn {
	down := []reply{}
	for range tries {
		down = append(down, fails(message.FailureOverloaded, func(*builder) {}))
	}
	first := says(n, func(b *builder) { b.think(0).text(0).call(0, "").call(1, "fail") })
	second := says(n, func(b *builder) { b.think(1).call(2, "show") })
	t := turn{says: word("a", n, 1), runs: []string{word("c", n, 0), word("c", n, 1), word("c", n, 2)}, input: user(n)}
	if t.replies = append(t.replies, first); !atOnce {
		t.replies = append(append(t.replies, down...), second)
	} else {
		t.replies = append(append(slices.Clone(down), first), second)
	}
	t.replies = append(t.replies, says(n, func(b *builder) { b.think(2).text(1) }))
	return t
}

// TestFallbackWithinATurn: a model takes up the turn of another vendor's, and that one goes on.
func TestFallbackWithinATurn(t *testing.T) {
	t.Parallel()
	for i, from := range wires {
		for k, to := range wires {
			for m := range 2 {
				if i == k {
					continue
				}
				t.Run(from.models[m].Name+" to "+to.models[m].Name, func(t *testing.T) {
					t.Parallel()
					model := message.Model{Name: from.models[m].Name}
					if from.name != "chat" && to.name != "chat" { // its models do not reason
						model.Reasoning.Effort = message.EffortMedium
					}
					s := newStage(t, model.Name, nil, to.models[m].Name)
					for n := 1; n <= 3; n++ {
						s.play(t, n, failover(n, n == 2), model)
					}
					s.close(t)
					report(t, s.verdict(s.servers))
					assert.Len(t, s.sents[from.name], 3*(tries+2))
					assert.Len(t, s.sents[to.name], 3)
				})
			}
		}
	}
}
