package storage_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

func TestAStoreThatFailsWhileATurnIsSettledLosesNothing(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	broken := false
	st := &faulty{Store: mem.New(&mem.Options{Journal: true}), fail: func(store.Append) error {
		if broken {
			return full
		}
		return nil
	}}
	breaks := rig.Does("x", func(context.Context) message.ToolResult {
		broken = true
		return message.TextResult("done all the same")
	})
	w := rig.StartWith(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("fine")), hook.AgentConfig{Name: "a"}, &runtime.Options{Store: st}, rig.Box(breaks))
	_, err := w.Try(t.Context(), "one")
	require.ErrorIs(t, err, full)
	assert.Equal(t, []string{"user one"}, w.History())

	_, err = w.Try(t.Context(), "two")
	require.ErrorIs(t, err, full)
	assert.ErrorContains(t, err, "end the turn that was interrupted")
	assert.Equal(t, []string{"user one"}, w.History(), "the second message is refused, and nothing of the first is lost")

	broken = false
	w.Send("three")
	h := w.History()
	require.Len(t, h, 5)
	assert.Equal(t, "assistant [1 x {}]", h[1])
	assert.Contains(t, h[2], "tool 1 x cancelled: interrupted: the turn broke off while the tool ran", "its result was never written down")
	assert.Equal(t, []string{"user three", "assistant fine"}, h[3:])
}
