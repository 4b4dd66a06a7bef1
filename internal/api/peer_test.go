package api

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/peer"
)

// TestPeer: the process at the other end of a socket is known where the system
// tells, and another user is refused.
func TestPeer(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "grapnel-")
	require.NoError(t, err)
	defer func() { require.NoError(t, os.RemoveAll(dir)) }()
	ln, err := net.Listen("unix", filepath.Join(dir, "x"))
	require.NoError(t, err)
	defer ln.Close()
	client, err := net.Dial("unix", ln.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	conn, err := ln.Accept()
	require.NoError(t, err)
	defer conn.Close()
	if uid, known := peer.User(conn); known {
		assert.Equal(t, os.Geteuid(), uid)
		assert.True(t, peer.Allowed(uid))
		assert.False(t, peer.Allowed(-1))
		assert.False(t, peer.Allowed(os.Geteuid()+1))
	}
	for _, allowed := range []bool{true, false} {
		req := httptest.NewRequestWithContext(context.WithValue(identify(t.Context(), conn), peerKey{}, otherEnd{allowed}), http.MethodGet, "http://grapnel/", nil)
		assert.Equal(t, allowed, check(req, nil) == nil)
	}
}
