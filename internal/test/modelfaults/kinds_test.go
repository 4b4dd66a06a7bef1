package modelfaults_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/grapnel-go/grapnel/runtime/provider/providertest"
	"github.com/grapnel-go/grapnel/subsystems/fallback"
)

// answer is what a server sends, and what the network makes of it.
type answer struct {
	// status 0 is no head at all.
	status int
	header http.Header
	// pieces are what the reads of the body return, each after a pause.
	pieces []string
	pause  time.Duration
	// end is the error of the last read; nil is that it never returns.
	end error

	// took is after which time the adapter gives up; an answer that ends takes none.
	took time.Duration
	// asked is the pause that the server asks for.
	asked time.Duration
	// most is how often a call may be made if this is its last answer; 0 is tries.
	most int
}

// kind is a kind of fault.
type kind struct {
	name string
	// harmless: the answer is whole. doubles: it has an event twice, which an adapter may
	// notice or not.
	harmless, doubles bool
	// make damages an answer.
	make func(d dialect, r *rand.Rand, s providertest.Stream) answer
}

// tries is how often a call is made.
const tries = fallback.DefaultTries

// kinds are the kinds of faults.
func kinds() []kind {
	return []kind{
		{name: "429", make: func(_ dialect, r *rand.Rand, _ providertest.Stream) answer { return refusal(429) }},
		{name: "429 with Retry-After", make: retryAfter},
		{name: "429 with an absurd Retry-After", make: absurd},
		{name: "5xx", make: func(_ dialect, r *rand.Rand, _ providertest.Stream) answer {
			a := refusal(500 + r.IntN(5))
			if a.status == http.StatusGatewayTimeout {
				a.most = timeoutTries
			}
			return a
		}},
		{name: "timeout", make: timeout},
		{name: "reset", make: func(_ dialect, r *rand.Rand, s providertest.Stream) answer {
			return cutAt(s, r.IntN(finishAt(s)), &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET})
		}},
		{name: "slicer", harmless: true, make: slicer},
		{name: "limit_data", make: func(_ dialect, r *rand.Rand, s providertest.Stream) answer {
			return cutAt(s, r.IntN(finishAt(s)), io.ErrUnexpectedEOF)
		}},
		{name: "EOF without the terminal event", make: unfinished},
		{name: "duplicate event", harmless: true, doubles: true, make: func(_ dialect, r *rand.Rand, s providertest.Stream) answer {
			at := r.IntN(len(s.Events))
			return stream(slices.Insert(slices.Clone(s.Events), at, s.Events[at]))
		}},
		{name: "garbage line", make: func(_ dialect, r *rand.Rand, s providertest.Stream) answer {
			at := r.IntN(1 + s.Finish)
			return stream(slices.Insert(slices.Clone(s.Events), at, "\x00\xff<garbage>\n"))
		}},
		{name: "wrong content type", make: func(_ dialect, r *rand.Rand, s providertest.Stream) answer {
			a := stream(s.Events)
			a.header = http.Header{"Content-Type": {[]string{"text/html", "text/plain", "application/json"}[r.IntN(3)]}}
			if r.IntN(2) == 0 {
				a.pieces = []string{"<html><title>a portal</title></html>"}
			}
			return a
		}},
		{name: "cut in arguments", make: func(d dialect, r *rand.Rand, s providertest.Stream) answer {
			from := max(0, strings.Index(strings.Join(s.Events, ""), d.arguments)) // of an answer without calls: anywhere
			return cutAt(s, from+r.IntN(finishAt(s)-from), broken(r))
		}},
		{name: "cut in UTF-8", make: func(_ dialect, r *rand.Rand, s providertest.Stream) answer {
			wire, at := strings.Join(s.Events, ""), []int{}
			for i, c := range wire {
				if c > 0x7f {
					at = append(at, i+1)
				}
			}
			return cutAt(s, at[r.IntN(len(at))], broken(r))
		}},
	}
}

// timeoutTries is how often a call is made that ends with a timeout.
const timeoutTries = 2

func refusal(status int) answer {
	return answer{status: status, header: http.Header{"Content-Type": {"application/json"}}, pieces: []string{`{"error":{"message":"not now"}}`}, end: io.EOF}
}

