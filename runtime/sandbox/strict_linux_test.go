package sandbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime/sandbox"
)

// TestAStrictSandboxGrantsNothingOfTheMachine: neither by a request that somebody approves, nor by a grant, nor because it is turned off.
func TestAStrictSandboxGrantsNothingOfTheMachine(t *testing.T) {
	t.Parallel()
	needs.Namespaces(t)
	open := func(t *testing.T, mode sandbox.Mode, strict bool) *place {
		t.Helper()
		p := newPlace(t)
		s, err := sandbox.New(sandbox.Options{
			Project: p.project, State: filepath.Join(filepath.Dir(p.project), "strict"), Mode: mode, Strict: strict, Environ: []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")},
		})
		require.NoError(t, err)
		require.NoError(t, p.s.Close())
		p.s = s
		return p
	}
	strict, other := open(t, "", true), open(t, "", false)
	for _, request := range []string{"outside", "unix-sockets", "read " + strict.outside, "write " + strict.outside} {
		_, err := strict.s.ParseRequest(request)
		require.ErrorContains(t, err, "several people share the user of this program", request)
	}
	_, err := other.s.Granted([]string{"outside", "unix-sockets", "read " + other.outside, "write " + other.outside})
	require.NoError(t, err)
	for _, request := range []string{"connect example.com", "project"} {
		_, err := strict.s.ParseRequest(request)
		require.NoError(t, err, request)
	}
	command := sandbox.Command{Path: "/bin/true", Args: []string{"true"}}
	for _, g := range []sandbox.Grant{{Outside: true}, {UnixSockets: true}, {Read: []string{strict.outside}}, {Write: []string{strict.outside}}} {
		_, err := strict.s.Start(command, g)
		require.ErrorContains(t, err, "several people share the user of this program", "%+v", g)
	}
	_, err = open(t, sandbox.Unrestricted, true).s.Start(command, sandbox.Grant{})
	require.ErrorContains(t, err, "several people share the user of this program")
	out, code, _ := strict.run(t, sandbox.Grant{}, "echo in && ls "+strict.outside)
	assert.Contains(t, out, "in\n")
	assert.NotZero(t, code)
}
