package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
)

func TestATurnWithOneCall(t *testing.T) {
	t.Parallel()
	w := start(t, plays(calls(want{"1", "echo", `{"s":"hi"}`}), says("it ", "said hi")), box(named("echo")))
	out := w.send("say hi")

	assert.Equal(t, "it said hi", out.Text())
	assert.Equal(t, hook.StopCompleted, out.Stop)
	assert.Equal(t, 2, out.Steps)
	assert.Equal(t, 1, out.Calls)
	assert.Equal(t, hook.Usage{Input: 20, Output: 10}, out.Usage)
	assert.Equal(t, []string{
		"user say hi", `assistant [1 echo {"s":"hi"}]`, "tool 1 echo: echo:hi", "assistant it said hi",
	}, w.history())
	assert.Equal(t, []hook.EventKind{
		hook.EventTurnStart,
		hook.EventStepStart, hook.EventUsage, hook.EventCallsBegin, hook.EventCallStart, hook.EventCallResult, hook.EventCallsComplete, hook.EventStepEnd,
		hook.EventStepStart, hook.EventTextStart, hook.EventTextDelta, hook.EventTextDelta, hook.EventTextEnd, hook.EventUsage, hook.EventStepEnd,
		hook.EventTurnEnd,
	}, w.kinds())
}