// retryAfter asks for a pause in one of three ways, and seldom for too long a one.
func retryAfter(_ dialect, r *rand.Rand, _ providertest.Stream) answer {
	a := refusal(429)
	a.asked = time.Duration(1+r.IntN(62)) * time.Second
	switch r.IntN(3) {
	case 0:
		a.header.Set("Retry-After", fmt.Sprint(int(a.asked.Seconds())))
	case 1:
		a.header.Set("Retry-After-Ms", fmt.Sprint(a.asked.Milliseconds()))
	default:
		a.header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
		a.header.Set("Retry-After", time.Now().UTC().Add(a.asked).Format(http.TimeFormat))
	}
	if a.asked > fallback.DefaultMaxWait {
		a.most = 1
	}
	return a
}

// absurd asks for what nobody waits for, or for nothing that can be understood.
func absurd(_ dialect, r *rand.Rand, _ providertest.Stream) answer {
	a := refusal(429)
	text := []string{"99999999999999999999", "1e300", "Fri, 31 Dec 9999 23:59:59 GMT", "-7", "NaN", "soon", "", "0x7", "Mon, 01 Jan 1900 00:00:00 GMT"}[r.IntN(9)]
	a.header.Set("Retry-After", text)
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 60 || strings.Contains(text, "9999") {
		a.most = 1
	}
	return a
}

// timeout is silent at once or within the answer.
func timeout(_ dialect, r *rand.Rand, s providertest.Stream) answer {
	if r.IntN(2) == 0 {
		return answer{took: headTime, most: timeoutTries}
	}
	a := cutAt(s, r.IntN(finishAt(s)), nil)
	a.took, a.most = idleTime, timeoutTries
	return a
}

// slicer sends an answer in small pieces with pauses.
func slicer(_ dialect, r *rand.Rand, s providertest.Stream) answer {
	a, wire := stream(nil), strings.Join(s.Events, "")
	a.pause = time.Duration(r.IntN(int(idleTime/time.Millisecond))) * time.Millisecond
	for wire != "" {
		n := 1 + r.IntN(min(len(wire), 60))
		a.pieces, wire = append(a.pieces, wire[:n]), wire[n:]
	}
	return a
}

// unfinished leaves out the end from some event on, or only the event that says that the
// answer is whole.
func unfinished(_ dialect, r *rand.Rand, s providertest.Stream) answer {
	if r.IntN(4) == 0 {
		return stream(slices.Delete(slices.Clone(s.Events), s.Finish, s.Finish+1))
	}
	return stream(s.Events[:r.IntN(s.Finish+1)])
}

func stream(pieces []string) answer {
	return answer{status: http.StatusOK, header: http.Header{"Content-Type": {"text/event-stream"}}, pieces: pieces, end: io.EOF}
}

func cutAt(s providertest.Stream, at int, end error) answer {
	a := stream([]string{strings.Join(s.Events, "")[:at]})
	a.end = end
	return a
}

// broken is how a connection ends too early.
func broken(r *rand.Rand) error {
	return []error{io.EOF, io.ErrUnexpectedEOF, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}}[r.IntN(3)]
}

// finishAt returns where the finish begins: what is cut before that is not whole.
func finishAt(s providertest.Stream) int { return len(strings.Join(s.Events[:s.Finish], "")) }

// body is the body of an answer.
type body struct {
	answer
	closed chan struct{}
	once   sync.Once
}

func newBody(a answer) *body {
	a.pieces = slices.Clone(a.pieces)
	return &body{answer: a, closed: make(chan struct{})}
}

func (b *body) Read(p []byte) (int, error) {
	if len(b.pieces) == 0 {
		if b.end == nil {
			<-b.closed
			return 0, net.ErrClosed
		}
		return 0, b.end
	}
	select {
	case <-time.After(b.pause):
	case <-b.closed:
		return 0, net.ErrClosed
	}
	n := copy(p, b.pieces[0])
	if b.pieces[0] = b.pieces[0][n:]; b.pieces[0] == "" {
		b.pieces = b.pieces[1:]
	}
	return n, nil
}

func (b *body) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}
