package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/grapnel-go/grapnel/internal/access"
)

var servedAt = regexp.MustCompile(`on (https?://\S+)\n`)

// serving waits until a daemon has written to a file where it listens over TCP, and puts the URL into the environment: serving FILE VARIABLE
func serving(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: serving FILE VARIABLE")
	}
	for range patience / poll {
		text, _ := os.ReadFile(ts.MkAbs(args[0]))
		if at := servedAt.FindSubmatch(text); at != nil {
			ts.Setenv(args[1], string(at[1]))
			return
		}
		<-time.After(poll)
	}
	ts.Fatalf("%s has no URL after %v", args[0], patience)
}

// certificate makes the key and the certificate of a server, which is its own authority: certificate CERT KEY NAME…
func certificate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: certificate CERT KEY NAME…")
	}
	ts.Check(writeCertificate(ts.MkAbs(args[0]), ts.MkAbs(args[1]), args[2:]...))
}

func writeCertificate(cert, key string, names ...string) error {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "grapnel test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA: true, BasicConstraintsValid: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return err
	}
	bytes, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	if err := os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		return err
	}
	return os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bytes}), 0o600)
}

// tokenFor makes a token for the project in the working directory, in a file: token FILE SCOPES [expired]
func tokenFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: token FILE SCOPES [expired]")
	}
	scopes, err := access.Parse(args[1])
	ts.Check(err)
	t := access.Token{Name: args[0], Scopes: scopes, Projects: []string{project(ts)}}
	if len(args) > 2 {
		t.Expires = time.Now().Add(-time.Minute)
	}
	text, err := access.OpenTokens(filepath.Join(ts.Getenv("GRAPNEL_HOME"), "tokens.json")).Create(t)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), fmt.Appendln(nil, strings.TrimSpace(text)), 0o600))
}
