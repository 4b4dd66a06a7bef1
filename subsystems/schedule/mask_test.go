package schedule_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/subsystems/schedule"
)

// TestASecretIsNotScheduled: a prompt is refused, and why a run failed is masked.
func TestASecretIsNotScheduled(t *testing.T) {
	t.Parallel()
	s, err := schedule.Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), &schedule.Options{
		Mask: func(text string) string { return strings.ReplaceAll(text, "hush", "[secret]") },
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.OnClose(context.Background())) })
	_, err = s.Add(t.Context(), schedule.Entry{Name: "a", Agent: "a", Prompt: "say hush", Cron: "@daily"})
	require.ErrorContains(t, err, "the prompt has a secret")
	_, err = s.Add(t.Context(), schedule.Entry{Name: "a", Agent: "a", Prompt: "say it", Cron: "@daily"})
	require.NoError(t, err)
	_ = s.RunNow(t.Context(), "a", func(context.Context, schedule.Task) (hook.StopReason, error) {
		return hook.StopError, errors.New("it was hush")
	})
	runs, err := s.Runs(t.Context(), "a")
	require.NoError(t, err)
	require.Len(t, runs, 1)
	assert.Equal(t, "it was [secret]", runs[0].Note)
}
