package access_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/access"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTokens: another process's changes count at once, and the file has no token.
func TestTokens(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.json")
	daemon, command := access.OpenTokens(path), access.OpenTokens(path)
	_, err := daemon.Caller("grapnel_a_b")
	require.ErrorContains(t, err, "is not one of this daemon's")

	text, err := command.Create(access.Token{Name: "phone", Scopes: []access.Scope{access.Read}, Projects: []string{"/mine"}, Expires: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	assert.Regexp(t, `^grapnel_[a-z2-7]{10}_[a-z2-7]{26}$`, text)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.NotContains(t, string(data), text[strings.LastIndex(text, "_")+1:])
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	c, err := daemon.Caller(text)
	require.NoError(t, err)
	assert.Equal(t, "phone", c.Name)
	assert.True(t, c.May(access.Read) && c.Sees("/mine"))
	assert.False(t, c.May(access.Converse) || c.Sees("/other") || c.Everywhere())

	_, err = command.Create(access.Token{Name: "phone", Scopes: access.All()})
	require.ErrorContains(t, err, "there is a token phone; choose another name")
	revoked, err := command.Revoke("phone")
	require.NoError(t, err)
	_, err = daemon.Caller(text)
	require.ErrorContains(t, err, "the token phone was revoked on ")
	_, err = command.Create(access.Token{Name: "phone", Scopes: access.All()})
	require.NoError(t, err, "the name is free again")
	all, err := daemon.List()
	require.NoError(t, err)
	assert.Len(t, all, 2)
	_, err = command.Revoke(revoked.ID)
	require.NoError(t, err)
	_, err = command.Revoke("nobody")
	require.ErrorContains(t, err, "`grapnel token list` has the names")

	old, err := command.Create(access.Token{Name: "old", Scopes: access.All(), Expires: time.Now().Add(-time.Second)})
	require.NoError(t, err)
	_, err = daemon.Caller(old)
	require.ErrorContains(t, err, "has expired on ")

	for name, token := range map[string]access.Token{"use 1 to 64 letters": {Name: "a b", Scopes: access.All()}, "can do nothing": {Name: "x"}} {
		_, err = command.Create(token)
		require.ErrorContains(t, err, name)
	}
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, err = daemon.Caller(text)
	require.ErrorContains(t, err, "the tokens cannot be read")
}

// TestManyAtOnce: tokens are made, checked and revoked at the same time.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	tokens := access.OpenTokens(filepath.Join(t.TempDir(), "tokens.json"))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			name := string(rune('a' + i))
			text, err := tokens.Create(access.Token{Name: name, Scopes: access.All()})
			assert.NoError(t, err)
			_, err = tokens.Caller(text)
			assert.NoError(t, err)
			_, err = tokens.Revoke(name)
			assert.NoError(t, err)
			_, err = tokens.Caller(text)
			assert.Error(t, err)
		})
	}
	all.Wait()
}

func TestScopes(t *testing.T) {
	t.Parallel()
	got, err := access.Parse("read, approve,read")
	require.NoError(t, err)
	assert.Equal(t, []access.Scope{access.Read, access.Approve}, got)
	assert.Equal(t, "read,approve", access.Join(got))
	for _, wrong := range []string{"", "all", "read,", "READ", "public"} {
		_, err := access.Parse(wrong)
		assert.Error(t, err, wrong)
	}
}

// certificate writes a certificate that signs itself and returns its files.
func certificate(t *testing.T, dir, name string, until time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		require.NoError(t, os.WriteFile(path+".new", pem.EncodeToMemory(block), 0o600))
		require.NoError(t, os.Rename(path+".new", path))
	}
	return cert, key
}

// TestCertificate: a new certificate is used without a restart; one that cannot be used is told of, and the one before stays.
func TestCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := certificate(t, dir, "build.example", time.Now().Add(time.Hour))
	notes := make(chan string, 10)
	c, err := access.LoadCertificate(cert, key, func(text string) { notes <- text })
	require.NoError(t, err)
	ln, door, err := access.Listen(t.Context(), "127.0.0.1:0", c, []string{"front.example"}, access.NewGate(access.OpenTokens(filepath.Join(dir, "tokens.json")), "", func(string) {}))
	require.NoError(t, err)
	srv := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ReadHeaderTimeout: time.Second}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	t.Cleanup(func() {
		assert.NoError(t, srv.Close())
		assert.ErrorIs(t, <-done, http.ErrServerClosed)
	})
	port := strings.TrimPrefix(door.URL, "https://build.example:")
	name := func() string {
		conn, err := tls.Dial("tcp", "127.0.0.1:"+port, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the test looks at the certificate itself
		require.NoError(t, err)
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].DNSNames[0]
	}
	assert.Equal(t, "build.example", name())
	for host, own := range map[string]bool{
		"build.example:" + port: true, "front.example": true, "localhost:" + port: true, "127.0.0.1:" + port: true,
		"build.example": false, "front.example:" + port: false, "other.example:" + port: false, "": false,
	} {
		assert.Equal(t, own, door.Names(host), host)
	}
	certificate(t, dir, "new.example", time.Now().Add(time.Hour))
	require.Eventually(t, func() bool { return name() == "new.example" }, time.Minute, 100*time.Millisecond)
	assert.Contains(t, <-notes, "the certificate has changed; the new one ends on ")
	require.NoError(t, os.WriteFile(key, []byte("no key"), 0o600))
	require.Eventually(t, func() bool { name(); return len(notes) > 0 }, time.Minute, 100*time.Millisecond)
	assert.Contains(t, <-notes, "cannot be used, so the one before stays")
	assert.Equal(t, "new.example", name())

	_, err = access.LoadCertificate(cert, key, nil)
	require.ErrorContains(t, err, "the certificate "+cert+" with the key "+key)
	cert, key = certificate(t, dir, "old.example", time.Now().Add(-time.Hour))
	_, err = access.LoadCertificate(cert, key, nil)
	require.ErrorContains(t, err, "has ended on ")

	t.Log("a client that never begins the handshake is let go of")
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = conn.Read(make([]byte, 1))
	assert.Error(t, err)
	assert.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}

