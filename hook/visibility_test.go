package hook_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
)

func TestWhatReachesWhom(t *testing.T) {
	levels := []hook.Visibility{event.VisibleInternal, event.VisibleDebug, event.VisibleAudit, event.VisibleUser}
	for i, v := range levels {
		for j, level := range levels {
			assert.Equal(t, i >= j, v.Reaches(level), "%s for who wants %s", v, level)
		}
		got, err := event.ParseVisibility(string(v))
		require.NoError(t, err)
		assert.Equal(t, v, got)
	}
	for _, unsaid := range []hook.Visibility{"", "everybody"} {
		assert.True(t, unsaid.Reaches(event.VisibleInternal))
		assert.False(t, unsaid.Reaches(event.VisibleDebug), "what nobody has let out stays in")
	}
	for _, name := range []string{"", "User", "everybody"} {
		_, err := event.ParseVisibility(name)
		assert.ErrorContains(t, err, "visibility is user, audit, debug or internal")
	}
}
