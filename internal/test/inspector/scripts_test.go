package inspector_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/node"
)

// TestScripts runs the tests of single modules of the page, web/*_test.mjs, which need no browser.
func TestScripts(t *testing.T) {
	program, _ := node.Pinned(t)
	scripts, err := filepath.Glob(filepath.Join(module, "web", "*_test.mjs"))
	require.NoError(t, err)
	for _, script := range scripts {
		out, err := exec.CommandContext(t.Context(), program, "--no-warnings", script).CombinedOutput()
		assert.NoError(t, err, "%s: %s", filepath.Base(script), out)
	}
}
