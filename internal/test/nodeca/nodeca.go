// Package nodeca makes the authority and the certificates of nodes for tests.
package nodeca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates of nodes.
type Authority struct {
	// File has its certificate in PEM.
	File string

	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes an authority in a directory of the test.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{File: filepath.Join(t.TempDir(), "ca.pem")}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nodes of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	var der []byte
	a.key, der = sign(t, a.cert, a.cert, nil)
	write(t, a.File, "CERTIFICATE", der)
	return a
}

// Issue writes a certificate of a node on this machine and its key, and returns their files.
func (a *Authority) Issue(t testing.TB) (cert, key string) {
	t.Helper()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "node.pem"), filepath.Join(dir, "node.key")
	a.Renew(t, cert, key)
	return cert, key
}

// Renew replaces the files of a certificate.
func (a *Authority) Renew(t testing.TB, cert, key string) {
	t.Helper()
	private, der := sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "node"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, a.cert, a.key)
	write(t, cert, "CERTIFICATE", der)
	text, err := x509.MarshalPKCS8PrivateKey(private)
	check(t, err)
	write(t, key, "PRIVATE KEY", text)
}

// sign makes a key and a certificate for it; without a key of the signer it is signed by itself.
func sign(t testing.TB, template, by *x509.Certificate, with *ecdsa.PrivateKey) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	if with == nil {
		with = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by, &key.PublicKey, with)
	check(t, err)
	return key, der
}

func write(t testing.TB, path, kind string, der []byte) {
	t.Helper()
	check(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
