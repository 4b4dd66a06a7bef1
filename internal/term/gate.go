package term

import (
	"bytes"
	"io"
	"sync"
)

// Gate is a writer that keeps what is written while it is closed, and passes it
// on when it is opened again: while a person answers a question, nothing else
// appears on the screen. A nil Gate is always open and has nobody to write to.
// Safe for concurrent use.
type Gate struct {
	mu     sync.Mutex
	out    io.Writer
	closed int
	kept   bytes.Buffer
	// err is why what was kept could not be written; the next Write returns it.
	err error
}

// NewGate returns an open gate to out.
func NewGate(out io.Writer) *Gate { return &Gate{out: out} }

// Write implements io.Writer.
func (g *Gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.err != nil:
		return 0, g.err
	case g.closed > 0:
		return g.kept.Write(p)
	}
	return g.out.Write(p)
}

// Close keeps what is written from now on until every Close has its Open.
func (g *Gate) Close() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed++
}

// Open writes what was kept, unless the gate was closed more than once.
func (g *Gate) Open() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed--
	if g.closed > 0 || g.kept.Len() == 0 {
		return
	}
	_, g.err = g.out.Write(g.kept.Bytes())
	g.kept.Reset()
}
