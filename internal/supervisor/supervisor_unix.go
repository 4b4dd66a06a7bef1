//go:build unix

package supervisor

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Supervisor starts commands. Its process starts with the first command, and again
// with the next one if it was killed. The zero value is not usable; New makes one.
// It is safe for concurrent use.
type Supervisor struct {
	mu     sync.Mutex // guards the fields below; held while the helper starts
	helper *helper
	closed bool

	// patience limits the wait for an answer of the supervisor. It only starts and signals
	// processes; if it takes longer, another process has stopped it.
	patience time.Duration
}

// New returns a supervisor without a process.
func New() *Supervisor { return &Supervisor{patience: 10 * time.Second} }

// Start starts the command. It returns when the command runs, or with the error of
// the system, such as [os.ErrNotExist]. That takes a moment; a supervisor that does not
// answer for ten seconds is killed, which is an error.
func (s *Supervisor) Start(c Command) (*Process, error) {
	dir, err := filepath.Abs(c.Dir) // the supervisor's own directory is the root
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	c.Dir, c.Env = dir, lastSettings(c.Env)
	if len(c.Args) == 0 {
		c.Args = []string{c.Path}
	}
	h, err := s.running()
	if err != nil {
		return nil, err
	}
	p, err := h.start(c)
	if errors.Is(err, net.ErrClosed) { // it has just ended, before the request
		<-h.ended
		if h, err = s.running(); err == nil {
			p, err = h.start(c)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	return p, nil
}

// running returns the helper; it starts one if there is none.
func (s *Supervisor) running() (*helper, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if s.helper != nil && !s.helper.gone() {
		return s.helper, nil
	}
	h, err := startHelper(s.patience)
	if err != nil {
		return nil, fmt.Errorf("start the supervisor of commands: %w", err)
	}
	s.helper = h
	return h, nil
}

// Close kills all commands and their descendants, ends the supervisor and waits for its
// end, at most some seconds. A second Close does nothing.
func (s *Supervisor) Close() error {
	s.mu.Lock()
	h := s.helper
	s.closed, s.helper = true, nil
	s.mu.Unlock()
	if h == nil {
		return nil
	}
	return h.close()
}

// files returns the descriptors of a command, with the null device for those that
// are missing.
func (c Command) files() (fds []int, null *os.File, err error) {
	for _, f := range []*os.File{c.Stdin, c.Stdout, c.Stderr} {
		if f == nil {
			if null == nil {
				if null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
					return fds, nil, err
				}
			}
			f = null
		}
		fds = append(fds, int(f.Fd()))
	}
	return fds, null, nil
}

// signalName returns the text after the number of a signal.
func signalName(n int) string { return " (" + syscall.Signal(n).String() + ")" }

func startError(errno int) error {
	if errno == 0 {
		return nil
	}
	return syscall.Errno(errno)
}

var errStuck = errors.New("the supervisor of commands did not answer and was killed; try again")
