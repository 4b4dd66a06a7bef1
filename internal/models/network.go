package models

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

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

// networkFix says where the user sets how the vendor is reached. The adapter has said already
// what may be wrong.
func (m *Models) networkFix(e *endpoint, err error) string {
	place := fmt.Sprintf("vendors.%s in %s", e.name, m.file())
	if errors.Is(err, provider.ErrTimeout) {
		return place + " has first_byte_timeout and idle_timeout"
	}
	fix := place + " has base_url, proxy and ca_file"
	if e.proxy != "" {
		fix = fmt.Sprintf("a proxy is set for %s: %s; %s", hostOf(e.settings.BaseURL), e.proxy, fix)
	}
	return fix
}
