package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/grapnel-go/grapnel/hook/message"
)

// unreachable returns why no response came, with the host and what the operator can set,
// without the address that net/http adds.
func (s *Server) unreachable(err error) error {
	if ue := (*url.Error)(nil); errors.As(err, &ue) {
		err = ue.Err
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("the connection was closed before an answer began: %w", err)
	}
	advice := s.advice(err)
	if advice != "" {
		advice = "; " + advice
	}
	return faulty(message.FailureNetwork, fmt.Errorf("%s: %s: %w%s", s.c.Vendor, s.host, s.veil.hide(err), advice))
}

// advice says what to set for an error of the network; "" if no setting helps.
func (s *Server) advice(err error) string {
	var of *net.OpError
	var name *net.DNSError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &of) && of.Op == "proxyconnect":
		return "the proxy of HTTPS_PROXY or HTTP_PROXY cannot be reached; correct it, or name the host in NO_PROXY"
	case strings.Contains(err.Error(), "Proxy Authentication Required"):
		return "write the proxy's user and password into HTTPS_PROXY: http://user:password@host:port"
	case untrusted(err):
		return "if a proxy or an authority of your own signs for this host, add its certificate: ca_file of the vendor in config.yaml, or SSL_CERT_FILE"
	case errors.As(err, &record):
		return "the server does not speak TLS; a base URL with http:// may be meant (" + s.setting("BASE_URL", "BaseURL") + ")"
	case errors.As(err, &name):
		return "check the host in the base URL (" + s.setting("BASE_URL", "BaseURL") + "); behind a proxy set HTTPS_PROXY"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there: start the server, or correct the base URL (" + s.setting("BASE_URL", "BaseURL") + ")"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.ETIMEDOUT):
		return "check the base URL (" + s.setting("BASE_URL", "BaseURL") + "); behind a proxy set HTTPS_PROXY"
	}
	return ""
}

// untrusted reports whether the certificate of the server was refused.
func untrusted(err error) bool {
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	var verify *tls.CertificateVerificationError
	return errors.As(err, &authority) || errors.As(err, &invalid) || errors.As(err, &host) || errors.As(err, &verify)
}
