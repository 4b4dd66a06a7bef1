package conn

import "sync"

// stderrKept is the number of bytes of a server's error output that are kept.
const stderrKept = 16 << 10

// ring keeps the last max bytes that were written to it. It is safe for
// concurrent use.
type ring struct {
	max int
	mu  sync.Mutex
	buf []byte
	at  int // of the oldest byte, once buf is full
}

// Write keeps the end of b; it never fails.
func (r *ring) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(b)
	b = b[max(0, n-r.max):]
	grow := min(len(b), r.max-len(r.buf))
	r.buf = append(r.buf, b[:grow]...)
	for b = b[grow:]; len(b) > 0; {
		k := copy(r.buf[r.at:], b)
		b, r.at = b[k:], (r.at+k)%r.max
	}
	return n, nil
}

// String returns what is kept, oldest first.
func (r *ring) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.buf[r.at:]) + string(r.buf[:r.at])
}

func (r *ring) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf, r.at = r.buf[:0], 0
}
