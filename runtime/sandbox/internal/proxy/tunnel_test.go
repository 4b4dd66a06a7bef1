package proxy_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/proxy"
)

func serverOf(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// listen gives each connection to a function, one after the other, until the test ends.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(patience))
			serve(c)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

// connected returns a tunnel to a target.
func connected(t *testing.T, at, target string) net.Conn {
	t.Helper()
	c := open(t, at)
	_, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", target)
	require.NoError(t, err)
	const answer = "HTTP/1.1 200 Connection established\r\n\r\n"
	got := make([]byte, len(answer))
	_, err = io.ReadFull(c, got)
	require.NoError(t, err)
	require.Equal(t, answer, string(got))
	return c
}

// hello returns the first message of a client that asks for a server.
func hello(t *testing.T, name string) []byte {
	t.Helper()
	var sent bytes.Buffer
	stop := errors.New("stop")
	err := tls.Client(writer{w: &sent, then: stop}, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake() //nolint:gosec // no server
	require.ErrorIs(t, err, stop)
	return sent.Bytes()
}

// writer is a connection that only takes what is written.
type writer struct {
	net.Conn
	w    io.Writer
	then error
}

func (w writer) Write(p []byte) (int, error)      { return w.w.Write(p) }
func (w writer) Read([]byte) (int, error)         { return 0, w.then }
func (w writer) SetWriteDeadline(time.Time) error { return nil }

// split cuts a message into records of TLS with n bytes each.
func split(message []byte, n int) (out []byte) {
	for body := message[5:]; len(body) > 0; {
		part := body[:min(n, len(body))]
		body = body[len(part):]
		out = append(out, message[:3]...)
		out = binary.BigEndian.AppendUint16(out, uint16(len(part)))
		out = append(out, part...)
	}
	return out
}

func TestHelloName(t *testing.T) {
	t.Parallel()
	whole := hello(t, "api.example.com")
	twice := bytes.Replace(whole, []byte("api.example.com"), []byte("evil.example.co"), 1)
	tests := []struct {
		name string
		sent []byte
		want string
		ok   bool
	}{
		{"a name", whole, "api.example.com", true},
		{"no name", hello(t, ""), "", true},
		{"an address sends none", hello(t, "10.0.0.1"), "", true},
		{"in small records", split(whole, 7), "api.example.com", true},
		{"another name", twice, "evil.example.co", true},
		{"followed by more", append(bytes.Clone(whole), "more"...), "api.example.com", true},
		{"cut off", whole[:len(whole)-1], "", false},
		{"the form of SSL 2", []byte("\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10"), "", false},
		{"a record of another kind", append([]byte{0x17}, whole[1:]...), "", false},
		{"a NUL in the name", bytes.Replace(whole, []byte("api.example.com"), []byte("api\x00example.com"), 1), "api\x00example.com", true},
		{"endless", split(append([]byte{0x16, 3, 1, 0, 0, 1, 0xff, 0xff, 0xff}, make([]byte, 300<<10)...), 16<<10), "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name, read, err := proxy.HelloForTest(bytes.NewReader(tt.sent))
			assert.Equal(t, tt.want, name)
			assert.Equal(t, tt.ok, err == nil)
			if tt.ok {
				assert.True(t, bytes.HasPrefix(tt.sent, read), "what was read is passed on as it was")
			}
			assert.LessOrEqual(t, len(read), 96<<10)
		})
	}
}

func FuzzHelloName(f *testing.F) {
	f.Add([]byte("\x16\x03\x01\x00\x05hello\x15\x03\x03\x00\x02\x02\x28"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		name, read, err := proxy.HelloForTest(bytes.NewReader(sent))
		if err != nil {
			assert.Empty(t, name)
			return
		}
		assert.True(t, bytes.HasPrefix(sent, read))
	})
}

// TestFirstBytes: what a tunnel may begin with. The server answers OK to each first byte that it gets.
func TestFirstBytes(t *testing.T) {
	t.Parallel()
	ssh := []byte("SSH-2.0-x\r\n")
	tests := []struct {
		name, grants, target string
		sent                 []byte
		passed               bool
		refused              []string
	}{
		{"TLS to the host", "api.example.com", "api.example.com:443", hello(t, "api.example.com"), true, nil},
		{"in capitals", "api.example.com", "api.example.com:443", hello(t, "API.example.COM"), true, nil},
		{"in small records", "api.example.com", "api.example.com:443", split(hello(t, "api.example.com"), 1), true, nil},
		{"TLS without a name", "api.example.com", "api.example.com:443", hello(t, ""), true, nil},
		{"TLS to another host", "api.example.com", "api.example.com:443", hello(t, "evil.example"), false, []string{"evil.example"}},
		{"TLS to another host, in small records", "api.example.com", "api.example.com:443", split(hello(t, "evil.example"), 3), false, []string{"evil.example"}},
		{"TLS to another host of the grant", "api.example.com *.example.net", "api.example.com:443", hello(t, "a.example.net"), true, nil},
		{"TLS to a host that is granted for another port", "api.example.com a.example.net:80", "api.example.com:443", hello(t, "a.example.net"), false, []string{"a.example.net"}},
		{"a name that is none", "api.example.com", "api.example.com:443", bytes.Replace(hello(t, "api.example.com"), []byte("api."), []byte("api\x00"), 1), false, nil},
		{"broken TLS", "api.example.com", "api.example.com:443", append([]byte{0x16, 3, 1, 0, 5}, "hello"...), false, nil},
		{"no TLS", "api.example.com", "api.example.com:443", ssh, false, nil},
		{"no TLS at a port of the grant", "api.example.com:443", "api.example.com:443", ssh, true, nil},
		{"no TLS at port 80", "api.example.com", "api.example.com:80", []byte("GET / HTTP/1.1\r\n\r\n"), true, nil},
		{"TLS to another host at port 80", "api.example.com", "api.example.com:80", hello(t, "evil.example"), false, []string{"evil.example"}},
		{"TLS to another host at a port of the grant", "api.example.com:8443", "api.example.com:8443", hello(t, "evil.example"), false, []string{"evil.example:8443"}},
		{"TLS to any name at an address", "203.0.113.7", "203.0.113.7:443", hello(t, "evil.example"), true, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := make(chan []byte, 1)
			at := listen(t, func(c net.Conn) {
				all, _ := io.ReadAll(c)
				got <- all
				_, _ = io.WriteString(c, "OK")
			})
			w := newWorld(t, at, public(), proxy.Settings{}, strings.Fields(tt.grants)...)
			c := connected(t, w.at, tt.target)
			_, err := c.Write(tt.sent)
			require.NoError(t, err)
			_ = c.(*net.TCPConn).CloseWrite()
			answer, _ := io.ReadAll(c) // a refusal may reset the connection
			assert.Equal(t, tt.refused, w.Refused())
			if tt.passed {
				assert.Equal(t, "OK", string(answer))
				assert.Equal(t, tt.sent, <-got)
				return
			}
			assert.NotContains(t, string(answer), "OK")
			assert.Empty(t, <-got, "nothing of it reaches the host")
		})
	}
}

