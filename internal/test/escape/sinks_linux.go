package escape

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/grapnel-go/grapnel/internal/test/tty"
)

// sinks are the places outside that record what reaches them.
type sinks struct {
	done    sync.WaitGroup
	closers []io.Closer

	mu  sync.Mutex
	got map[string]string
}

// listen opens the sockets of a world, and fills in where they are.
func listen(w *World) (*sinks, error) {
	s := &sinks{got: map[string]string{}}
	run := w.places["run"]
	w.places["socket"], w.places["gram"] = filepath.Join(run, "daemon.sock"), filepath.Join(run, "daemon.gram")
	w.places["abstract"] = "@" + w.mark[4:]
	var problems []error
	for name, at := range map[string][2]string{
		"tcp": {"tcp4", "127.0.0.1:0"}, "daemon": {"unix", w.places["socket"]}, "abstract": {"unix", w.places["abstract"]}, "tcp6": {"tcp6", "[::1]:0"},
	} {
		l, err := net.Listen(at[0], at[1])
		if err != nil {
			if name != "tcp6" { // not every machine has it
				problems = append(problems, err)
			}
			continue
		}
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			w.places[name] = a.String()
			w.places[name+"port"] = strings.TrimPrefix(a.String()[strings.LastIndex(a.String(), ":"):], ":")
		}
		s.closers = append(s.closers, l)
		s.done.Go(func() { s.accept(name, l) })
	}
	for name, at := range map[string][2]string{"udp": {"udp4", "127.0.0.1:0"}, "daemongram": {"unixgram", w.places["gram"]}} {
		c, err := net.ListenPacket(at[0], at[1])
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if a, ok := c.LocalAddr().(*net.UDPAddr); ok {
			w.places["udp"] = a.String()
			w.places["udpport"] = strings.TrimPrefix(a.String()[strings.LastIndex(a.String(), ":"):], ":")
		}
		s.closers = append(s.closers, c)
		s.done.Go(func() { s.packets(name, c) })
	}
	if err := errors.Join(problems...); err != nil {
		s.close(nil)
		return nil, err
	}
	return s, nil
}

func (s *sinks) add(name string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got[name] += string(data)
}

// has reports whether a sink has received a text.
func (s *sinks) has(name, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.got[name], text)
}

// track closes what was opened later when the sinks are closed.
func (s *sinks) track(c io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closers = append(s.closers, c)
}

func (s *sinks) accept(name string, l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.track(c)
		s.done.Go(func() { s.stream(name, c) })
	}
}

// stream records what is sent, and answers what could be a request over HTTP.
func (s *sinks) stream(name string, c io.ReadWriteCloser) {
	defer func() { _ = c.Close() }()
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		s.add(name, buf[:n])
		if err != nil {
			return
		}
		if strings.Contains(string(buf[:n]), " HTTP/1") {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			return
		}
	}
}

func (s *sinks) packets(name string, c net.PacketConn) {
	buf := make([]byte, 4096)
	for {
		n, _, err := c.ReadFrom(buf)
		if err != nil {
			return
		}
		s.add(name, buf[:n])
	}
}

// leaked returns one end of a connected pair; what is sent over it counts as leaked.
func (s *sinks) leaked() (*os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	ours := os.NewFile(uintptr(pair[0]), "leaked")
	s.track(ours)
	s.done.Go(func() { s.stream("leaked", ours) })
	return os.NewFile(uintptr(pair[1]), "leaked"), nil
}

// terminal opens a terminal of the user; what appears on it counts as terminal.
func (s *sinks) terminal(id Identity) (*os.File, error) {
	master, slave, err := tty.Pair()
	if err != nil {
		return nil, err
	}
	s.track(master)
	s.done.Go(func() { s.stream("terminal", master) })
	if id != Myself() {
		err = slave.Chown(id.UID, id.GID)
	}
	return slave, err
}

// close ends all goroutines.
func (s *sinks) close(terminal *os.File) {
	if terminal != nil {
		_ = terminal.Close()
	}
	s.mu.Lock()
	closers := s.closers
	s.mu.Unlock()
	// Listeners are the first, so that no connection comes after the last was closed.
	for _, c := range closers {
		_ = c.Close()
	}
	s.mu.Lock()
	later := s.closers[len(closers):]
	s.mu.Unlock()
	for _, c := range later {
		_ = c.Close()
	}
	s.done.Wait()
}
