package schedule_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/subsystems/schedule"
)

func TestSchedulesGoWithTheirSenderOrProject(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	open := func(project string) *schedule.Schedule {
		s, err := schedule.Open(t.Context(), path, &schedule.Options{Project: project})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, s.OnClose(t.Context())) })
		return s
	}
	p, q := open("/p"), open("/q")
	for _, s := range []*schedule.Schedule{p, q} {
		for _, sender := range []string{"ann", "bob"} {
			_, err := s.Add(t.Context(), schedule.Entry{Name: sender, Agent: "a", Sender: sender, Prompt: "qzcanary " + sender, Cron: "0 9 * * *"})
			require.NoError(t, err)
		}
	}
	for _, dry := range []bool{true, false} {
		deleted, _, err := p.Erase(t.Context(), schedule.Subject{Sender: "ann"}, dry)
		require.NoError(t, err)
		assert.EqualValues(t, 2, deleted, "those of all projects")
	}
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		require.NoError(t, err)
		assert.NotContains(t, string(data), "qzcanary ann")
	}
	deleted, _, err := p.Erase(t.Context(), schedule.Subject{Project: "/q", AllOfProject: true}, false)
	require.NoError(t, err)
	assert.EqualValues(t, 1, deleted)
	left, err := p.List(t.Context())
	require.NoError(t, err)
	require.Len(t, left, 1)
	assert.Equal(t, "bob", left[0].Name)
	left, err = q.List(t.Context())
	require.NoError(t, err)
	assert.Empty(t, left)
}
