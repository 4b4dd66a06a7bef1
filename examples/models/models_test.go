// Package models_test checks the programs of the vendors. What they do with a server is tried
// by the tests of cmd/grapnel, with the page that shows them.
package models_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLinksOneVendor: a program links the adapter of its vendor, and nothing of others.
func TestLinksOneVendor(t *testing.T) {
	t.Parallel()
	const adapters = "github.com/grapnel-go/grapnel/runtime/provider/"
	dirs, err := filepath.Glob("*/main.go")
	require.NoError(t, err)
	assert.Len(t, dirs, 9)
	for _, file := range dirs {
		vendor := filepath.Dir(file)
		own := "openai" // its wire is what the others speak
		if slices.Contains([]string{"anthropic", "gemini"}, vendor) {
			own = vendor
		}
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./"+vendor).Output()
		require.NoError(t, err)
		linked := strings.Fields(string(out))
		assert.Contains(t, linked, adapters+own)
		for _, path := range linked {
			for _, other := range []string{"anthropic", "gemini", "openai"} {
				assert.False(t, other != own && (path == adapters+other || strings.HasPrefix(path, adapters+other+"/")), "%s links %s", vendor, path)
			}
			sdk := strings.HasPrefix(path, "github.com/anthropics/") || strings.HasPrefix(path, "github.com/openai/") || strings.HasPrefix(path, "google.golang.org/genai")
			assert.False(t, sdk && vendor != "anthropic", "%s links %s", vendor, path)
		}
	}
}
