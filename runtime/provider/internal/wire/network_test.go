package wire_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

func TestErrorsOfTheNetworkSayWhatToSet(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"nothing there": {&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, "start the server, or correct the base URL (ACME_BASE_URL or Options.BaseURL)"},
		"no such host":  {&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "model.test"}}, "check the host in the base URL"},
		"the proxy":     {&net.OpError{Op: "proxyconnect", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, "NO_PROXY"},
		"a certificate": {&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "SSL_CERT_FILE"},
		"no TLS":        {tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, "http:// may be meant"},
		"no way":        {os.NewSyscallError("connect", syscall.ENETUNREACH), "behind a proxy set HTTPS_PROXY"},
		"the password":  {errors.New("Proxy Authentication Required"), "user and password into HTTPS_PROXY"},
		"anything":      {errors.New("boom " + canary), "acme: model.test: boom [hidden]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serverOf(t, func(*http.Request) (*http.Response, error) { return nil, tc.err }, nil)
			_, err := s.Open(t.Context(), s.URL("chat"), nil)
			require.ErrorContains(t, err, tc.want)
			assert.ErrorContains(t, err, "acme: model.test: ")
			class, _ := provider.Classify(err)
			assert.Equal(t, message.FailureNetwork, class)
		})
	}
}

// A certificate that nobody here trusts, over a real connection.
func TestAnUnknownAuthority(t *testing.T) {
	t.Parallel()
	there := httptest.NewUnstartedServer(http.NotFoundHandler())
	there.Config.ErrorLog = log.New(io.Discard, "", 0) // it tells of the refusal
	there.StartTLS()
	defer there.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	s := serverOf(t, nil, func(c *wire.Config) { c.BaseURL, c.Network.Client = there.URL, &http.Client{Transport: tr} })
	_, err := s.Open(t.Context(), s.URL(), nil)
	assert.ErrorContains(t, err, "ca_file of the vendor in config.yaml")
}

// A proxy that is not there is named, not the server behind it.
func TestAProxyThatIsNotThere(t *testing.T) {
	t.Parallel()
	tr := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "127.0.0.1:1", User: url.UserPassword("me", canary)})}
	s := serverOf(t, nil, func(c *wire.Config) { c.BaseURL, c.Network.Client = "https://model.test", &http.Client{Transport: tr} })
	_, err := s.Open(t.Context(), s.URL(), nil)
	require.ErrorContains(t, err, "the proxy of HTTPS_PROXY or HTTP_PROXY cannot be reached")
	assert.NotContains(t, err.Error(), canary)
}
