package skills_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/node"
)

// The bundled skills pass a validator that nobody here wrote.
func TestBundledSkillsPassSkillsRef(t *testing.T) {
	t.Parallel()
	program := node.Require(t, "skills-ref")
	found, err := filepath.Glob(filepath.Join("bundled", "*", "SKILL.md"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(found), 2)
	for _, file := range found {
		out, err := exec.CommandContext(t.Context(), program, "validate", filepath.Dir(file)).CombinedOutput()
		assert.NoError(t, err, "%s: %s", file, out)
	}

	// It does tell right from wrong.
	wrong := filepath.Join(t.TempDir(), "wrong")
	require.NoError(t, os.Mkdir(wrong, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(wrong, "SKILL.md"), []byte("---\nname: Other Name\n---\nText.\n"), 0o600))
	out, err := exec.CommandContext(t.Context(), program, "validate", wrong).CombinedOutput()
	assert.Error(t, err, "%s", out)
}
