package costs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/costs"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func TestGroup(t *testing.T) {
	t.Parallel()
	rows := []store.Spent{
		{SpentKey: store.SpentKey{Day: "2026-11-25", Agent: "a", Model: "cheap"}, Calls: 1, Cost: 10},
		{SpentKey: store.SpentKey{Day: "2026-11-24", Agent: "b", Model: "dear", Token: "phone"}, Calls: 1, Cost: 50},
		{SpentKey: store.SpentKey{Day: "2026-11-25", Agent: "b", Project: "p"}, Calls: 3, Unpriced: 3},
	}
	names := func(by string) (out []string) {
		groups, total, unpriced := costs.Group(rows, by)
		assert.EqualValues(t, 5, total.Calls)
		assert.EqualValues(t, 60, total.Cost)
		assert.Equal(t, []string{""}, unpriced)
		for _, g := range groups {
			out = append(out, g.Name)
		}
		return out
	}
	assert.Equal(t, []string{"dear", "cheap", "(none)"}, names("model"), "the dearest first")
	assert.Equal(t, []string{"b", "a"}, names("agent"))
	assert.Equal(t, []string{"2026-11-24", "2026-11-25"}, names("day"), "in their order")
	assert.Equal(t, []string{"(none)", "p"}, names("project"))
	assert.Equal(t, []string{"phone", "(local user)"}, names("token"))
}

func TestFirstDay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for since, want := range map[string]string{"": "", "1d": "2026-03-01", "2d": "2026-02-28", "2026-01-31": "2026-01-31"} {
		got, err := costs.FirstDay("since", since, now)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, since := range []string{"d", "0d", "-1d", "36501d", "2026-02-30", "yesterday"} {
		_, err := costs.FirstDay("--since", since, now)
		require.ErrorContains(t, err, "--since", since)
	}
}
