package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/web"
)

// got sends a GET over TCP and returns the answer with its body.
func (d *tcp) got(path string, header http.Header) (*http.Response, string) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, d.url+path, nil)
	require.NoError(d.t, err)
	if header != nil {
		req.Header = header
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(d.t, err)
	defer resp.Body.Close()
	d.contract.check(resp, nil)
	body, err := io.ReadAll(resp.Body)
	require.NoError(d.t, err)
	return resp, string(body)
}

// TestPage: a browser gets the page and its files, without a token, under the policy, and asks whether it has them already.
func TestPage(t *testing.T) {
	t.Parallel()
	d := newTCP(t, worldOptions{})
	for path, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/page/app.js": "text/javascript; charset=utf-8", "/page/views/health.js": "text/javascript; charset=utf-8",
		"/page/style.css": "text/css; charset=utf-8", "/page/icon.svg": "image/svg+xml",
	} {
		resp, body := d.got(path, nil)
		assert.Equal(t, http.StatusOK, resp.StatusCode, path)
		assert.NotEmpty(t, body, path)
		h := resp.Header
		assert.Equal(t, kind, h.Get("Content-Type"), path)
		assert.Equal(t, web.Policy, h.Get("Content-Security-Policy"), path)
		assert.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), path)
		assert.Equal(t, "off", h.Get("X-DNS-Prefetch-Control"), path)
		assert.Equal(t, "same-origin", h.Get("Cross-Origin-Opener-Policy"), path)
		assert.Equal(t, "same-origin", h.Get("Cross-Origin-Resource-Policy"), path)
		assert.Equal(t, "no-cache", h.Get("Cache-Control"), path)
		assert.Empty(t, h.Get("Set-Cookie"), path)
		require.NotEmpty(t, h.Get("ETag"), path)
		again, body := d.got(path, http.Header{"If-None-Match": {h.Get("ETag")}})
		assert.Equal(t, http.StatusNotModified, again.StatusCode, path)
		assert.Empty(t, body)
		assert.Equal(t, web.Policy, again.Header.Get("Content-Security-Policy"), path)
		again, _ = d.got(path, http.Header{"If-None-Match": {`"0123456789abcdef"`}})
		assert.Equal(t, http.StatusOK, again.StatusCode, path)
	}
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'"} {
		assert.Contains(t, web.Policy, part)
	}
	assert.NotContains(t, web.Policy, "unsafe")

	resp, _ := d.got("/v1/me", http.Header{"Authorization": {"Bearer " + d.token("reader", "read")}})
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	assert.Equal(t, "no-store", resp.Header.Get("Cache-Control"), "what the API says stays in no cache")
	assert.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
}

// TestPageFiles: nothing but the files of the page is served, however it is asked for.
func TestPageFiles(t *testing.T) {
	t.Parallel()
	d := newTCP(t, worldOptions{})
	for _, path := range []string{
		"/page/", "/page/lib", "/page/lib/", "/page/nobody.js", "/page/web.go", "/page/README.md", "/page/views", "/page/app.js/", "/page/app.js%00", "/page/APP.JS",
		"/page/%2e%2e/web.go", "/page/%2e%2e%2f%2e%2e%2fgo.mod", "/page/views/%2e%2e/app.js", "/page/%2fetc%2fpasswd", "/page/..%5capp.js", "/page/views%2f..%2f..%2fpage.go",
	} {
		assert.Equal(t, http.StatusNotFound, d.raw("GET "+path), path)
	}
	for _, path := range []string{"/page/../v1/me", "/page/../../etc/passwd", "//page/app.js"} { // the mux leads to what is meant
		assert.Equal(t, http.StatusTemporaryRedirect, d.raw("GET "+path), path)
	}
	for _, line := range []string{"GET /index.html", "GET /app.js", "POST /page/app.js", "PUT /page/app.js", "DELETE /"} {
		assert.Equal(t, http.StatusUnauthorized, d.raw(line), line)
	}
}

