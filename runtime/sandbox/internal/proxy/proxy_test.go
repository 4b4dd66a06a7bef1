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
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience ends a test that hangs.
const patience = time.Minute

// world is a proxy, and a network in which every address is a server of the test. It keeps what the proxy has looked up and dialled.
type world struct {
	*proxy.Proxy
	at string

	mu             sync.Mutex
	looked, dialed []string
}

// newWorld starts a proxy for some hosts, whose names have these addresses, and whose connections all lead to one server.
func newWorld(t *testing.T, server string, addresses map[string]string, s proxy.Settings, hosts ...string) *world {
	t.Helper()
	var admitted []proxy.Host
	for _, text := range hosts {
		h, err := proxy.ParseHost(text)
		require.NoError(t, err)
		admitted = append(admitted, h)
	}
	w := &world{}
	s.Lookup = func(_ context.Context, name string) (out []netip.Addr, err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.looked = append(w.looked, name)
		for text := range strings.FieldsSeq(addresses[name]) {
			out = append(out, netip.MustParseAddr(text))
		}
		return out, nil
	}
	s.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		w.mu.Lock()
		w.dialed = append(w.dialed, address)
		w.mu.Unlock()
		if server == "" {
			return nil, net.ErrClosed
		}
		return new(net.Dialer).DialContext(ctx, network, server)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w.Proxy, w.at = proxy.ServeForTest(l, admitted, s), l.Addr().String()
	t.Cleanup(w.Close)
	return w
}

func (w *world) lookups() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.looked...)
}

func (w *world) dials() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.dialed...)
}

// open connects to an address, and gives up by itself.
func open(t *testing.T, at string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", at)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	return c
}

// raw sends a request as it is and returns the status, the reason and the body.
func raw(t *testing.T, at, request string) (status int, text string) {
	t.Helper()
	c := open(t, at)
	_, err := io.WriteString(c, request)
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK && strings.HasPrefix(request, "CONNECT") {
		return answer.StatusCode, ""
	}
	body, _ := io.ReadAll(answer.Body) // it may be cut off
	return answer.StatusCode, answer.Status + "\n" + string(body)
}

// client is a program that uses a proxy.
func client(at string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: at}),
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a server of the test
		DisableKeepAlives: true,
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

// echo is a server that says how it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/away" {
		http.Redirect(w, r, "http://example.org/", http.StatusFound)
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Header.Del("Connection")
	r.Header.Del("User-Agent")
	r.Header.Del("Accept-Encoding")
	fmt.Fprintf(w, "%s %s host=%s headers=%v body=%s", r.Method, r.RequestURI, r.Host, r.Header, body)
}

// public is where names lead in most tests.
func public() map[string]string {
	return map[string]string{"api.example.com": "203.0.113.7", "a.example.net": "203.0.113.8 2606:4700::1111", "b.a.example.net": "203.0.113.9"}
}

func TestAdmitted(t *testing.T) {
	t.Parallel()
	plain, secure := httptest.NewServer(http.HandlerFunc(echo)), httptest.NewTLSServer(http.HandlerFunc(echo))
	defer plain.Close()
	defer secure.Close()

	w := newWorld(t, plain.Listener.Addr().String(), public(), proxy.Settings{}, "api.example.com", "*.example.net:8080")
	tests := []struct {
		name, request, want, dialed string
	}{
		{"a name", "GET http://API.example.com./a%2fb//../c?x=1;y=2 HTTP/1.1\r\nHost: api.example.com\r\n",
			"GET /a%2fb//../c?x=1;y=2 host=api.example.com headers=map[] body=", "203.0.113.7:80"},
		{"port 443", "GET http://api.example.com:443/ HTTP/1.1\r\nHost: x\r\n", "GET / host=api.example.com:443 headers=map[] body=", "203.0.113.7:443"},
		{"a wildcard, and its port", "GET http://b.a.example.net:8080/ HTTP/1.1\r\nHost: x\r\n", "GET / host=b.a.example.net:8080 headers=map[] body=", "203.0.113.9:8080"},
		{"the first address", "GET http://a.example.net:8080/ HTTP/1.1\r\nHost: x\r\n", "GET / host=a.example.net:8080 headers=map[] body=", "203.0.113.8:8080"},
		{"another header Host", "GET http://api.example.com/ HTTP/1.1\r\nHost: evil.example\r\n", "GET / host=api.example.com headers=map[] body=", "203.0.113.7:80"},
		{"headers of one hop", "GET http://api.example.com/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: secret\r\nConnection: X-Hop\r\nX-Hop: 1\r\n" +
			"Keep-Alive: 5\r\nProxy-Connection: keep-alive\r\nTE: gzip\r\nX-Own: 2\r\n", "GET / host=api.example.com headers=map[X-Own:[2]] body=", "203.0.113.7:80"},
		{"a body", "POST http://api.example.com/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n", "POST / host=api.example.com headers=map[Content-Length:[3]] body=abc", "203.0.113.7:80"},
	}
	for _, tt := range tests {
		_, body, _ := strings.Cut(tt.want, "body=")
		status, text := raw(t, w.at, tt.request+"\r\n"+body)
		assert.Equal(t, http.StatusOK, status, tt.name)
		assert.Equal(t, "200 OK\n"+tt.want, text, tt.name)
		dials := w.dials()
		assert.Equal(t, tt.dialed, dials[len(dials)-1], tt.name)
	}
	status, _ := get(t, client(w.at), "http://api.example.com/away")
	assert.Equal(t, http.StatusFound, status, "the proxy follows no redirect")
	assert.Len(t, w.dials(), len(tests)+1)
	assert.Empty(t, w.Refused())
	assert.Equal(t, []string{"api.example.com", "b.a.example.net:8080", "a.example.net:8080"}, w.Admitted())

	w = newWorld(t, secure.Listener.Addr().String(), public(), proxy.Settings{}, "api.example.com")
	status, text := get(t, client(w.at), "https://api.example.com/x")
	assert.Equal(t, http.StatusOK, status, text)
	assert.Equal(t, "GET /x host=api.example.com headers=map[] body=", text)
	assert.Equal(t, []string{"203.0.113.7:443"}, w.dials())
	assert.Equal(t, []string{"api.example.com"}, w.Admitted())
}

