package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/internal/conffile"
)

// NodeKeys are the certificate of this node, with its key, and the authority that signs those of all nodes. They are read
// again when their files change, for the connections that begin after that. It is safe for concurrent use.
type NodeKeys struct {
	cert *Certificate
	ca   string
	note func(text string)

	mu     sync.Mutex
	pool   *x509.CertPool
	read   fs.FileInfo
	looked time.Time
}

// LoadNodeKeys reads files in PEM: a certificate for servers and clients, its key, and the certificates of the authority.
// note gets a sentence when later ones were read, and when they cannot be; then those before stay.
func LoadNodeKeys(cert, key, ca string, note func(text string)) (*NodeKeys, error) {
	if cert == "" || key == "" || ca == "" {
		return nil, errors.New("nodes on several machines need a certificate, its key and their authority; give --node-cert, --node-key and --node-ca")
	}
	k := &NodeKeys{ca: ca, note: note}
	var err error
	if k.cert, err = LoadCertificate(cert, key, note); err != nil {
		return nil, err
	}
	if k.pool, err = authority(ca); err != nil {
		return nil, err
	}
	k.read, _ = os.Stat(ca)
	k.looked = time.Now()
	return k, nil
}

func authority(path string) (*x509.CertPool, error) {
	text, err := conffile.Read(path, nil)
	if err != nil {
		return nil, fmt.Errorf("the authority of the nodes: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("the authority of the nodes: %s has no certificate in PEM", path)
	}
	return pool, nil
}

// roots returns the authority as its file has it.
func (k *NodeKeys) roots() *x509.CertPool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.looked) < lookAgain {
		return k.pool
	}
	k.looked = time.Now()
	info, err := os.Stat(k.ca)
	if err == nil && sameFile(info, k.read) {
		return k.pool
	}
	k.read = info
	pool, err := authority(k.ca)
	if err != nil {
		k.note(fmt.Sprintf("the authority of the nodes has changed and cannot be used, so the one before stays: %v", err))
		return k.pool
	}
	k.note("the authority of the nodes has changed")
	k.pool = pool
	return pool
}

// Listen listens for other nodes on an address such as 10.0.0.5:7780, within bounds as those for clients. The handshake is that of the
// first read: who serves the listener gives it a deadline.
func (k *NodeKeys) Listen(ctx context.Context, address string) (net.Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--node-listen %s: %w", address, err)
	}
	return tls.NewListener(bound(ln, nodeLimits()), k.server()), nil
}

// server returns the settings of a listener: TLS 1.3, and only for who shows a certificate of the authority.
func (k *NodeKeys) server() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{
			MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}, SessionTicketsDisabled: true,
			Certificates: []tls.Certificate{*k.cert.Current()}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: k.roots(),
		}, nil
	}}
}

// Client returns the settings of a connection to a host.
func (k *NodeKeys) Client(host string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}, ServerName: host,
		Certificates: []tls.Certificate{*k.cert.Current()}, RootCAs: k.roots(),
	}
}
