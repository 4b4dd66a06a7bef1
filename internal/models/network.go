package models

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/conffile"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// client returns the client of a vendor, and the proxy that its requests may go through. The
// client is nil where the default one does, which follows HTTPS_PROXY and NO_PROXY.
func (m *Models) client(e *endpoint) (client *http.Client, proxy string, err error) {
	s := &e.settings
	if s.CAFile == "" && s.Proxy == "" {
		return nil, m.proxyOf(s.BaseURL), nil
	}
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, "", errors.New("ca_file and proxy need the standard transport")
	}
	transport := base.Clone()
	if s.CAFile != "" {
		roots, err := m.roots(e)
		if err != nil {
			return nil, "", err
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	switch s.Proxy {
	case "":
		proxy = m.proxyOf(s.BaseURL)
	case Direct:
		transport.Proxy = nil
	default:
		u, err := url.Parse(s.Proxy)
		if err != nil || u.Host == "" {
			return nil, "", fmt.Errorf("vendors.%s.proxy in %s is no URL; write http://host:port, or %s", e.name, m.file(), Direct)
		}
		transport.Proxy, proxy = http.ProxyURL(u), u.Host
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the key goes to no other server
	return &http.Client{Transport: transport, CheckRedirect: stay}, proxy, nil
}

// roots returns the certificates of the system and those of the vendor's file.
func (m *Models) roots(e *endpoint) (*x509.CertPool, error) {
	place := fmt.Sprintf("vendors.%s.ca_file in %s", e.name, m.file())
	data, err := conffile.Read(e.settings.CAFile, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the certificates of the system: %w", err)
	}
	if !roots.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s: %s has no certificate in PEM form (-----BEGIN CERTIFICATE-----)", place, e.settings.CAFile)
	}
	return roots, nil
}

// proxyOf returns the host of the proxy that the environment names for an address; "" is none.
// It does not know the exceptions of NO_PROXY.
func (m *Models) proxyOf(address string) string {
	name := "HTTP_PROXY"
	if strings.HasPrefix(address, "https:") {
		name = "HTTPS_PROXY"
	}
	for _, name := range []string{name, strings.ToLower(name)} {
		text := m.o.Getenv(name)
		if !strings.Contains(text, "://") {
			text = "http://" + text
		}
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			return u.Host
		}
	}
	return ""
}

// explained adds to an error what to set. After an error about the key it lets the key be read
// again. begun: the answer had begun, so the network is as it should be.
func (m *Models) explained(e *endpoint, err error, begun bool) error {
	fix := ""
	switch class, _ := provider.Classify(err); {
	case class == message.FailureAuth && !e.key.None():
		m.refused(e)
		fix = "the key is that from " + e.key.String()
	case begun:
	case class == message.FailureNetwork, class == message.FailureTimeout:
		fix = m.networkFix(e, err)
	}
	if fix == "" {
		return err
	}
	return &fixedError{err, fix}
}

// fixedError is an error with what to do.
type fixedError struct {
	err error
	fix string
}

func (e *fixedError) Error() string { return e.err.Error() + "; " + e.fix }

func (e *fixedError) Unwrap() error { return e.err }

// networkFix says what to set after an error of the network; "" if nothing helps but time.
func (m *Models) networkFix(e *endpoint, err error) string {
	set := func(key string) string { return fmt.Sprintf("vendors.%s.%s in %s", e.name, key, m.file()) }
	var (
		op    *net.OpError
		name  *net.DNSError
		ca    x509.UnknownAuthorityError
		other x509.HostnameError
	)
	server := hostOf(e.settings.BaseURL)
	switch {
	case errors.Is(err, provider.ErrTimeout):
		return "allow more time with " + set("first_byte_timeout")
	case errors.As(err, &ca):
		return fmt.Sprintf("the certificate of %s is signed by an authority that this machine does not know: name the file with the authority's certificate in %s", server, set("ca_file"))
	case errors.As(err, &other):
		return fmt.Sprintf("the certificate is for another host than %s: see whether %s is right", server, set("base_url"))
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return fmt.Sprintf("the proxy %s cannot be reached: mend HTTPS_PROXY or %s (%s goes without one)", e.proxy, set("proxy"), Direct)
	case e.proxy != "":
		return fmt.Sprintf("requests to %s go through the proxy %s: see whether it lets them pass, name %s in NO_PROXY, or set %s", server, e.proxy, server, set("proxy"))
	case errors.As(err, &name):
		return fmt.Sprintf("the host of %s is not known here: see whether this machine is online, set HTTPS_PROXY if it needs a proxy, or %s", server, set("base_url"))
	case errors.Is(err, syscall.ECONNREFUSED) && e.vendor.port > 0:
		return fmt.Sprintf("start %s, or set %s_BASE_URL or %s", e.vendor.title, e.vendor.env, set("base_url"))
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fmt.Sprintf("nothing answers at %s: see whether %s is right, or set HTTPS_PROXY if this network needs a proxy", server, set("base_url"))
	}
	return ""
}
