//go:build unix

package node

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Server is a program of the packages that listens on a port of this machine
// only.
type Server struct {
	// Addr is where it listens: "127.0.0.1:40001".
	Addr string

	cmd   *exec.Cmd
	ended chan struct{}
	once  sync.Once
}

// listen makes every server of the program listen on loopback only, on a free port for port
// 0, and print its address.
const listen = `data:text/javascript,` +
	`import net from "node:net";` +
	`const listen = net.Server.prototype.listen;` +
	`net.Server.prototype.listen = function (port, ...rest) {` +
	`this.once("listening", () => process.stderr.write("LISTENING " + this.address().address + ":" + this.address().port + "\n"));` +
	`return listen.call(this, Number(port), "127.0.0.1", ...rest.filter((r) => typeof r === "function"));` +
	`};`

// startTime is how long a program may take until it listens.
const startTime = 20 * time.Second

// Serve starts a program with PORT=0 and returns once it listens. It is killed,
// with everything that it started, by Kill or at the end of the test.
func Serve(t testing.TB, program string, args ...string) *Server {
	t.Helper()
	path := Require(t, program)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	s := &Server{cmd: exec.Command("node", append([]string{"--import", listen, path}, args...)...), ended: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), "PORT=0")
	s.cmd.Stderr = in
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	_ = in.Close()
	addr := make(chan string, 1)
	go func() {
		defer close(s.ended)
		read(out, addr)
		_ = s.cmd.Wait() // it is killed
		_ = out.Close()
	}()
	t.Cleanup(s.Kill)
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	defer cancel()
	select {
	case s.Addr = <-addr:
	case <-s.ended:
		t.Fatalf("%s ended before it listened: %v", program, s.cmd.ProcessState)
	case <-ctx.Done():
		t.Fatalf("%s did not listen within %v", program, startTime)
	}
	return s
}

// read reads the output to its end and sends the address in it.
func read(out io.Reader, addr chan<- string) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at, ok := strings.CutPrefix(lines.Text(), "LISTENING "); ok {
			select {
			case addr <- at:
			default:
			}
		}
	}
	_, _ = io.Copy(io.Discard, out)
}

// Kill kills the program and its process group and waits for its end.
func (s *Server) Kill() {
	s.once.Do(func() { _ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) })
	<-s.ended
}
