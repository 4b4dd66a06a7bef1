package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/app"
)

// TestKeysAreOutsideOfTheProject: a command of an agent that could write the authority of the nodes would be every user of every node.
func TestKeysAreOutsideOfTheProject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	project, keys := filepath.Join(dir, "project"), filepath.Join(dir, "keys")
	require.NoError(t, os.MkdirAll(filepath.Join(project, "sub"), 0o700))
	require.NoError(t, os.Mkdir(keys, 0o700))
	for name, to := range map[string]string{
		filepath.Join(keys, "there.pem"):    filepath.Join(project, "ca.pem"),   // a link into the project
		filepath.Join(project, "back"):      keys,                               // a link that commands can turn
		filepath.Join(dir, "through"):       filepath.Join(project, "back"),     // a way through it
		filepath.Join(dir, "other-project"): project,                            // another name of it
		filepath.Join(dir, "harmless"):      keys,                               // a link of the user's
		filepath.Join(keys, "hidden.pem"):   "../through/../through/really.pem", // ends outside
	} {
		require.NoError(t, os.Symlink(to, name))
	}
	for path, fine := range map[string]bool{
		"": true, filepath.Join(keys, "ca.pem"): true, filepath.Join(dir, "harmless", "ca.pem"): true, filepath.Join(dir, "projects", "ca.pem"): true,
		filepath.Join(project, "ca.pem"): false, filepath.Join(project, "sub", "ca.pem"): false, filepath.Join(keys, "there.pem"): false,
		filepath.Join(dir, "through", "ca.pem"): false, filepath.Join(dir, "other-project", "ca.pem"): false, filepath.Join(keys, "hidden.pem"): false,
		filepath.Join(project, "sub", "..", "..", "keys", "ca.pem"): true, // Abs has removed the way there
	} {
		err := outside(project, keyFile{"--node-cert", ""}, keyFile{"--node-ca", path})
		if fine {
			assert.NoError(t, err, path)
			continue
		}
		assert.ErrorContains(t, err, "--node-ca: "+path+" is in the project", path)
		for flag, between := range map[string]Between{
			"--node-cert": {Cert: path, Key: keys, CA: keys}, "--node-key": {Cert: keys, Key: path, CA: keys}, "--node-ca": {Cert: keys, Key: keys, CA: path},
		} {
			between.Listen = "127.0.0.1:0"
			_, err := listenToNodes(t.Context(), Options{Between: between, App: app.Options{Paths: app.Paths{Root: project, Database: "postgres:///x"}}})
			assert.ErrorContains(t, err, flag+": "+path+" is in the project")
		}
		assert.ErrorContains(t, outside(filepath.Join(dir, "other-project"), keyFile{"--node-ca", path}), "is in the project", path)
	}
}
