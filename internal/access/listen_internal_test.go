package access

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestConnections: a connection beyond the bound is closed at once, and one that ends makes room.
func TestConnections(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ln := &bounded{Listener: inner, limits: limits{all: 10, ofOne: 1, ofLocal: 2}, of: map[netip.Addr]int{}}
	accepted, done := make(chan net.Conn, 10), make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", inner.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	dial()
	dial()
	first, second := <-accepted, <-accepted
	beyond := dial()
	require.NoError(t, beyond.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = beyond.Read(make([]byte, 1))
	require.Error(t, err)
	assert.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it was closed")
	require.NoError(t, first.Close())
	_ = first.Close() // counts once
	dial()
	third := <-accepted
	require.NoError(t, second.Close())
	require.NoError(t, third.Close())
	require.NoError(t, ln.Close())
	<-done
	assert.Zero(t, ln.all)
	assert.Empty(t, ln.of)
}

// TestNoAddressTakesAll: other addresses get in while one has all that it may, up to the bound of all.
func TestNoAddressTakesAll(t *testing.T) {
	t.Parallel()
	l := &bounded{limits: limits{all: 5, ofOne: 2, ofLocal: 3}, of: map[netip.Addr]int{}}
	a, b, local := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("127.0.0.1")
	got := map[netip.Addr]int{}
	for _, from := range []netip.Addr{a, a, a, local, local, b, b} {
		if l.take(from) {
			got[from]++
		}
	}
	assert.Equal(t, map[netip.Addr]int{a: 2, local: 2, b: 1}, got)
	l.release(a)
	assert.True(t, l.take(b))
	d := clientLimits()
	assert.Less(t, d.ofOne, d.all)
	assert.Less(t, d.ofLocal, d.all)
}

// A machine has one address, whatever it calls itself, and so has a network of IPv6; who has a connection leaves some to who has none.
func TestOrigins(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"127.0.0.1": "::1", "127.9.9.9": "::1", "::1": "::1", "192.0.2.7": "192.0.2.7", "2001:db8:1:2::1": "2001:db8:1:2::", "2001:db8:1:2:ffff::9": "2001:db8:1:2::", "2001:db8:1:3::1": "2001:db8:1:3::",
	} {
		assert.Equal(t, netip.MustParseAddr(want), origin(netip.MustParseAddr(from)), from)
	}
	l := &bounded{limits: limits{all: 16, ofOne: 100, ofLocal: 100}, of: map[netip.Addr]int{}}
	greedy, late := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for range 14 {
		assert.True(t, l.take(greedy))
	}
	assert.False(t, l.take(greedy))
	assert.True(t, l.take(late))
	assert.False(t, l.take(late), "it has one now")
}

// TestUnreadableTokensAreToldOnce, however many ask: nobody needs a token to ask.
func TestUnreadableTokensAreToldOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.json")
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	told := 0
	door := Door{Gate: NewGate(OpenTokens(path), "/p", func(string) { told++ })}
	r := httptest.NewRequest(http.MethodGet, "/v1/health", nil)
	r.Header.Set("Authorization", "Bearer grapnel_aaaaaaaaaa_b")
	for range 50 {
		_, err := door.Caller(r)
		require.Error(t, err)
	}
	assert.Equal(t, 1, told)
}
