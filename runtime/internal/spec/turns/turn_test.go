package turns_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/rig"
)

func TestATurnWithOneCall(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "echo", `{"s":"hi"}`)), rig.Says("it ", "said hi")), rig.Box(rig.Named("echo")))
	out := w.Send("say hi")

	assert.Equal(t, "it said hi", out.Text())
	assert.Equal(t, hook.StopCompleted, out.Stop)
	assert.Equal(t, 2, out.Steps)
	assert.Equal(t, 1, out.Calls)
	assert.Equal(t, message.Usage{Input: 20, Output: 10}, out.Usage)
	assert.Equal(t, []string{
		"user say hi", `assistant [1 echo {"s":"hi"}]`, "tool 1 echo: echo:hi", "assistant it said hi",
	}, w.History())
	assert.Equal(t, []hook.EventKind{
		event.TurnStart,
		event.StepStart, event.Usage, event.CallsBegin, event.CallStart, event.CallResult, event.CallsComplete, event.StepEnd,
		event.StepStart, event.TextStart, event.TextDelta, event.TextDelta, event.TextEnd, event.Usage, event.StepEnd,
		event.TurnEnd,
	}, w.Kinds())
}
