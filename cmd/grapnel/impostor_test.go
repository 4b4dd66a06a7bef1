//go:build unix

package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
)

// TestNothingIsSaidToAnImpostor: a server in a directory that others can read says that it
// is the daemon of this project. run does without it, and ask refuses.
func TestNothingIsSaidToAnImpostor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	dir := filepath.Join(s.dir, "grapnel")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chmod(dir, 0o755))
	ln, err := net.Listen("unix", filepath.Join(dir, "grapnel.sock"))
	require.NoError(t, err)
	asked := make(chan string, 100)
	root, err := filepath.EvalSymlinks(filepath.Join(s.dir, "project"))
	require.NoError(t, err)
	impostor := &httptest.Server{Listener: ln, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.URL.Path
		assert.NoError(t, json.NewEncoder(w).Encode(wire.Health{Status: wire.StatusOK, Root: root, State: s.getenv("GRAPNEL_HOME")}))
	})}}
	impostor.Start()
	defer impostor.Close()

	for _, args := range [][]string{{"run", "--dir", root}, {"ask"}} {
		file := filepath.Join(s.dir, args[0]+".out")
		out, err := os.Create(file)
		require.NoError(t, err)
		c := newCommand(os.Stdin, out, out, func(name string) string {
			if name == "XDG_RUNTIME_DIR" {
				return s.dir
			}
			return s.getenv(name)
		})
		cmd := c.root()
		cmd.SetArgs(append(args, "my secret plan"))
		err = cmd.ExecuteContext(t.Context())
		require.NoError(t, out.Close())
		require.Error(t, err) // run has no model of its own
		said, readErr := os.ReadFile(file)
		require.NoError(t, readErr)
		if args[0] == "run" {
			assert.Contains(t, string(said), "in this process: ask the daemon on "+ln.Addr().String()+": the socket cannot be trusted: "+dir+" is open to others")
		} else {
			require.ErrorIs(t, err, client.ErrUntrusted)
		}
		assert.Empty(t, asked)
	}
}
