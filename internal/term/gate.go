package term

import (
	"bytes"
	"io"
	"sync"
)

// Gate is a writer that buffers output while it is closed, and writes it when it is opened
// again. So no other output appears while a person answers a question. A nil Gate is always
// open and drops its output. It is safe for concurrent use.
type Gate struct {
	mu     sync.Mutex
	out    io.Writer
	closed int
	kept   bytes.Buffer
	// err is the error of the last buffered write; the next Write returns it.
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

// Close buffers output until every Close has its Open.
func (g *Gate) Close() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed++
}

// Open undoes one Close. The last one writes the buffer.
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