// TestRefused: an answer says which host, why, and what to request; so do the programs that show only the reason of an answer to CONNECT.
func TestRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", nil, proxy.Settings{}, "api.example.com")
	const not = " cannot be reached: it is not among the hosts that this command may reach; to ask for it, request: connect "
	for _, tt := range []struct{ address, host string }{
		{"http://evil.example/", "evil.example"}, {"http://evil.example:8080/", "evil.example:8080"}, {"http://api.example.com:22/", "api.example.com:22"},
		{"http://10.0.0.1/", "10.0.0.1"}, {"http://[fd00::1]:81/", "[fd00::1]:81"}, {"http://evil.example/again", "evil.example"},
	} {
		status, text := get(t, client(w.at), tt.address)
		assert.Equal(t, http.StatusForbidden, status)
		assert.Equal(t, tt.host+not+tt.host+"\n", text)
	}
	status, text := get(t, client(w.at), "https://other.example/")
	assert.Zero(t, status)
	assert.Contains(t, text, "other.example"+not+"other.example")
	status, text = raw(t, w.at, "CONNECT other.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
	assert.Equal(t, http.StatusForbidden, status)
	assert.Equal(t, "403 other.example"+not+"other.example\nother.example"+not+"other.example\n", text)
	assert.Equal(t, []string{"evil.example", "evil.example:8080", "api.example.com:22", "10.0.0.1", "[fd00::1]:81", "other.example"}, w.Refused())
	assert.Empty(t, w.lookups(), "who asks for a name that is not admitted sends nothing to its name server")
	assert.Empty(t, w.dials())

	for i := range 50 {
		_, _ = get(t, client(w.at), fmt.Sprintf("http://n%d.example/", i))
	}
	assert.Len(t, w.Refused(), 20)
}

// TestDown: a host that does not answer is no host to ask for.
func TestDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", map[string]string{"down.example": "203.0.113.7 203.0.113.8"}, proxy.Settings{}, "down.example", "unknown.example")
	for address, want := range map[string]string{
		"http://down.example/": "down.example cannot be reached: it does not answer", "http://unknown.example/": "unknown.example cannot be reached: its name cannot be resolved",
	} {
		status, text := get(t, client(w.at), address)
		assert.Equal(t, http.StatusBadGateway, status)
		assert.Equal(t, want+"\n", text)
		_, text = get(t, client(w.at), strings.Replace(address, "http", "https", 1))
		assert.Contains(t, text, want)
	}
	assert.Len(t, w.dials(), 4, "every address is tried")
	assert.Empty(t, w.Refused())
	assert.Empty(t, w.Admitted())
}

func TestAnEmptyListAdmitsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", public(), proxy.Settings{})
	status, text := get(t, client(w.at), "http://api.example.com/")
	assert.Equal(t, http.StatusForbidden, status)
	assert.Contains(t, text, "request: connect api.example.com")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	zero := proxy.Serve(l, []proxy.Host{{}})
	defer zero.Close()
	status, _ = raw(t, l.Addr().String(), "GET http:/// HTTP/1.1\r\nHost: \r\n\r\n")
	assert.Equal(t, http.StatusBadRequest, status)
}