// TestServerSpeaksFirst: a tunnel to a port of the grant waits for no byte of the program.
func TestServerSpeaksFirst(t *testing.T) {
	t.Parallel()
	at := listen(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "220 ready\r\n")
		line, _ := bufio.NewReader(c).ReadString('\n')
		_, _ = io.WriteString(c, "got "+line)
	})
	w := newWorld(t, at, public(), proxy.Settings{}, "api.example.com:25")
	c := connected(t, w.at, "api.example.com:25")
	r := bufio.NewReader(c)
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "220 ready\r\n", line)
	_, _ = io.WriteString(c, "HELO\n")
	line, err = r.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "got HELO\n", line)
}

// TestIdle: a tunnel ends when nothing moves in it, and only then: what moves in one direction keeps the other.
func TestIdle(t *testing.T) {
	t.Parallel()
	const idle = 250 * time.Millisecond
	at := listen(t, func(c net.Conn) {
		tick := time.NewTicker(idle / 5)
		defer tick.Stop()
		for range 15 { // three times as long as idle, while the program is silent
			<-tick.C
			_, _ = io.WriteString(c, ".")
		}
		_, _ = io.Copy(io.Discard, c) // until the proxy ends it
	})
	w := newWorld(t, at, public(), proxy.Settings{Idle: idle}, "api.example.com:25")
	c := connected(t, w.at, "api.example.com:25")
	got, err := io.ReadAll(c)
	assert.Equal(t, strings.Repeat(".", 15), string(got))
	assert.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}

// TestIdleHalf: so does one that the host has ended in its direction.
func TestIdleHalf(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	at := listen(t, func(c net.Conn) {
		_ = c.(*net.TCPConn).CloseWrite()
		_, err := io.Copy(io.Discard, c)
		ended <- err
	})
	w := newWorld(t, at, public(), proxy.Settings{Idle: 100 * time.Millisecond}, "api.example.com:25")
	c := connected(t, w.at, "api.example.com:25")
	_, err := io.Copy(io.Discard, c)
	require.NoError(t, err)
	assert.NotErrorIs(t, <-ended, os.ErrDeadlineExceeded, "the proxy ends it, not the patience of the test")
}

