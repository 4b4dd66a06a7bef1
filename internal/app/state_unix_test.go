//go:build unix

package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// TestTheStateIsForTheUserAlone: whoever else could write there could answer approvals.
// All cases of directories are in internal/privatedir.
func TestTheStateIsForTheUserAlone(t *testing.T) {
	t.Parallel()
	root, base := t.TempDir(), t.TempDir()
	find := func(state, home string) (app.Paths, error) {
		return app.FindPaths(root, env(map[string]string{"GRAPNEL_HOME": state, "HOME": home}))
	}
	state := filepath.Join(base, "state")
	require.NoError(t, os.Mkdir(state, 0o700))
	require.NoError(t, os.Chmod(state, 0o775))
	p, err := find(state, base)
	require.NoError(t, err)
	assert.Equal(t, state+" was open to others (mode 0775); it is closed now (0700), and everything in it is yours", p.Note)
	p, err = find(state, base)
	require.NoError(t, err)
	assert.Empty(t, p.Note)

	_, err = find(base, base)
	assert.EqualError(t, err, "the state directory "+base+" contains your home directory; set GRAPNEL_HOME to a directory of its own")

	open := filepath.Join(base, "open")
	require.NoError(t, os.Mkdir(open, 0o700))
	require.NoError(t, os.Chmod(open, 0o777))
	_, err = find(filepath.Join(open, "state"), base)
	assert.ErrorContains(t, err, "the state directory cannot be trusted: others can replace "+filepath.Join(open, "state"))
	assert.ErrorContains(t, err, "or set GRAPNEL_HOME to another one")
}

// TestAnswersOfOthersAreNone: an approval, or what was trusted, counts only in a file that
// nobody but the user can write.
func TestAnswersOfOthersAreNone(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{".mcp.json": `{"mcpServers": {"a": {"command": "a"}}}`})
	trust := filepath.Join(p.State, "trusted-servers.json")
	require.NoError(t, os.WriteFile(trust, []byte("{}"), 0o600))
	require.NoError(t, os.Chmod(trust, 0o606))
	_, err := app.Open(t.Context(), app.Options{Paths: p})
	assert.ErrorContains(t, err, trust+": belongs to another user, or others can write it (mode 0606)")

	if os.Geteuid() != 0 {
		needs.Lacking(t, "this is not root, so no file can be given to another user")
	}
	file := filepath.Join(p.Approvals(), "bash-0123.json")
	require.NoError(t, os.MkdirAll(p.Approvals(), 0o700))
	require.NoError(t, os.WriteFile(file, []byte(`{"answer": "approve"}`), 0o600))
	require.NoError(t, os.Chown(file, 65534, 65534))
	list, err := approval.List(approval.Dir(p.Approvals()))
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Contains(t, list[0].Problem, "belongs to another user")
}