// raw sends a request line as it is and returns the status.
func (d *tcp) raw(line string) int {
	d.t.Helper()
	host := strings.TrimPrefix(d.url, "http://")
	conn, err := new(net.Dialer).DialContext(d.t.Context(), "tcp", host)
	require.NoError(d.t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", line, host)
	require.NoError(d.t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(d.t, err)
	defer resp.Body.Close()
	return resp.StatusCode
}

// TestPageOfOthers: another page cannot load this one, and the socket has none.
func TestPageOfOthers(t *testing.T) {
	t.Parallel()
	d := newTCP(t, worldOptions{})
	for _, path := range []string{"/", "/page/app.js"} {
		for name, value := range map[string]string{"Origin": "https://evil.example", "Referer": "https://evil.example/x", "Sec-Fetch-Site": "cross-site"} {
			resp, _ := d.got(path, http.Header{name: {value}})
			assert.Equal(t, http.StatusForbidden, resp.StatusCode, "%s %s", path, name)
		}
		resp, _ := d.got(path, http.Header{"Sec-Fetch-Site": {"same-origin"}, "Referer": {d.url + "/"}})
		assert.Equal(t, http.StatusOK, resp.StatusCode)
		assert.Equal(t, http.StatusNotFound, d.answer(http.MethodGet, path), "over the socket")
	}
}

// TestEnterThePage: a link leads to the page, whose cookie says who is there and what they may do.
func TestEnterThePage(t *testing.T) {
	t.Parallel()
	d := newTCP(t, worldOptions{})
	link, err := d.client.Link(t.Context(), wire.NewLink{Scopes: []string{"read", "converse"}})
	require.NoError(t, err)
	resp, _ := d.got(strings.TrimPrefix(link.URLs[0], d.url), nil)
	require.Equal(t, http.StatusSeeOther, resp.StatusCode)
	assert.Equal(t, "/?link=entered", resp.Header.Get("Location"))
	resp2, _ := d.got("/?link=entered", nil)
	assert.Equal(t, http.StatusOK, resp2.StatusCode)
	cookies := resp.Cookies()
	require.Len(t, cookies, 1)
	assert.True(t, cookies[0].HttpOnly)
	assert.Equal(t, http.SameSiteStrictMode, cookies[0].SameSite)

	resp, body := d.got("/v1/me", http.Header{"Cookie": {cookies[0].Name + "=" + cookies[0].Value}})
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	assert.Contains(t, body, `"scopes":["read","converse"]`)
	resp, _ = d.got("/v1/me", nil)
	assert.Equal(t, http.StatusUnauthorized, resp.StatusCode)

	other, err := d.client.Link(t.Context(), wire.NewLink{})
	require.NoError(t, err)
	inside, _ := d.got(strings.TrimPrefix(other.URLs[0], d.url), http.Header{"Sec-Fetch-Site": {"same-origin"}, "Referer": {d.url + "/"}})
	assert.Equal(t, http.StatusForbidden, inside.StatusCode, "a text in the page leads to another person's session")
	again, _ := d.got(strings.TrimPrefix(link.URLs[0], d.url), http.Header{"Accept": {"text/html,*/*;q=0.8"}})
	assert.Equal(t, http.StatusSeeOther, again.StatusCode)
	assert.Equal(t, "/?link=used", again.Header.Get("Location"), "a person reads there what to do")
	assert.Empty(t, again.Cookies())

	me, err := d.client.Me(t.Context())
	require.NoError(t, err)
	assert.Equal(t, wire.Me{Scopes: []string{"read", "converse", "approve", "administer"}}, me, "over the socket")
}

// TestSandbox: what commands can reach is told, and what the sandbox would let a call do that waits for approval.
func TestSandbox(t *testing.T) {
	t.Parallel()
	want := wire.Sandbox{
		Level: "reduced", Why: "no namespaces", Remedy: []string{"sysctl x"}, Open: []string{"times"}, Limits: "by cgroups", Layers: true, Mode: "project",
		Project: "/project", Unasked: "the level is not full", Writable: []string{"/project"}, Readable: []string{"/usr"}, Protected: []string{".git/hooks"},
		Hosts: []string{}, Variables: []string{"PATH"}, UnixSockets: true, Confined: true,
	}
	w := newWorld(t, &worldOptions{api: api.Options{
		Sandbox: func() (wire.Sandbox, error) { return want, nil },
		Confined: func(q *hook.ApprovalRequest) []string {
			return []string{"It could change: " + q.Tool + "."}
		},
	}})
	got, err := w.client.Sandbox(t.Context())
	require.NoError(t, err)
	assert.Equal(t, want, got)
	conv := w.conversation("ann")
	_, ask := w.asked(conv.ID)
	assert.Equal(t, []string{"It could change: danger."}, ask.Sandbox)
	require.NoError(t, w.client.Answer(t.Context(), ask.ID, wire.Answer{Answer: wire.AnswerRefuse}))

	_, err = newWorld(t, nil).client.Sandbox(t.Context())
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
}