// TestSlow: a program that begins something and does not go on loses its connection.
func TestSlow(t *testing.T) {
	t.Parallel()
	at := listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	w := newWorld(t, at, public(), proxy.Settings{Hello: 100 * time.Millisecond, Keep: 100 * time.Millisecond}, "api.example.com")
	for _, begun := range []string{"", "GET http://api.exam", "GET http://api.example.com/ HTTP/1.1\r\nX: "} {
		c := open(t, w.at)
		_, _ = io.WriteString(c, begun)
		_, err := io.Copy(io.Discard, c)
		assert.NotErrorIs(t, err, os.ErrDeadlineExceeded, begun)
	}
	for _, begun := range []string{"", "\x16\x03\x01\x02\x00\x01"} {
		c := connected(t, w.at, "api.example.com:443")
		_, _ = io.WriteString(c, begun)
		_, err := io.Copy(io.Discard, c)
		assert.NotErrorIs(t, err, os.ErrDeadlineExceeded, "%q", begun)
	}
}

// TestConnections: a program has a number of connections at most. Another one waits until one of them ends.
func TestConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", public(), proxy.Settings{Connections: 3}, "api.example.com")
	var held []net.Conn
	for range 3 {
		c := open(t, w.at)
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		_ = answer.Body.Close()
		held = append(held, c)
	}
	answered := make(chan error, 1)
	c := open(t, w.at)
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	go func() {
		_, err := c.Read(make([]byte, 1))
		answered <- err
	}()
	select {
	case <-answered:
		t.Fatal("a fourth connection was served")
	case <-time.After(100 * time.Millisecond):
	}
	_ = held[0].Close()
	assert.NoError(t, <-answered)
}

// TestOuter: hosts are reached through the proxy of this process, which sees names. What is admitted stays the same.
func TestOuter(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 20)
	outer := serverOf(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.RequestURI + " " + r.Header.Get("Proxy-Authorization")
		if r.Method != http.MethodConnect {
			_, _ = io.WriteString(w, "plain")
			return
		}
		if strings.HasPrefix(r.RequestURI, "closed") {
			http.Error(w, "no", http.StatusProxyAuthRequired)
			return
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nfirst bytes")
			_ = c.Close()
		}
	})
	at := &url.URL{Scheme: "http", Host: outer, User: url.UserPassword("me", "pw")}
	w := newWorld(t, outer, nil, proxy.Settings{Outer: at}, "api.example.com", "x.example:25", "closed.example:25")
	status, text := get(t, client(w.at), "http://api.example.com/x")
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "plain", text)
	assert.Equal(t, "GET http://api.example.com/x Basic bWU6cHc=", <-asked)
	got, _ := io.ReadAll(connected(t, w.at, "x.example:25"))
	assert.Equal(t, "first bytes", string(got))
	assert.Equal(t, "CONNECT x.example:25 Basic bWU6cHc=", <-asked)
	status, text = raw(t, w.at, "CONNECT closed.example:25 HTTP/1.1\r\nHost: x\r\n\r\n")
	assert.Equal(t, http.StatusBadGateway, status)
	assert.Contains(t, text, "the proxy of this machine refuses it: 407")
	<-asked
	status, _ = raw(t, w.at, "CONNECT evil.example:25 HTTP/1.1\r\nHost: x\r\n\r\n")
	assert.Equal(t, http.StatusForbidden, status)
	assert.Empty(t, w.lookups())
	assert.Empty(t, asked)
	assert.Equal(t, []string{"api.example.com", "x.example:25"}, w.Admitted())

	w = newWorld(t, outer, nil, proxy.Settings{Outer: &url.URL{Scheme: "socks5", Host: outer}}, "x.example:25")
	_, text = raw(t, w.at, "CONNECT x.example:25 HTTP/1.1\r\nHost: x\r\n\r\n")
	assert.Contains(t, text, "of a kind that tunnels cannot use: socks5")
}

// TestClose ends tunnels that are open, and requests whose answer has not come.
func TestClose(t *testing.T) {
	t.Parallel()
	came := make(chan struct{}, 2)
	at := listen(t, func(c net.Conn) {
		came <- struct{}{}
		_, err := io.Copy(io.Discard, c)
		assert.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	})
	w := newWorld(t, at, public(), proxy.Settings{}, "api.example.com", "x.example:25")
	c := open(t, w.at)
	_, _ = io.WriteString(c, "GET http://api.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n")
	<-came
	_ = open(t, w.at)
	closed := make(chan struct{})
	go func() { w.Close(); w.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(patience):
		t.Fatal("the proxy does not end")
	}
	w = newWorld(t, at, public(), proxy.Settings{}, "api.example.com")
	c = connected(t, w.at, "api.example.com:80")
	<-came
	w.Close()
	_, err := c.Read(make([]byte, 1))
	assert.Error(t, err)
	assert.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	_, err = new(net.Dialer).DialContext(t.Context(), "tcp", w.at)
	assert.Error(t, err)
}
