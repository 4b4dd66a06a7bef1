package internode_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/nodes/internode"
	"github.com/grapnel-go/grapnel/internal/test/nodeca"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// keysOf returns keys of a node by an authority.
func keysOf(t *testing.T, a *nodeca.Authority) *access.NodeKeys {
	t.Helper()
	cert, key := a.Issue(t)
	k, err := access.LoadNodeKeys(cert, key, a.File, func(string) {})
	require.NoError(t, err)
	return k
}

// serve serves on the listener until the end of the test. It counts the requests.
func serve(t *testing.T, ln net.Listener, h http.HandlerFunc) *atomic.Int64 {
	t.Helper()
	var n atomic.Int64
	srv := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		h(w, r)
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(ln) })
	t.Cleanup(func() {
		assert.NoError(t, srv.Close())
		serving.Wait()
	})
	return &n
}

func clientOf(t *testing.T, keys internode.Keys) *internode.Client {
	c := internode.New(keys)
	t.Cleanup(c.Close)
	return c
}

func port(ln net.Listener) string {
	_, p, _ := net.SplitHostPort(ln.Addr().String())
	return p
}

// get sends a request to a node and returns the error.
func get(t *testing.T, c *internode.Client, to store.Node) error {
	t.Helper()
	resp, err := c.Do(t.Context(), to, internode.Caller{Local: true}, internode.Request{Path: "/v1/asks"})
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, resp.Body.Close())
	}
	return err
}

// TestOnlyNodes: both ends have to have a certificate of the authority, and speak TLS 1.3.
func TestOnlyNodes(t *testing.T) {
	t.Parallel()
	ours, others := nodeca.New(t), nodeca.New(t)
	ln, err := keysOf(t, ours).Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	got := serve(t, ln, func(http.ResponseWriter, *http.Request) {})
	node := store.Node{ID: "b", URL: "https://localhost:" + port(ln)}
	require.NoError(t, get(t, clientOf(t, keysOf(t, ours)), node))
	require.Equal(t, int64(1), got.Load())

	require.ErrorIs(t, get(t, clientOf(t, keysOf(t, others)), node), internode.ErrUnreached, "another authority")
	require.ErrorIs(t, get(t, clientOf(t, nil), node), internode.ErrUnreached, "no certificate")
	text, err := os.ReadFile(ours.File)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(text))
	cert, key := others.Issue(t)
	foreign, err := tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)
	cert, key = ours.Issue(t)
	own, err := tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)
	for name, c := range map[string]*tls.Config{
		"no certificate":        {RootCAs: pool, ServerName: "localhost"},
		"a foreign certificate": {RootCAs: pool, ServerName: "localhost", Certificates: []tls.Certificate{foreign}},
		"TLS 1.2":               {RootCAs: pool, ServerName: "localhost", Certificates: []tls.Certificate{own}, MaxVersion: tls.VersionTLS12},
	} {
		transport := &http.Transport{TLSClientConfig: c, DisableKeepAlives: true}
		resp, err := transport.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, node.URL, nil))
		if !assert.Error(t, err, name) {
			require.NoError(t, resp.Body.Close())
		}
	}
	assert.Equal(t, int64(1), got.Load(), "nobody else got through")
}

