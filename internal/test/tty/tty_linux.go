package tty

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Patience is how long a test waits for the screen before it fails. It is no
// part of what is tested.
const Patience = 30 * time.Second

// Terminal is one terminal. Make it with Open.
type Terminal struct {
	t      *testing.T
	master *os.File
	tty    *os.File
	done   sync.WaitGroup

	mu      sync.Mutex
	screen  *Screen
	raw     []byte
	changed chan struct{}
}

// Open returns a terminal of a size. It is closed when the test ends.
func Open(t *testing.T, columns, rows int) *Terminal {
	t.Helper()
	master, tty, err := Pair()
	if err != nil {
		t.Fatalf("open a pseudo-terminal: %v", err)
	}
	w := &Terminal{t: t, master: master, tty: tty, screen: NewScreen(columns, rows), changed: make(chan struct{})}
	w.Resize(columns, rows)
	w.done.Go(w.read)
	t.Cleanup(w.close)
	return w
}

// Pair returns both sides of a new terminal: what a person types into and sees, and
// what a program has. The caller closes both.
func Pair() (master, tty *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	// Non-blocking, so that closing it ends a read.
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	return master, tty, nil
}

func (w *Terminal) close() {
	_ = w.tty.Close()
	_ = w.master.Close()
	w.done.Wait()
}

// Finish waits until all that was written is on the screen. Call it when the
// program has ended: it closes the program's side.
func (w *Terminal) Finish() {
	_ = w.tty.Close()
	w.done.Wait()
}

func (w *Terminal) read() {
	buf := make([]byte, 4096)
	for {
		n, err := w.master.Read(buf)
		w.mu.Lock()
		w.screen.Write(buf[:n])
		w.raw = append(w.raw, buf[:n]...)
		close(w.changed)
		w.changed = make(chan struct{})
		w.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// TTY is the program's side, for its standard input and output.
func (w *Terminal) TTY() *os.File { return w.tty }

// Resize changes the size of the terminal. The screen does not wrap anew what it
// shows.
func (w *Terminal) Resize(columns, rows int) {
	w.t.Helper()
	size := &unix.Winsize{Col: uint16(columns), Row: uint16(rows)}
	w.mu.Lock()
	w.screen.resize(columns, rows)
	w.mu.Unlock()
	if err := w.control(func(fd int) error { return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, size) }); err != nil {
		w.t.Fatalf("resize the terminal: %v", err)
	}
}

func (w *Terminal) control(do func(fd int) error) error {
	raw, err := w.master.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = raw.Control(func(fd uintptr) { inner = do(int(fd)) })
	return errors.Join(err, inner)
}

// Mode is the state of the terminal, to be compared.
func (w *Terminal) Mode() unix.Termios {
	w.t.Helper()
	var mode *unix.Termios
	if err := w.control(func(fd int) (err error) { mode, err = unix.IoctlGetTermios(fd, unix.TCGETS); return err }); err != nil {
		w.t.Fatalf("ask for the terminal's mode: %v", err)
	}
	return *mode
}

// Type sends keys.
func (w *Terminal) Type(keys string) {
	w.t.Helper()
	if _, err := w.master.WriteString(keys); err != nil {
		w.t.Fatalf("type %q: %v", keys, err)
	}
}

// Text is what was ever on the screen, from the first line on.
func (w *Terminal) Text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.screen.Text()
}

// Raw is every byte that was written.
func (w *Terminal) Raw() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.raw)
}

// Wait waits until what was ever on the screen ends with a text, apart from
// blanks at its end, and returns it all.
func (w *Terminal) Wait(end string) string {
	w.t.Helper()
	return w.Until(fmt.Sprintf("the screen ends with %q", end), func(s string) bool {
		return strings.HasSuffix(strings.TrimRight(s, " \n"), strings.TrimRight(end, " \n"))
	})
}

// Until waits until what was ever on the screen is as wanted, and returns it.
func (w *Terminal) Until(what string, ok func(screen string) bool) string {
	w.t.Helper()
	late := time.NewTimer(Patience)
	defer late.Stop()
	for {
		w.mu.Lock()
		text, changed := w.screen.Text(), w.changed
		w.mu.Unlock()
		if ok(text) {
			return text
		}
		select {
		case <-changed:
		case <-late.C:
			w.t.Fatalf("waited in vain until %s; the screen is:\n%s", what, text)
		}
	}
}

// Reads is how often a program has begun to read keys, so far as it asks for
// pasted text in brackets then.
func (w *Terminal) Reads() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.screen.begun
}

// Cursor is where the cursor is, from the first line that was ever on the screen.
func (w *Terminal) Cursor() (row, column int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.screen.gone) + w.screen.row, w.screen.col
}
