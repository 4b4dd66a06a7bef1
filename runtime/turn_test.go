package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
)

func TestATurnWithOneCall(t *testing.T) {
	t.Parallel()
	w := start(t, plays(calls(want{"1", "echo", `{"s":"hi"}`}), says("it ", "said hi")), box(named("echo")))
	out := w.send("say hi")

	assert.Equal(t, "it said hi", out.Text())
	assert.Equal(t, hook.StopCompleted, out.Stop)
	assert.Equal(t, 2, out.Steps)
	assert.Equal(t, 1, out.Calls)
	assert.Equal(t, message.Usage{Input: 20, Output: 10}, out.Usage)
	assert.Equal(t, []string{
		"user say hi", `assistant [1 echo {"s":"hi"}]`, "tool 1 echo: echo:hi", "assistant it said hi",
	}, w.history())
	assert.Equal(t, []hook.EventKind{
		event.TurnStart,
		event.StepStart, event.Usage, event.CallsBegin, event.CallStart, event.CallResult, event.CallsComplete, event.StepEnd,
		event.StepStart, event.TextStart, event.TextDelta, event.TextDelta, event.TextEnd, event.Usage, event.StepEnd,
		event.TurnEnd,
	}, w.kinds())
}
