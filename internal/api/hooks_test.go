package api_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
)

// A client sees the hook runs that are as visible as it asks for, and everything
// else as ever. Without a word it sees those that are for users.
func TestHookRunsAreShownToWhoAsksForThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &worldOptions{record: true})
	conv := w.conversation("ann")
	w.turn(conv.ID, `call echo {"s":"x"}`)
	runs := func(level hook.Visibility) (points []string, others int) {
		c := client.New(w.socket(), &client.Options{Hooks: level})
		for item, err := range c.Events(t.Context(), conv.ID, conv.LastEventID) {
			require.NoError(t, err)
			if run, ok := item.Event.Run(); ok {
				points = append(points, run.Subsystem+" "+run.Point.String())
			} else {
				others++
			}
			if item.Event.Kind == event.TurnEnd {
				return points, others
			}
		}
		return nil, 0
	}
	all, n := runs(event.VisibleInternal)
	assert.True(t, slices.Contains(all, "Box Dispatch") && slices.Contains(all, "Ask BeforeTool"), "%v", all)
	for _, level := range []hook.Visibility{"", event.VisibleUser, event.VisibleAudit, event.VisibleDebug} {
		got, others := runs(level)
		assert.Equal(t, []string{"Ask BeforeTool"}, got, "at %q", level)
		assert.Equal(t, n, others)
	}
	c := client.New(w.socket(), &client.Options{Hooks: "everybody"})
	for _, id := range []string{conv.ID, ""} {
		for _, err := range c.Events(t.Context(), id, "") {
			assert.Equal(t, wire.CodeInvalid, client.CodeOf(err))
			assert.ErrorContains(t, err, "hooks: visibility is user, audit, debug or internal")
		}
	}
}
