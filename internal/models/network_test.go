package models_test

import (
	"encoding/pem"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/models"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// with returns models with these settings of OpenAI.
func with(t *testing.T, s models.Settings, vars map[string]string) *models.Models {
	t.Helper()
	all := map[string]string{"OPENAI_API_KEY": canary}
	for name, value := range vars {
		all[name] = value
	}
	return newModels(t, models.Options{Vendors: map[string]models.Settings{"openai": s}, Getenv: env(all)})
}

// TestAnAuthorityOfTheUser: a server with a certificate of it is refused without ca_file, the
// error names that, and it is trusted with it.
func TestAnAuthorityOfTheUser(t *testing.T) {
	t.Parallel()
	s := newServer(t, true)
	s.Config.ErrorLog = nil
	_, err := ask(t, with(t, models.Settings{BaseURL: s.URL}, nil), "openai:small")
	require.ErrorContains(t, err, "ca_file of the vendor in config.yaml")
	require.ErrorContains(t, err, "; vendors.openai in ~/.grapnel/config.yaml has base_url, proxy and ca_file")

	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	text, err := ask(t, with(t, models.Settings{BaseURL: s.URL, CAFile: ca}, nil), "openai:small")
	require.NoError(t, err)
	assert.Equal(t, "Hello", text)

	require.NoError(t, os.WriteFile(ca, []byte("no certificate"), 0o600))
	err = with(t, models.Settings{BaseURL: s.URL, CAFile: ca}, nil).Check("openai:small")
	assert.EqualError(t, err, "model openai:small: vendors.openai.ca_file in ~/.grapnel/config.yaml: "+ca+" has no certificate in PEM form (-----BEGIN CERTIFICATE-----)")
	err = with(t, models.Settings{BaseURL: s.URL, CAFile: ca + "x"}, nil).Check("openai:small")
	assert.ErrorContains(t, err, "ca.pemx: does not exist")
}

// closed returns the address of a port where nothing listens.
func closed(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

func TestAProxyOfTheUser(t *testing.T) {
	t.Parallel()
	s := newServer(t, false)
	// For http a proxy is a server that gets whole URLs: this one answers for every host.
	text, err := ask(t, with(t, models.Settings{BaseURL: "http://model.invalid/v1", Proxy: s.URL}, nil), "openai:small")
	require.NoError(t, err)
	assert.Equal(t, "Hello", text)

	gone := closed(t)
	_, err = ask(t, with(t, models.Settings{BaseURL: "https://model.invalid/v1", Proxy: "http://me:hunter22@" + gone}, nil), "openai:small")
	require.ErrorContains(t, err, "a proxy is set for model.invalid: "+gone+"; vendors.openai in ~/.grapnel/config.yaml has base_url, proxy and ca_file")
	assert.NotContains(t, err.Error(), "hunter22")

	err = with(t, models.Settings{BaseURL: "https://model.invalid/v1", Proxy: "proxy"}, nil).Check("openai:small")
	assert.EqualError(t, err, "model openai:small: vendors.openai.proxy in ~/.grapnel/config.yaml is no URL; write http://host:port, or none")

	_, err = ask(t, with(t, models.Settings{BaseURL: s.URL, Proxy: models.Direct}, map[string]string{"HTTP_PROXY": "http://" + gone}), "openai:small")
	require.NoError(t, err)
}

// TestErrorsOfTheNetworkSayWhatToSet and keep their class, so that they are retried as before.
func TestErrorsOfTheNetworkSayWhatToSet(t *testing.T) {
	t.Parallel()
	gone := closed(t)
	for name, c := range map[string]struct {
		id   string
		vars map[string]string
		want string
	}{
		"nothing there":   {"openai:x", map[string]string{"OPENAI_BASE_URL": "http://" + gone}, "; vendors.openai in ~/.grapnel/config.yaml has base_url, proxy and ca_file"},
		"no local server": {"ollama:x", map[string]string{"OLLAMA_BASE_URL": "http://" + gone}, "; vendors.ollama in ~/.grapnel/config.yaml has base_url, proxy and ca_file"},
		"unknown host":    {"openai:x", map[string]string{"OPENAI_BASE_URL": "http://model.invalid"}, "model.invalid"},
		"behind a proxy": {"openai:x", map[string]string{"OPENAI_BASE_URL": "http://" + gone, "http_proxy": "http://user:hunter22@proxy.invalid:3128"},
			"; a proxy is set for " + gone + ": proxy.invalid:3128; vendors.openai in"},
	} {
		c.vars["OPENAI_API_KEY"] = canary
		_, err := ask(t, newModels(t, models.Options{Getenv: env(c.vars)}), c.id)
		require.ErrorContains(t, err, c.want, name)
		class, _ := provider.Classify(err)
		assert.Equal(t, message.FailureNetwork, class, name)
		assert.NotContains(t, err.Error(), canary)
		assert.NotContains(t, err.Error(), "hunter22")
	}
}

// TestASilentServer: the error says where more time is given.
func TestASilentServer(t *testing.T) {
	t.Parallel()
	s := newServer(t, false)
	s.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	_, err := ask(t, with(t, models.Settings{BaseURL: s.URL, FirstByteTimeout: 1}, nil), "openai:small")
	require.ErrorIs(t, err, provider.ErrTimeout)
	assert.ErrorContains(t, err, "; vendors.openai in ~/.grapnel/config.yaml has first_byte_timeout and idle_timeout")
}

// TestARedirectIsNotFollowed, by no client: the key goes to no other server.
func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	other := newServer(t, false)
	s := newServer(t, false)
	s.Config.Handler = http.RedirectHandler(other.URL, http.StatusTemporaryRedirect)
	for _, settings := range []models.Settings{{BaseURL: s.URL}, {BaseURL: s.URL, Proxy: models.Direct}} {
		_, err := ask(t, with(t, settings, nil), "openai:small")
		require.ErrorContains(t, err, "the server redirects")
	}
	assert.Empty(t, other.bodies)
}