// TestAnOpenAddressNeedsACertificate, however the address is written.
func TestAnOpenAddressNeedsACertificate(t *testing.T) {
	t.Parallel()
	gate := access.NewGate(access.OpenTokens(filepath.Join(t.TempDir(), "tokens.json")), "", func(string) {})
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		_, _, err := access.Listen(t.Context(), address, nil, nil, gate)
		assert.ErrorContains(t, err, "give a certificate with --tls-cert and --tls-key", address)
	}
	for _, address := range []string{"nowhere", "127.0.0.1:99999", "256.0.0.1:1"} {
		_, _, err := access.Listen(t.Context(), address, nil, nil, gate)
		assert.ErrorContains(t, err, "--listen "+address, address)
	}
	ln, door, err := access.Listen(t.Context(), "localhost:0", nil, nil, gate)
	require.NoError(t, err)
	defer ln.Close()
	assert.Regexp(t, `^http://(127\.0\.0\.1|\[::1\]):[0-9]+$`, door.URL)
}

// TestCookies: with TLS the cookie is one that no other host and no page without TLS can set.
func TestCookies(t *testing.T) {
	t.Parallel()
	gate := access.NewGate(access.OpenTokens(filepath.Join(t.TempDir(), "tokens.json")), "/mine", func(string) {})
	for secure, name := range map[bool]string{true: "__Host-grapnel-7777", false: "grapnel-7777"} {
		door := access.Door{Gate: gate, Secure: secure, Names: func(string) bool { return true }, URL: "http://build.example:7777"}
		code, until, err := gate.Link(access.Local())
		require.NoError(t, err)
		assert.WithinDuration(t, time.Now().Add(access.LinkTime), until, time.Minute)
		cookie, err := door.Enter(code)
		require.NoError(t, err)
		require.NoError(t, cookie.Valid())
		assert.Equal(t, name, cookie.Name)
		assert.True(t, cookie.HttpOnly && cookie.Secure == secure && cookie.SameSite == http.SameSiteStrictMode && cookie.Path == "/" && cookie.Domain == "")
		r := httptest.NewRequest(http.MethodGet, "http://x/", nil)
		r.AddCookie(cookie)
		c, err := door.Caller(r)
		require.NoError(t, err)
		assert.Equal(t, access.All(), c.Scopes)
		assert.Negative(t, door.Leave(r).MaxAge)
		_, err = door.Caller(r)
		assert.ErrorContains(t, err, "the session of this page has ended")
	}
	for range 256 {
		_, _, _ = gate.Link(access.Local())
	}
	_, _, err := gate.Link(access.Local())
	assert.ErrorContains(t, err, "too many pages and links")
}

// TestNoTokenTakesAllPages: one has 16 links and 16 pages at a time, and all together leave some for the user of the socket.
func TestNoTokenTakesAllPages(t *testing.T) {
	t.Parallel()
	gate := access.NewGate(access.OpenTokens(filepath.Join(t.TempDir(), "tokens.json")), "/mine", func(string) {})
	door := access.Door{Gate: gate}
	open := func(token string) error {
		code, _, err := gate.Link(access.Caller{Token: token})
		if err == nil {
			_, err = door.Enter(code)
		}
		return err
	}
	for i := range 12 {
		token := fmt.Sprint("token", i)
		for range 16 {
			require.NoError(t, open(token))
		}
		require.ErrorContains(t, open(token), "the token has 16 pages or links, which is the limit")
	}
	for range 16 {
		_, _, err := gate.Link(access.Caller{Token: "another"})
		require.NoError(t, err)
	}
	_, _, err := gate.Link(access.Caller{Token: "another"})
	require.ErrorContains(t, err, "the token has 16 pages or links")
	require.ErrorContains(t, open("the last one"), "too many pages and links")
	for range 64 {
		require.NoError(t, open(""))
	}
	require.ErrorContains(t, open(""), "too many pages and links")
}

