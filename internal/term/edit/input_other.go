//go:build !unix

package edit

import (
	"context"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// input reads a file with a wait that can be ended. A read cannot be interrupted on this
// system, so the first read starts a goroutine that lives until the input ends.
type input struct {
	file  *os.File
	got   chan chunk
	wakes chan struct{}
	begun bool
	rest  []byte
	// since is when forget was called.
	since time.Time
}

type chunk struct {
	data []byte
	err  error
	at   time.Time
}

func newInput(file *os.File) (*input, error) {
	return &input{file: file, got: make(chan chunk), wakes: make(chan struct{}, 1)}, nil
}

func (i *input) close() error { return nil }

func (i *input) wake() {
	select {
	case i.wakes <- struct{}{}:
	default:
	}
}

func (i *input) pump() {
	for {
		buf := make([]byte, 4096)
		n, err := i.file.Read(buf)
		i.got <- chunk{buf[:n], err, time.Now()}
		if err != nil {
			close(i.got)
			return
		}
	}
}

func (i *input) read(buf []byte, most time.Duration) (int, error) {
	if !i.begun {
		i.begun = true
		go i.pump()
	}
	if len(i.rest) == 0 {
		var late <-chan time.Time
		if most > 0 {
			late = time.After(most)
		}
		select {
		case c, ok := <-i.got:
			if !ok {
				return 0, io.EOF
			}
			i.rest = c.data
			if len(c.data) == 0 || c.at.Before(i.since) {
				i.rest = nil
				return 0, c.err
			}
		case <-i.wakes:
			return 0, nil
		case <-late:
			return 0, nil
		}
	}
	n := copy(buf, i.rest)
	i.rest = i.rest[n:]
	return n, nil
}

// forget drops the input read so far. Input that was typed without Enter stays.
func (i *input) forget() { i.rest, i.since = nil, time.Now() }

func (i *input) watch(ctx context.Context) (stop func()) {
	end := context.AfterFunc(ctx, i.wake)
	return func() { end() }
}

func (i *input) raw() (restore func() error, err error) {
	fd := int(i.file.Fd())
	state, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	return func() error { return term.Restore(fd, state) }, nil
}

func suspend() {}
