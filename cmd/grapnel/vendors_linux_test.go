package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// vendorServers are strict servers in the place of the vendors' own. Programs reach them under
// the vendors' addresses, through a proxy that leads every host here.
type vendorServers struct {
	// env are the variables for the programs.
	env []string
	// byHost are the servers of the vendors, and by vendor those of this machine.
	byHost map[string]*strictwire.Handler
}

// serveVendors starts the servers. Each says "Hello." to everything.
func serveVendors(t *testing.T) *vendorServers {
	t.Helper()
	hello := func(w strictwire.Wire) *strictwire.Handler {
		return strictwire.New(w, script.New(script.Rule{Say: "Hello."}), nil)
	}
	s := &vendorServers{byHost: map[string]*strictwire.Handler{
		"api.anthropic.com":                 hello(strictwire.Messages()),
		"api.openai.com":                    hello(strictwire.Responses()),
		"generativelanguage.googleapis.com": hello(strictwire.Gemini()),
		"openrouter.ai":                     hello(strictwire.Chat()),
		"example.openai.azure.com":          hello(strictwire.Responses()),
	}}
	certificate, authority := certificateFor(t, s.byHost)
	vendors := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := s.byHost[r.Host]; assert.NotNil(t, h, "nobody is to be asked at %s", r.Host) {
			h.ServeHTTP(w, r)
		}
	}))
	vendors.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	vendors.StartTLS()
	t.Cleanup(vendors.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if assert.Equal(t, http.MethodConnect, r.Method) {
			tunnel(w, vendors.Listener.Addr().String())
		}
	}))
	t.Cleanup(proxy.Close)
	s.env = []string{"HTTPS_PROXY=" + proxy.URL, "NO_PROXY=", "SSL_CERT_FILE=" + authority}
	for _, name := range []string{"ollama", "llamacpp", "lmstudio", "vllm"} {
		h := hello(strictwire.Chat())
		local := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.Empty(t, r.Header.Get("Authorization"), "the keys of others stay with them")
			r.Header.Set("Authorization", "Bearer none") // such a server wants none
			h.ServeHTTP(w, r)
		}))
		t.Cleanup(local.Close)
		s.byHost[name] = h
		s.env = append(s.env, strings.ToUpper(name)+"_BASE_URL="+local.URL+"/v1")
	}
	return s
}

// tunnel joins a client with the server at an address, until one of them leaves.
func tunnel(w http.ResponseWriter, address string) {
	server, err := net.Dial("tcp", address)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
	_ = client.Close()
	<-ended
}

// certificateFor returns a certificate for the hosts, and the file of its authority.
func certificateFor(t *testing.T, hosts map[string]*strictwire.Handler) (of tls.Certificate, authority string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "vendors"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	for host := range hosts {
		template.DNSNames = append(template.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	authority = filepath.Join(t.TempDir(), "authority.pem")
	require.NoError(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, authority
}