// TestASessionEndsWithItsToken: who has entered by the link of a token may not stay longer than that.
func TestASessionEndsWithItsToken(t *testing.T) {
	t.Parallel()
	tokens := access.OpenTokens(filepath.Join(t.TempDir(), "tokens.json"))
	gate := access.NewGate(tokens, "/mine", func(string) {})
	door := access.Door{Gate: gate}
	text, err := tokens.Create(access.Token{Name: "admin", Scopes: access.All()})
	require.NoError(t, err)
	c, err := tokens.Caller(text)
	require.NoError(t, err)
	c.Scopes = []access.Scope{access.Read}
	code, _, err := gate.Link(c)
	require.NoError(t, err)
	cookie, err := door.Enter(code)
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodGet, "http://x/", nil)
	r.AddCookie(cookie)
	got, err := door.Caller(r)
	require.NoError(t, err)
	assert.Equal(t, []access.Scope{access.Read}, got.Scopes, "the link has less than the token")
	_, err = tokens.Revoke("admin")
	require.NoError(t, err)
	_, err = door.Caller(r)
	assert.ErrorContains(t, err, "was revoked")
	assert.False(t, gate.Valid(got))
}

// TestAStreamEndsWithItsPage: who leaves a page reads no further.
func TestAStreamEndsWithItsPage(t *testing.T) {
	t.Parallel()
	gate := access.NewGate(access.OpenTokens(filepath.Join(t.TempDir(), "tokens.json")), "", func(string) {})
	door := access.Door{Gate: gate}
	code, _, err := gate.Link(access.Local())
	require.NoError(t, err)
	cookie, err := door.Enter(code)
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodGet, "http://x/", nil)
	r.AddCookie(cookie)
	c, err := door.Caller(r)
	require.NoError(t, err)
	assert.True(t, gate.Valid(c))
	door.Leave(r)
	assert.False(t, gate.Valid(c))
}

// TestAPageOfAPageEndsWithIt: a page that makes links does not outlive itself by them, however many steps it takes.
func TestAPageOfAPageEndsWithIt(t *testing.T) {
	t.Parallel()
	gate := access.NewGate(access.OpenTokens(filepath.Join(t.TempDir(), "tokens.json")), "", func(string) {})
	door := access.Door{Gate: gate}
	enter := func(c access.Caller) (*http.Request, access.Caller) {
		t.Helper()
		code, _, err := gate.Link(c)
		require.NoError(t, err)
		cookie, err := door.Enter(code)
		require.NoError(t, err)
		r := httptest.NewRequest(http.MethodGet, "http://x/", nil)
		r.AddCookie(cookie)
		got, err := door.Caller(r)
		require.NoError(t, err)
		return r, got
	}
	first, c := enter(access.Local())
	_, second := enter(c)
	third, last := enter(second)
	code, _, err := gate.Link(last)
	require.NoError(t, err)
	door.Leave(first)
	assert.False(t, gate.Valid(second))
	assert.False(t, gate.Valid(last))
	_, err = door.Caller(third)
	assert.ErrorContains(t, err, "the session of this page has ended")
	_, err = door.Enter(code)
	assert.ErrorContains(t, err, "used already, or is too old")
}

// TestCertificatesThatAreNone: what is no file, has no end, or a key that others can read, is refused at once.
func TestCertificatesThatAreNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(key, nil, 0o600))
	for _, path := range []string{"/dev/zero", dir, filepath.Join(dir, "none")} {
		_, err := access.LoadCertificate(path, key, func(string) {})
		assert.ErrorContains(t, err, path)
	}
	cert := filepath.Join(dir, "cert.pem")
	require.NoError(t, os.WriteFile(cert, nil, 0o600))
	require.NoError(t, os.Chmod(key, 0o644))
	_, err := access.LoadCertificate(cert, key, func(string) {})
	assert.ErrorContains(t, err, "chmod 600")
}

// TestTooMany: a token has a bound on the requests that it begins, and others do not wait for it, nor for those without one.
func TestTooMany(t *testing.T) {
	t.Parallel()
	gate := access.NewGate(access.OpenTokens(filepath.Join(t.TempDir(), "tokens.json")), "", func(string) {})
	refused := 0
	for range 5000 {
		done, err := gate.Begin(access.Caller{Token: "busy"})
		if err != nil {
			refused++
			continue
		}
		done()
	}
	assert.Positive(t, refused)
	done, err := gate.Begin(access.Caller{Token: "calm"})
	require.NoError(t, err)
	done()
	door, statuses := access.Door{Gate: gate}, map[int]int{}
	for range 1000 {
		_, err := door.Caller(httptest.NewRequest(http.MethodGet, "http://x/", nil))
		var why *access.Refused
		require.ErrorAs(t, err, &why)
		statuses[why.Status]++
	}
	assert.Positive(t, statuses[http.StatusTooManyRequests])
	assert.GreaterOrEqual(t, statuses[http.StatusUnauthorized], 100)
}
