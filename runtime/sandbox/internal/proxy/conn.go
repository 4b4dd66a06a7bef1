package proxy

import (
	"errors"
	"net"
	"sync"
	"time"
)

// limited is a listener that has a number of connections at most. Further ones wait in the kernel, which costs this process nothing.
type limited struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	once   sync.Once
	idle   time.Duration
}

func newLimited(l net.Listener, most int, idle time.Duration) *limited {
	return &limited{Listener: l, slots: make(chan struct{}, most), closed: make(chan struct{}), idle: idle}
}

// Accept implements [net.Listener].
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &client{Conn: c, idle: l.idle, free: sync.OnceFunc(func() { <-l.slots })}, nil
}

// Close implements [net.Listener].
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// client is the connection of a program. It frees its slot when it is closed. A program that does not read what it has asked for loses it.
type client struct {
	net.Conn
	idle time.Duration
	free func()
}

// Write implements [net.Conn].
func (c *client) Write(b []byte) (int, error) {
	_ = c.SetWriteDeadline(time.Now().Add(c.idle))
	return c.Conn.Write(b)
}

// CloseWrite ends what is written.
func (c *client) CloseWrite() error { return closeWrite(c.Conn) }

// Close implements [net.Conn].
func (c *client) Close() error {
	defer c.free()
	return c.Conn.Close()
}

// idler is a connection to a host that ends when nothing has moved on it for a while, in either direction: a long answer comes without a
// byte to the host, and a long upload without one from it.
type idler struct {
	net.Conn
	idle time.Duration
}

func newIdler(c net.Conn, idle time.Duration) *idler { return &idler{c, idle} }

func (c *idler) touch() { _ = c.SetDeadline(time.Now().Add(c.idle)) }

// Read implements [net.Conn].
func (c *idler) Read(b []byte) (int, error) {
	c.touch()
	return c.Conn.Read(b)
}

// Write implements [net.Conn].
func (c *idler) Write(b []byte) (int, error) {
	c.touch()
	return c.Conn.Write(b)
}

// CloseWrite ends what is written.
func (c *idler) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
