package proxy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseHost(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"api.example.com": "api.example.com", "API.Example.com.": "api.example.com", "*.example.com": "*.example.com", "x:8443": "x:8443",
		"127.0.0.1:80": "127.0.0.1:80", "[::1]:80": "[::1]:80", "::ffff:10.0.0.1": "10.0.0.1", "a_b.example": "a_b.example",
		"": "", "*": "", "*.com": "", "a b": "", "a\x00.example.com": "", "exämple.com": "", "a..b": "", "-a.b": "", "a:0": "", "a:99999": "",
		"http://a.b": "", "a.b/c": "", "user@a.b": "", "*.10.0.0.1": "", "127.1": "", "2130706433": "", "0x7f.0x1": "", "fe80::1%eth0": "", "a.*.b": "",
	} {
		h, err := proxy.ParseHost(text)
		if want == "" {
			assert.ErrorContains(t, err, "write a name such as", text)
			continue
		}
		require.NoError(t, err, text)
		assert.Equal(t, want, h.String())
	}
}

// served is a proxy on this machine for some hosts.
func served(t *testing.T, hosts ...string) (*proxy.Proxy, string) {
	t.Helper()
	var admitted []proxy.Host
	for _, text := range hosts {
		h, err := proxy.ParseHost(text)
		require.NoError(t, err)
		admitted = append(admitted, h)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := proxy.Serve(l, admitted)
	t.Cleanup(p.Close)
	return p, l.Addr().String()
}

// raw sends a request as it is and returns the status line and the body.
func raw(t *testing.T, at, request string) string {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", at)
	require.NoError(t, err)
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	_, err = io.WriteString(c, request)
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK && strings.HasPrefix(request, "CONNECT") {
		return "HTTP/1.1 200"
	}
	text, _ := io.ReadAll(answer.Body) // it may be cut off
	return "HTTP/1.1 " + answer.Status + "\n" + string(text)
}

func client(at string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: at}), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, //nolint:gosec // a server of the test
	}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func get(t *testing.T, c *http.Client, address string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	answer, err := c.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

func TestAdmitted(t *testing.T) {
	t.Parallel()
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://example.org/", http.StatusFound)
			return
		}
		fmt.Fprintf(w, "host %s via %q", r.Host, r.Header.Get("Proxy-Authorization"))
	})
	plain, secure := httptest.NewServer(echo), httptest.NewTLSServer(echo)
	defer plain.Close()
	defer secure.Close()
	p, at := served(t, plain.Listener.Addr().String(), secure.Listener.Addr().String())
	c := client(at)
	code, text := get(t, c, plain.URL+"/")
	assert.Equal(t, 200, code)
	assert.Equal(t, "host "+plain.Listener.Addr().String()+` via ""`, text)
	code, _ = get(t, c, secure.URL+"/")
	assert.Equal(t, 200, code)
	code, _ = get(t, c, plain.URL+"/away")
	assert.Equal(t, 302, code, "the proxy follows no redirect")
	assert.Contains(t, raw(t, at, "GET "+plain.URL+"/ HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: secret\r\nConnection: close\r\n\r\n"),
		"host "+plain.Listener.Addr().String()+` via ""`, "the header Host does not choose another host")
	assert.Empty(t, p.Refused())
}

// TestHostile: nothing but the named host is reached, however it is asked for.
func TestHostile(t *testing.T) {
	t.Parallel()
	reached := make(chan string, 100)
	inside := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.URL.Path }))
	defer inside.Close()
	_, port, err := net.SplitHostPort(inside.Listener.Addr().String())
	require.NoError(t, err)
	p, at := served(t, "api.example.com", "*.example.net", "db.example.com:5432", "rebind.example:"+port)
	for _, target := range []string{
		"127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port, "[::ffff:127.0.0.1]:" + port, "0.0.0.0:" + port, "127.1:" + port, "2130706433:" + port,
		"0x7f000001:" + port, "017700000001:" + port, "api.example.com:22", "api.example.com:" + port, "evil.com:443", "example.net:443",
		"evil-example.net:443", "xexample.net:443", "api.example.com.evil.com:443", "api.example.com@127.0.0.1:" + port, "api.example.com\x00.evil.com:443",
		"127.0.0.1\x00.example.net:443", "api.example.com%00.evil.com:443", "аpi.example.com:443", "api.example.com:443:" + port, "api.example.com:+443",
		"api.example.com:99999", "api.example.com#.example.net:443", "/../127.0.0.1:" + port, "169.254.169.254:80", "[fe80::1%25lo]:" + port, "",
		"db.example.com:443", "127.0.0.1:" + port + " .example.net:443", "*.example.net:443", "..example.net:443", ".example.net:443",
	} {
		answer := raw(t, at, "CONNECT "+target+" HTTP/1.1\r\nHost: api.example.com\r\n\r\nGET /connect HTTP/1.1\r\nHost: x\r\n\r\n")
		assert.False(t, strings.HasPrefix(answer, "HTTP/1.1 200"), "%q: %s", target, answer)
		answer = raw(t, at, "GET http://"+target+"/get HTTP/1.1\r\nHost: api.example.com\r\n\r\n")
		assert.False(t, strings.HasPrefix(answer, "HTTP/1.1 200"), "%q: %s", target, answer)
	}
	for _, request := range []string{
		"GET /own HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\n\r\n", "GET ftp://api.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://user:pw@api.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT api.example.com HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\n\r\n",
		"\x05\x01\x00", "GET http://api.example.com/ HTTP/1.1\r\nX: " + strings.Repeat("a", 128<<10) + "\r\n\r\n",
	} {
		answer := raw(t, at, request)
		assert.False(t, strings.HasPrefix(answer, "HTTP/1.1 200"), "%.60q: %s", request, answer)
	}
	select {
	case path := <-reached:
		t.Errorf("%s was reached", path)
	default:
	}
	assert.LessOrEqual(t, len(p.Refused()), 20)
	assert.Contains(t, p.Refused(), "evil.com")
}

func TestAnEmptyListAdmitsNothing(t *testing.T) {
	t.Parallel()
	_, at := served(t)
	code, text := get(t, client(at), "http://example.com/")
	assert.Equal(t, 403, code)
	assert.Contains(t, text, "request: connect example.com")
}

// TestClose ends tunnels that are open.
func TestClose(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	p, at := served(t, l.Addr().String())
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", at)
	require.NoError(t, err)
	defer c.Close()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", l.Addr())
	there, err := l.Accept()
	require.NoError(t, err)
	defer there.Close()
	line, err := bufio.NewReader(c).ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, line, "200")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	closed := make(chan struct{})
	go func() { p.Close(); close(closed) }()
	select {
	case <-closed:
	case <-ctx.Done():
		t.Fatal("the proxy does not end")
	}
	_ = there.SetReadDeadline(time.Now().Add(5 * time.Second))
	_, err = there.Read(make([]byte, 1))
	assert.Error(t, err)
}