// TestRebinding: an admitted name may lead only where its form allows, whatever its name server says, and the address that was checked is
// the one that is dialled.
func TestRebinding(t *testing.T) {
	t.Parallel()
	server := serverOf(t, echo)
	tests := []struct {
		name, grants, host, addresses string
		dialed                        string
		refused                       []string
	}{
		{"public", "a.example", "a.example", "203.0.113.7", "203.0.113.7:80", nil},
		{"loopback", "a.example", "a.example", "127.0.0.1", "", []string{"127.0.0.1"}},
		{"loopback, mapped", "a.example", "a.example", "::ffff:127.0.0.1", "", []string{"127.0.0.1"}},
		{"private", "a.example", "a.example", "10.1.2.3", "", []string{"10.1.2.3"}},
		{"private, by NAT64", "a.example", "a.example", "64:ff9b::10.1.2.3", "", []string{"64:ff9b::a01:203"}},
		{"unique local", "a.example", "a.example", "fd12::1", "", []string{"fd12::1"}},
		{"metadata", "a.example", "a.example", "169.254.169.254", "", nil},
		{"metadata by a local name", "metadata.google.internal", "metadata.google.internal", "fd20:ce::254", "", nil},
		{"metadata, named", "169.254.169.254", "169.254.169.254", "", "169.254.169.254:80", nil},
		{"unspecified", "a.example", "a.example", "0.0.0.0", "", nil},
		{"the second address is public", "a.example", "a.example", "10.1.2.3 203.0.113.7", "203.0.113.7:80", nil},
		{"a local name", "db.internal", "db.internal", "10.1.2.3", "10.1.2.3:80", nil},
		{"a local name to this machine", "db.internal", "db.internal", "127.0.0.1", "", []string{"127.0.0.1"}},
		{"a name below a local wildcard", "*.corp.internal", "db.corp.internal", "10.1.2.3", "10.1.2.3:80", nil},
		{"a name that only ends like a local one", "a.evilinternal", "a.evilinternal", "10.1.2.3", "", []string{"10.1.2.3"}},
		{"the address is named too", "a.example 10.1.2.3", "a.example", "10.1.2.3", "10.1.2.3:80", nil},
		{"the address is named for another port", "a.example 10.1.2.3:8080", "a.example", "10.1.2.3", "", []string{"10.1.2.3"}},
		{"the address is named for port 80", "a.example:8080 10.1.2.3", "a.example:8080", "10.1.2.3", "", []string{"10.1.2.3:8080"}},
		{"an address", "10.1.2.3", "10.1.2.3", "", "10.1.2.3:80", nil},
		{"localhost", "localhost", "localhost", "127.0.0.1", "127.0.0.1:80", nil},
		{"localhost elsewhere", "localhost", "localhost", "169.254.169.254", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name, _, other := strings.Cut(tt.host, ":")
			target := tt.host
			if !other {
				target += ":80"
			}
			w := newWorld(t, server, map[string]string{name: tt.addresses}, proxy.Settings{}, strings.Fields(tt.grants)...)
			status, text := raw(t, w.at, "GET http://"+tt.host+"/ HTTP/1.1\r\nHost: x\r\n\r\n")
			connect, _ := raw(t, w.at, "CONNECT "+target+" HTTP/1.1\r\nHost: x\r\n\r\n")
			assert.Equal(t, status, connect)
			assert.Equal(t, tt.refused, w.Refused())
			if tt.dialed != "" {
				assert.Equal(t, http.StatusOK, status, text)
				assert.Equal(t, []string{tt.dialed, tt.dialed}, w.dials())
				return
			}
			assert.Equal(t, http.StatusForbidden, status)
			assert.Contains(t, text, tt.host+" cannot be reached: it leads to ")
			assert.Equal(t, tt.refused != nil, strings.Contains(text, "request: connect"), text)
			assert.Empty(t, w.dials())
		})
	}
}

// TestOwnAddress: a name may not lead to this machine by another address than that of its loopback.
func TestOwnAddress(t *testing.T) {
	t.Parallel()
	addrs, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, own := range addrs {
		a := netip.MustParsePrefix(own.String()).Addr()
		if a.IsLinkLocalUnicast() {
			continue
		}
		w := newWorld(t, "", map[string]string{"a.example": a.String()}, proxy.Settings{}, "a.example")
		status, text := raw(t, w.at, "GET http://a.example/ HTTP/1.1\r\nHost: x\r\n\r\n")
		assert.Equal(t, http.StatusForbidden, status)
		assert.Contains(t, text, "it leads to "+a.String()+", an address of this machine")
		assert.Empty(t, w.dials())
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	env := proxy.Environment(3128)
	for _, want := range []string{"HTTPS_PROXY=http://127.0.0.1:3128", "http_proxy=http://127.0.0.1:3128", "no_proxy=localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY=1"} {
		assert.Contains(t, env, want)
	}
}
