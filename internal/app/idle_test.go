package app_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/hook/tool"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/runtime"
)

// sections turn on what is off without a section. Whoever adds a subsystem with such a section
// adds it here, unless it has work in every turn, as critique and audit have.
const sections = `guard: {steps: 50, time: 1h, repeats: 3, conversation: {steps: 100000}}
fallback: {models: ["script:model.yaml"]}
compact: {share: 0.8}
memory: {recall: auto}
tasks: {}
sessions: {}
toolbox: {}
schedule: {}
guardrail: {input: [{match: never said}], output: [{match: never said}]}
`

// idleTurn returns a turn of the whole program with one call of a tool that costs nothing, in a
// project with nothing for the subsystems to do. Those that only keeps are on, the others off;
// nil keeps all. Now and then it begins another conversation, so that its length does not count.
func idleTurn(tb testing.TB, only func(field string) bool, extra ...hook.Hook) func() {
	tb.Helper()
	on := sections
	var set app.Settings
	for _, m := range new(app.Hooks).Compose().Plan().Members {
		if only != nil && m.Field != "Extra" && !only(m.Field) {
			require.NoError(tb, set.Set(m.Field+"=off"))
			on = ""
		}
	}
	p := project(tb, map[string]string{
		".grapnel/agents/idle.md": "---\nmodel: script:model.yaml\n" + on + "---\nDo nothing.\n",
		"model.yaml":              "rules:\n- when: {step: 1}\n  calls: [{tool: nothing, args: {}}]\n- when: {step: 2}\n  say: Done.\n",
	})
	nothing := tool.Set(tool.New("nothing", "Nothing does nothing.", func(context.Context, struct{}) (string, error) { return "ok", nil },
		&tool.Options{Annotations: message.Annotations{ReadOnly: true}}))
	a, err := app.Open(tb.Context(), app.Options{Paths: p, Set: set, Extra: append(extra, nothing)})
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, a.Close(context.Background())) })
	agent, err := a.Register(tb.Context(), "idle", hook.AgentConfig{})
	require.NoError(tb, err)
	var conv *runtime.Conversation
	ctx, turns, in := tb.Context(), 0, message.TextInput("go")
	return func() {
		if turns%20 == 0 {
			conv, err = agent.Conversation(ctx, fmt.Sprint("ann ", turns))
			require.NoError(tb, err)
		}
		turns++
		out, err := conv.Send(ctx, in, nil)
		if err != nil || out.Err != nil || out.Text() != "Done." || out.Calls != 1 {
			tb.Fatalf("the turn ended with %s, %q, %v, %v", out.Stop, out.Text(), out.Err, err)
		}
	}
}

// one is the program with one subsystem: the guard, which counts in every turn.
func one(field string) bool { return field == "Guard" }

// BenchmarkIdleTurn compares a turn with everything on and nothing to do with the same turn with one
// subsystem. Both play in turns. The budget of x-one is 1.5.
func BenchmarkIdleTurn(b *testing.B) {
	for _, c := range []struct {
		name string
		only func(string) bool
	}{{"one", one}, {"everything", nil}} {
		b.Run(c.name, func(b *testing.B) {
			turn := idleTurn(b, c.only)
			b.ReportAllocs()
			for b.Loop() {
				turn()
			}
		})
	}
	b.Run("ratio", func(b *testing.B) {
		alone, all := idleTurn(b, one), idleTurn(b, nil)
		var tookOne, tookAll time.Duration
		for b.Loop() {
			began := time.Now()
			alone()
			between := time.Now()
			all()
			tookOne, tookAll = tookOne+between.Sub(began), tookAll+time.Since(between)
		}
		b.ReportMetric(float64(tookAll)/float64(tookOne), "x-one")
	})
}

// Time depends on the machine; allocations do not. Their budget is that of the time.
func TestAnIdleTurnCostsLittleMoreThanOneSubsystem(t *testing.T) {
	alone, all := allocs.PerRun(50, idleTurn(t, one)), allocs.PerRun(50, idleTurn(t, nil))
	t.Logf("allocations of a turn with one call: %v with one subsystem, %v with all", alone, all)
	assert.LessOrEqual(t, all, 1.5*alone)

	if !allocs.Counted {
		return
	}
	var kept []*int
	waste := point.BeforeStepFunc(func(context.Context, *hook.Step) (hook.StepDecision, error) {
		kept = kept[:0]
		for n := range 300 {
			kept = append(kept, &n)
		}
		return hook.StepDecision{}, nil
	})
	assert.Greater(t, allocs.PerRun(50, idleTurn(t, nil, waste)), 1.5*alone, "a subsystem that is not idle is found")
}
