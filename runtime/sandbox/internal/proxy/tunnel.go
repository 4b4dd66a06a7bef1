package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// tunnel connects a program with a host.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	t, err := p.admit(r.RequestURI, 0)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	there, err := p.connect(r.Context(), t)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	defer there.Close()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "this connection cannot become a tunnel", http.StatusInternalServerError)
		return
	}
	defer here.Close()
	defer context.AfterFunc(p.life, func() { _, _ = here.Close(), there.Close() })()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	u := &pair{here: here, there: there, idle: p.idle}
	begin := func() bool { return p.begun(u, buffered, t) }
	if t.web() { // the program speaks first, and soon
		if !begin() {
			return
		}
		begin = func() bool { return true }
	}
	var both sync.WaitGroup
	both.Go(func() {
		if begin() {
			u.carry(there, buffered)
		}
	})
	both.Go(func() { u.carry(here, there) })
	both.Wait()
}

// web reports whether the target is a server of TLS: the port is that of the web, and no grant names it.
func (t target) web() bool { return t.port == 443 && !t.exact }

// begun reads the first bytes of a tunnel from r, and sends them on if they may be sent. Else it closes both ends.
func (p *Proxy) begun(u *pair, r io.Reader, t target) bool {
	first, err := p.inspect(u.here, r, t)
	if err == nil {
		_, err = u.there.Write(first)
	}
	if err != nil {
		u.close()
	}
	return err == nil
}

// pair is the two ends of a tunnel.
type pair struct {
	here, there net.Conn
	idle        time.Duration
}

func (u *pair) touch() {
	until := time.Now().Add(u.idle)
	_, _ = u.here.SetDeadline(until), u.there.SetDeadline(until)
}

func (u *pair) close() { _, _ = u.here.Close(), u.there.Close() }

// carry copies until r ends, and then ends what is written. After a failure, or when nothing has moved in either direction for a while, it
// closes both ends.
func (u *pair) carry(to net.Conn, r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		u.touch()
		n, err := r.Read(buf)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				u.close()
				return
			}
		}
		if errors.Is(err, io.EOF) && closeWrite(to) == nil {
			return
		}
		if err != nil {
			u.close()
			return
		}
	}
}

// inspect reads the first bytes of a tunnel, which come from r over here, and returns them. If they begin TLS, the name in it must be
// admitted: one tunnel leads to one host, also where many names share an address. It tells the program about a refusal as a server does.
func (p *Proxy) inspect(here net.Conn, r io.Reader, t target) ([]byte, error) {
	const handshake = 0x16
	if t.web() {
		_ = here.SetReadDeadline(time.Now().Add(p.hello))
	}
	first := make([]byte, 1)
	_, err := io.ReadFull(r, first)
	switch {
	case errors.Is(err, io.EOF) && !t.web():
		return nil, nil
	case err != nil:
		return nil, err
	case first[0] != handshake && t.web():
		return nil, errNoTLS
	case first[0] != handshake:
		return first, nil
	}
	_ = here.SetReadDeadline(time.Now().Add(p.hello))
	name, read, err := helloName(here, io.MultiReader(bytes.NewReader(first), r))
	if err == nil && p.mayName(t, name) {
		return read, nil
	}
	_, _ = here.Write([]byte{0x15, 3, 3, 0, 2, 2, 112}) // a fatal alert: unrecognized_name
	return nil, errNoTLS
}

// errNoTLS is the error for a tunnel that does not begin as one of TLS to its target.
var errNoTLS = errors.New("no TLS to the host of the tunnel")

// mayName reports whether TLS in a tunnel to a target may name a server, and notes it if not. Who was given an address may ask for any name
// there.
func (p *Proxy) mayName(t target, name string) bool {
	if name == "" || isAddress(t.name) {
		return true
	}
	clean, ok := plain(name)
	if !ok {
		return false
	}
	asked, ok := find(p.hosts, clean, t.port)
	if !ok {
		p.refused.add(asked.host().String())
	}
	return ok
}

// helloName reads the first message of TLS from r, which comes from c, and returns the name of the server in it, "" for none, and all bytes that it has read: at most
// some 64 KiB. An error says that they are no such message, or that it names servers in more than one way.
func helloName(c net.Conn, r io.Reader) (name string, read []byte, err error) {
	var all bytes.Buffer
	seen := errors.New("seen")
	err = tls.Server(reader{Conn: c, r: io.TeeReader(io.LimitReader(r, 96<<10), &all)}, &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			name = hello.ServerName
			return nil, seen
		},
	}).Handshake()
	if !errors.Is(err, seen) {
		return "", nil, fmt.Errorf("no first message of TLS: %w", err)
	}
	return name, all.Bytes(), nil
}

// reader is a connection that can be read and nothing else.
type reader struct {
	net.Conn
	r io.Reader
}

// Read implements [net.Conn].
func (c reader) Read(p []byte) (int, error) { return c.r.Read(p) }

// Write implements [net.Conn]. It drops what is written.
func (c reader) Write(p []byte) (int, error) { return len(p), nil }

// SetWriteDeadline implements [net.Conn]. It does nothing.
func (c reader) SetWriteDeadline(time.Time) error { return nil }

// Close implements [net.Conn]. It does nothing.
func (c reader) Close() error { return nil }
