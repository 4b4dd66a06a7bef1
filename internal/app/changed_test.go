package app_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/app"
)

// TestReloadSaysWhatNeedsARestart names the settings that have changed, with no value of them, until they are as they were.
func TestReloadSaysWhatNeedsARestart(t *testing.T) {
	t.Parallel()
	p := project(t, nil)
	user, own := filepath.Join(p.Home, ".grapnel", "config.yaml"), filepath.Join(p.Root, ".grapnel", "config.yaml")
	write := func(file, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write(user, "spending: {day: 5}\n")
	a, err := app.Open(t.Context(), app.Options{Paths: p})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, a.Close(context.Background())) })
	settings := func() []app.Setting {
		t.Helper()
		done, err := a.Reload(t.Context())
		require.NoError(t, err)
		return done.Settings
	}
	assert.Empty(t, settings())

	write(user, "spending: {day: 5, total: 7}\nvendors: {openai: {headers: {x-key: canary}}}\n")
	write(own, "spending: {day: 1}\n")
	write(filepath.Join(p.Root, ".mcp.json"), "{}")
	write(filepath.Join(p.Home, ".grapnel", "prices.json"), "{}")
	want := []app.Setting{
		{File: ".grapnel/config.yaml", Name: "spending.day"}, {File: ".mcp.json"},
		{File: "~/.grapnel/config.yaml", Name: "spending.total"}, {File: "~/.grapnel/config.yaml", Name: "vendors.openai"}, {File: "~/.grapnel/prices.json"},
	}
	assert.Equal(t, want, settings())
	assert.Equal(t, want, settings(), "nothing of it has taken effect")

	write(user, "spending: [1]\n")
	got := settings()
	require.Len(t, got, 4)
	assert.Equal(t, "~/.grapnel/config.yaml", got[2].File)
	assert.Contains(t, got[2].Problem, "spending is no mapping")

	write(user, "spending: {day: 5}\n")
	for _, file := range []string{own, filepath.Join(p.Root, ".mcp.json"), filepath.Join(p.Home, ".grapnel", "prices.json")} {
		require.NoError(t, os.Remove(file))
	}
	assert.Empty(t, settings())
}
