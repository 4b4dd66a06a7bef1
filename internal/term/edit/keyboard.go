package edit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/term"
)

// Keyboard reads keys of a terminal as they are pressed, without showing them. It is for one goroutine.
type Keyboard struct {
	in      *input
	restore func() error
	unwatch func()
}

// OpenKeyboard takes the keys of a terminal until Close. Also Ctrl-C is a key then, and a line ends with "\r\n".
func OpenKeyboard(ctx context.Context, in *os.File) (*Keyboard, error) {
	i, err := newInput(in)
	if err != nil {
		return nil, fmt.Errorf("read the terminal: %w", err)
	}
	restore, err := i.raw()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read keys: %w", err), i.close())
	}
	return &Keyboard{i, restore, i.watch(ctx)}, nil
}

// Wait waits for keys, for a time that is not 0. It returns none after that, when the screen has another size, and when the context
// has ended; the error io.EOF says that the terminal is gone.
func (k *Keyboard) Wait(most time.Duration) ([]byte, error) {
	buf := make([]byte, 64)
	n, err := k.in.read(buf, most)
	return buf[:n], err
}

// Close gives the terminal back as it was.
func (k *Keyboard) Close() error {
	k.unwatch()
	return errors.Join(k.restore(), k.in.close())
}

// Size returns the columns and rows of a terminal; 80 and 24 if they are not known.
func Size(out *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(out.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
		return 80, 24
	}
	return columns, rows
}