// TestURLs: the store may say anything of a node. Nothing but https with a certificate of the authority and unix sockets of this user is
// dialled.
func TestURLs(t *testing.T) {
	t.Parallel()
	ours := nodeca.New(t)
	c := clientOf(t, keysOf(t, ours))
	var lc net.ListenConfig
	plain, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	got := serve(t, plain, func(http.ResponseWriter, *http.Request) {})
	foreign := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a foreign server got a request") }))
	foreign.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(foreign.Close)
	for _, url := range []string{
		"", "http://127.0.0.1:" + port(plain), "https://127.0.0.1:" + port(plain), foreign.URL, "file:///etc/passwd", "unix:relative", "unix:/nowhere/at/all",
		"https://user:secret@127.0.0.1:" + port(plain), "https://127.0.0.1:" + port(plain) + "/path", "https://127.0.0.1:" + port(plain) + "?x=1", "127.0.0.1:" + port(plain), "gopher://x",
		"http://2f746d70.unix:80",
	} {
		err := get(t, c, store.Node{ID: "b", URL: url})
		require.ErrorIs(t, err, internode.ErrUnreached, url)
	}
	assert.Zero(t, got.Load())
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/x", nil)
	require.ErrorIs(t, c.Forward(w, r, store.Node{ID: "b", URL: "http://127.0.0.1:" + port(plain)}, internode.Caller{}, nil), internode.ErrUnreached)
	assert.Zero(t, got.Load())
	assert.Zero(t, w.Body.Len(), "nothing was written")
}

// TestRedirects: a node that sends elsewhere is not followed.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	elsewhere, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	got := serve(t, elsewhere, func(http.ResponseWriter, *http.Request) {})
	ln, node := socket(t)
	serve(t, ln, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+elsewhere.Addr().String(), http.StatusTemporaryRedirect)
	})
	require.NoError(t, get(t, clientOf(t, nil), node))
	assert.Zero(t, got.Load())
}

// socket listens on a unix socket of a node.
func socket(t *testing.T) (net.Listener, store.Node) {
	t.Helper()
	dir, err := os.MkdirTemp("", "grapnel-") // short enough for a socket
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	path := filepath.Join(dir, "sock")
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "unix", path)
	require.NoError(t, err)
	return ln, store.Node{ID: "b", URL: "unix:" + path}
}

// TestForward: of a client's request go on the path, the query, the body and two headers, and who sent it; never what lets the client in.
func TestForward(t *testing.T) {
	t.Parallel()
	ln, node := socket(t)
	seen := make(chan *http.Request, 1)
	bodies := make(chan string, 1)
	serve(t, ln, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
		seen <- r
		w.Header().Set("Location", "/there")
		w.Header().Set("Set-Cookie", "a=b")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "answer")
	})
	from := internode.Caller{Name: "müller", Scopes: []string{"read"}, Projects: []string{"/p"}}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/conversations/a%2Fb/messages?x=1&y=a+b", strings.NewReader("already read"))
	for name, value := range map[string]string{
		"Authorization": "Bearer secret", "Cookie": "grapnel=secret", "Content-Type": "application/json", "Last-Event-ID": "1-2", "X-Forwarded-For": "1.2.3.4",
		"Connection": internode.HeaderCaller + ", " + internode.HeaderNode, internode.HeaderCaller: "forged", internode.HeaderNode: "forged", "Upgrade": "websocket",
	} {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	require.NoError(t, clientOf(t, nil).Forward(w, r, node, from, []byte(`{"text":"x"}`)))
	assert.Equal(t, http.StatusAccepted, w.Code)
	assert.Equal(t, "answer", w.Body.String())
	assert.Equal(t, "/there", w.Header().Get("Location"))
	assert.Empty(t, w.Header().Get("Set-Cookie"))
	got := <-seen
	assert.Equal(t, `{"text":"x"}`, <-bodies)
	assert.Equal(t, "/v1/conversations/a%2Fb/messages?x=1&y=a+b", got.RequestURI)
	assert.Equal(t, internode.Host, got.Host)
	back, meant, err := internode.Received(got.Header)
	require.NoError(t, err)
	assert.Equal(t, from, back)
	assert.Equal(t, "b", meant)
	for name := range got.Header {
		assert.Contains(t, []string{"Content-Type", "Content-Length", "Last-Event-Id", internode.HeaderCaller, internode.HeaderNode, "Accept-Encoding"}, name)
	}
	assert.NotContains(t, got.Header, "Authorization")
}

