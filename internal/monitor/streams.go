package monitor

import (
	"sync"
	"sync/atomic"
	"time"
)

// late is how long a client may take for what is there before it lags.
const late = time.Second

// streams are the clients that read events.
type streams struct {
	mu     sync.Mutex
	open   map[*Stream]struct{}
	missed atomic.Uint64
}

// Stream is one client that reads events. It is for one goroutine, which calls Close.
type Stream struct {
	of *streams
	// behind is when it was given something that it has not taken yet, in Unix nanoseconds; 0 is that it has all.
	behind atomic.Int64
}

// Stream counts a client that reads events, until it is closed.
func (m *Monitor) Stream() *Stream {
	s := &Stream{of: &m.streams}
	m.streams.mu.Lock()
	defer m.streams.mu.Unlock()
	if m.streams.open == nil {
		m.streams.open = map[*Stream]struct{}{}
	}
	m.streams.open[s] = struct{}{}
	return s
}

// Behind says that there is something that the client has not taken yet.
func (s *Stream) Behind() { s.behind.CompareAndSwap(0, time.Now().UnixNano()) }

// Has says that the client has taken all that there is.
func (s *Stream) Has() { s.behind.Store(0) }

// Missed says that so many events were left out.
func (s *Stream) Missed(n uint64) { s.of.missed.Add(n) }

// Close says that the client has gone.
func (s *Stream) Close() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	delete(s.of.open, s)
}

// count returns how many streams there are, how many lag, and how many events were left out.
func (s *streams) count() (open, lagging int, missed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := time.Now().Add(-late).UnixNano()
	for one := range s.open {
		if at := one.behind.Load(); at != 0 && at < limit {
			lagging++
		}
	}
	return len(s.open), lagging, s.missed.Load()
}
