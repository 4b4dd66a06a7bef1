package pgdb_test

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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
)

// authority makes a certificate that signs itself, for the address 127.0.0.1.
func authority(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

// With sslmode=verify-full a server is asked for its certificate, and one of another authority, or
// for another name, is refused. That is so for loopback addresses too, though they do not need it.
func TestTheCertificateOfTheServerIsVerified(t *testing.T) {
	c := pgtest.Start(t, &pgtest.Options{TCP: true})
	certificate, key := authority(t)
	other, _ := authority(t)
	dir := t.TempDir()
	for name, data := range map[string][]byte{"right.pem": certificate, "wrong.pem": other} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	c.WriteFile(t, "server.crt", certificate)
	c.WriteFile(t, "server.key", key)
	exec(t, c.DSN(""), `ALTER SYSTEM SET ssl_cert_file = '`+filepath.Join(c.Dir(), "server.crt")+`'`)
	exec(t, c.DSN(""), `ALTER SYSTEM SET ssl_key_file = '`+filepath.Join(c.Dir(), "server.key")+`'`)
	exec(t, c.DSN(""), `ALTER SYSTEM SET ssl = on`)
	c.Restart(t, "fast")
	t.Setenv("PGPASSWORD", c.Password())
	_, port, err := net.SplitHostPort(c.Address())
	require.NoError(t, err)
	dsn := func(host, root string) string {
		return "postgres://postgres@" + host + ":" + port + "/postgres?sslmode=verify-full&sslrootcert=" + filepath.Join(dir, root)
	}
	open(t, dsn("127.0.0.1", "right.pem"), nil)
	_, err = pgdb.Open(t.Context(), dsn("127.0.0.1", "wrong.pem"), &pgdb.Options{Patience: time.Millisecond})
	require.ErrorContains(t, err, "certificate")
	_, err = pgdb.Open(t.Context(), dsn("localhost", "right.pem"), &pgdb.Options{Patience: time.Millisecond})
	assert.ErrorContains(t, err, "certificate", "it has no such name")
}