// TestErrors: what a sender may do again, and what not.
func TestErrors(t *testing.T) {
	t.Parallel()
	ln, node := socket(t)
	answer := make(chan int, 1)
	serve(t, ln, func(w http.ResponseWriter, _ *http.Request) {
		status := <-answer
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
	})
	c := clientOf(t, nil)
	forward := func(ctx context.Context, to store.Node) (*httptest.ResponseRecorder, error) {
		w := httptest.NewRecorder()
		return w, c.Forward(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/x", nil), to, internode.Caller{}, []byte("{}"))
	}
	answer <- http.StatusMisdirectedRequest
	w, err := forward(t.Context(), node)
	require.ErrorIs(t, err, internode.ErrMisdirected)
	assert.Zero(t, w.Body.Len())
	answer <- 0
	_, err = forward(t.Context(), node)
	require.ErrorIs(t, err, internode.ErrBroken, "it may have done it")
	_, err = forward(t.Context(), store.Node{ID: "b", URL: "unix:/nowhere/sock"})
	require.ErrorIs(t, err, internode.ErrUnreached)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = forward(ctx, node)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	answer <- 200
}

// TestReceived: what a node may say of a caller.
func TestReceived(t *testing.T) {
	t.Parallel()
	encoded := func(text string) []string { return []string{base64.RawURLEncoding.EncodeToString([]byte(text))} }
	for name, c := range map[string]struct {
		node, caller []string
		want         string
	}{
		"no node":       {nil, encoded(`{}`), "one header"},
		"two nodes":     {[]string{"a", "b"}, encoded(`{}`), "one header"},
		"no caller":     {[]string{"a"}, nil, "one header"},
		"two callers":   {[]string{"a"}, append(encoded(`{}`), encoded(`{"local":true}`)...), "one header"},
		"not in base64": {[]string{"a"}, []string{"{}"}, "cannot be read"},
		"not in JSON":   {[]string{"a"}, encoded(`{`), "cannot be read"},
		"both":          {[]string{"a"}, encoded(`{"local":true,"name":"x"}`), "both"},
	} {
		h := http.Header{internode.HeaderNode: c.node, internode.HeaderCaller: c.caller}
		_, _, err := internode.Received(h)
		assert.ErrorContains(t, err, c.want, name)
	}
	assert.True(t, internode.Sent(http.Header{internode.HeaderNode: {""}}))
	assert.False(t, internode.Sent(http.Header{}))
}

// TestNewKeys: a new certificate and a new authority count without a restart, and a broken one leaves the one before.
func TestNewKeys(t *testing.T) {
	t.Parallel()
	old, next := nodeca.New(t), nodeca.New(t)
	cert, key := old.Issue(t)
	var mu sync.Mutex
	var notes []string
	keys, err := access.LoadNodeKeys(cert, key, old.File, func(text string) {
		mu.Lock()
		defer mu.Unlock()
		notes = append(notes, text)
	})
	require.NoError(t, err)
	ln, err := keys.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	serve(t, ln, func(http.ResponseWriter, *http.Request) {})
	node := store.Node{ID: "b", URL: "https://localhost:" + port(ln)}
	theirs := keysOf(t, next)
	require.Error(t, get(t, clientOf(t, theirs), node))

	require.NoError(t, os.WriteFile(old.File, []byte("nothing"), 0o600))
	require.Eventually(t, func() bool {
		require.Error(t, get(t, clientOf(t, theirs), node), "the authority before stays")
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(strings.Join(notes, "\n"), "the authority of the nodes has changed and cannot be used")
	}, time.Minute, 50*time.Millisecond)
	text, err := os.ReadFile(next.File)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(old.File, text, 0o600))
	next.Renew(t, cert, key)
	require.Eventually(t, func() bool { return get(t, clientOf(t, theirs), node) == nil }, time.Minute, 50*time.Millisecond)
	for _, bad := range [][3]string{{"", key, next.File}, {cert, "", next.File}, {cert, key, ""}, {cert, key, key}, {cert, key, "/nowhere"}} {
		_, err := access.LoadNodeKeys(bad[0], bad[1], bad[2], func(string) {})
		assert.Error(t, err, bad)
	}
}
