package target_test

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/target"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "grapnel_aaaaaaaaaa_bbbbbbbbbbbbbbbbbbbbbbbbbb"

func written(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), mode))
	require.NoError(t, os.Chmod(path, mode))
	return path
}

func env(token string) func(string) string {
	return func(name string) string {
		if name == target.TokenVariable {
			return token
		}
		return ""
	}
}

func TestWhatIsWrongIsSaidBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	good := written(t, "token", secret+"\n", 0o600)
	for name, tt := range map[string]struct {
		d     target.Daemon
		token string
		says  string
	}{
		"two daemons":             {target.Daemon{Server: "https://a", Socket: "s"}, secret, "name two daemons; leave one out"},
		"a token without server":  {target.Daemon{TokenFile: good}, "", "name it with --server"},
		"an authority without":    {target.Daemon{CA: good}, "", "name it with --server"},
		"no scheme":               {target.Daemon{Server: "build:7777"}, secret, "write a URL such as https://"},
		"another scheme":          {target.Daemon{Server: "ftp://build"}, secret, "write a URL such as https://"},
		"no URL":                  {target.Daemon{Server: "https://[::1"}, secret, "write a URL such as https://"},
		"a password":              {target.Daemon{Server: "https://me:pw@build"}, secret, "has a user or a password; leave it out"},
		"a broken password":       {target.Daemon{Server: "https://me:pw@[::1"}, secret, "--server is no URL"},
		"a path":                  {target.Daemon{Server: "https://build:1/v1"}, secret, "such as https://build:1"},
		"not encrypted":           {target.Daemon{Server: "http://build.example:7777"}, secret, "others could read the token on its way; nothing was sent; use https"},
		"an address of a network": {target.Daemon{Server: "http://192.0.2.1:7777"}, secret, "nothing was sent; use https"},
		"the second of two":       {target.Daemon{Server: "https://a, http://build.example:7777"}, secret, "--server http://build.example:7777 is not encrypted"},
		"an empty one":            {target.Daemon{Server: "https://a,"}, secret, "write a URL such as https://"},
		"an authority for http":   {target.Daemon{Server: "http://127.0.0.1:1", CA: good}, secret, "--ca is for https"},
		"no token":                {target.Daemon{Server: "https://build"}, "", "put it into a file that only you can read, and name the file with --token-file, or set GRAPNEL_TOKEN"},
		"no file":                 {target.Daemon{Server: "https://build", TokenFile: "nowhere"}, "", "--token-file: nowhere: does not exist"},
		"an open file":            {target.Daemon{Server: "https://build", TokenFile: written(t, "token", secret, 0o640)}, "", "others can read or write it (mode 0640), and it has a secret"},
		"an empty file":           {target.Daemon{Server: "https://build", TokenFile: written(t, "token", "\n", 0o600)}, secret, "is empty; put the token"},
		"two lines":               {target.Daemon{Server: "https://build", TokenFile: written(t, "token", secret+"\n"+secret, 0o600)}, "", "is no token"},
		"a header":                {target.Daemon{Server: "https://build"}, secret + "\r\nHost: x", "what GRAPNEL_TOKEN has is no token"},
		"no authority":            {target.Daemon{Server: "https://build", CA: "nowhere"}, secret, "--ca: nowhere: does not exist"},
		"no certificate":          {target.Daemon{Server: "https://build", CA: good}, secret, "has no certificate in PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.d.Client(env(tt.token), client.Options{})
			require.ErrorContains(t, err, tt.says)
			assert.NotContains(t, err.Error(), secret)
			assert.NotContains(t, err.Error(), "pw")
		})
	}
	for _, ok := range []target.Daemon{{}, {Socket: "s"}, {Server: "https://build.example"}, {Server: "http://127.0.0.1:7777/"}, {Server: "http://[::1]:7777"}, {Server: "http://localhost:1"}} {
		assert.NoError(t, ok.Check())
		assert.Equal(t, ok.Server != "", ok.Remote())
	}
}

// TestTokenAndAuthority: the token is in each request, and only the named authority is believed.
func TestTokenAndAuthority(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "Bearer "+secret, r.Header.Get("Authorization"))
		assert.NoError(t, json.NewEncoder(w).Encode(wire.Health{Root: "/there"}))
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	ca := written(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})), 0o644)
	file := written(t, "token", secret+"\n", 0o600)

	for _, d := range []target.Daemon{{Server: srv.URL, CA: ca}, {Server: srv.URL + "/", CA: ca, TokenFile: file}} {
		c, err := d.Client(env(secret), client.Options{})
		require.NoError(t, err)
		health, err := c.Health(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "/there", health.Root)
	}

	c, err := target.Daemon{Server: srv.URL}.Client(env(secret), client.Options{})
	require.NoError(t, err)
	_, err = c.Health(t.Context())
	var unknown *tls.CertificateVerificationError
	require.ErrorAs(t, err, &unknown)
	assert.ErrorContains(t, err, "its certificate is not trusted")
	assert.ErrorContains(t, err, "--ca")

	srv.Close()
	_, err = c.Health(t.Context())
	require.ErrorIs(t, err, client.ErrNotRunning)
	assert.True(t, strings.HasSuffix(err.Error(), "; start one with `grapnel serve --listen HOST:PORT`"), err)
}
