package scale_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"sync"
	"sync/atomic"
	"time"
)

// direction is one of the two of a connection.
type direction int

const (
	up   direction = iota // from the daemon to the database
	down                  // from the database to the daemon
)

// relay is the network between one daemon and the database: a TCP proxy that reads PostgreSQL's protocol. Its methods are safe for
// concurrent use.
type relay struct {
	listener net.Listener
	// socket is that of the database.
	socket string
	// rewrite changes statements on their way; nil changes none.
	rewrite *rewriting
	work    sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when what follows changes
	closed  bool
	held    [2]bool
	delay   time.Duration
	// lose is how many answers to commits are still to be lost, and lost how many were.
	lose, lost int
	links      map[*link]bool
}

// link is one connection of the daemon, and that to the database behind it.
type link struct {
	r    *relay
	ends [2]net.Conn // ends[up] leads to the database
	// prepared are the names of the prepared statements that change something. Only the direction up uses it.
	prepared map[string]bool
	// writes: a statement that changes something was sent, and its transaction has not ended.
	writes atomic.Bool
}

func newRelay(socket string, rewrite *rewriting) (*relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{listener: l, socket: socket, rewrite: rewrite, changed: make(chan struct{}), links: map[*link]bool{}}
	r.work.Go(r.accept)
	return r, nil
}

// dsn returns the DSN of the database through the relay, for a program of that name. The cluster trusts its socket, so there is no
// password.
func (r *relay) dsn(program string) string {
	return fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable&application_name=%s", r.listener.Addr(), program)
}

func (r *relay) accept() {
	for {
		daemon, err := r.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", r.socket)
		if err != nil { // it is being restarted
			_ = daemon.Close()
			continue
		}
		k := &link{r: r, ends: [2]net.Conn{server, daemon}, prepared: map[string]bool{}}
		r.mu.Lock()
		open := !r.closed
		if open {
			r.links[k] = true
		}
		r.mu.Unlock()
		if !open {
			k.close()
			return
		}
		for _, d := range []direction{up, down} {
			r.work.Go(func() {
				_ = k.pump(d) // whatever ends it ends the connection
				k.close()
			})
		}
	}
}

func (k *link) close() {
	k.r.mu.Lock()
	delete(k.r.links, k)
	k.r.mu.Unlock()
	for _, c := range k.ends {
		_ = c.Close()
	}
}

// change changes the state of the relay.
func (r *relay) change(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do()
	close(r.changed)
	r.changed = make(chan struct{})
}

// hold keeps all that is sent in these directions, as a network does that has lost its way, until heal.
func (r *relay) hold(ds ...direction) {
	r.change(func() {
		for _, d := range ds {
			r.held[d] = true
		}
	})
}

// slow delays every message.
func (r *relay) slow(by time.Duration) { r.change(func() { r.delay = by }) }

// loseAnswer breaks the connection of the next commit when the database has made it and the daemon does not know yet.
func (r *relay) loseAnswer() { r.change(func() { r.lose++ }) }

// heal ends hold and slow.
func (r *relay) heal() { r.change(func() { r.held, r.delay = [2]bool{}, 0 }) }

// reset breaks all connections.
func (r *relay) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k := range r.links {
		for _, c := range k.ends {
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = c.Close()
		}
	}
}

func (r *relay) close() {
	r.change(func() { r.closed = true })
	_ = r.listener.Close()
	r.reset()
	r.work.Wait()
}

var errRelayClosed = errors.New("the relay is closed")

// wait returns when a message may pass.
func (r *relay) wait(d direction) error {
	for {
		r.mu.Lock()
		closed, held, delay, changed := r.closed, r.held[d], r.delay, r.changed
		r.mu.Unlock()
		switch {
		case closed:
			return errRelayClosed
		case held:
			<-changed
		case delay > 0:
			time.Sleep(delay) // what a slow network takes
			return nil
		default:
			return nil
		}
	}
}

// takesAnswer reports whether the answer to a commit is to be lost.
func (r *relay) takesAnswer() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lose == 0 {
		return false
	}
	r.lose--
	r.lost++
	return true
}

func (r *relay) answersLost() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// pump passes the messages of one direction on.
func (k *link) pump(d direction) error {
	from, to := bufio.NewReader(k.ends[1-d]), bufio.NewWriter(k.ends[d])
	if d == up {
		first, err := readUntyped(from)
		if err != nil {
			return err
		}
		if _, err := to.Write(first); err != nil {
			return err
		}
	}
	for {
		if from.Buffered() == 0 {
			if err := to.Flush(); err != nil {
				return err
			}
		}
		m, err := readMessage(from)
		if err != nil {
			return errors.Join(err, to.Flush())
		}
		if err := k.r.wait(d); err != nil {
			return err
		}
		if m, err = k.look(d, m); err != nil {
			return err
		}
		if _, err := to.Write(m); err != nil {
			return err
		}
	}
}

var errAnswerLost = errors.New("the answer is lost")

// writing finds statements that change something.
var writing = regexp.MustCompile(`(?i)\b(insert|update|delete)\b`)

// look follows what a connection does, and returns the message that goes on instead of m.
func (k *link) look(d direction, m []byte) ([]byte, error) {
	switch {
	case d == up:
		return k.asked(m), nil
	case m[0] == 'C' && bytes.HasPrefix(m[5:], []byte("COMMIT")), // a command is complete
		m[0] == 'Z' && m[5] == 'I' && k.writes.Swap(false): // ready for a query, in no transaction
		if k.r.takesAnswer() {
			return nil, errAnswerLost
		}
	}
	return m, nil
}

// asked is look for what the daemon sends.
func (k *link) asked(m []byte) []byte {
	switch m[0] {
	case 'P', 'Q': // Parse: a name, then the statement; Query: the statement
		if k.r.rewrite != nil {
			m = k.r.rewrite.message(m)
		}
		name, text := text(m[5:])
		if m[0] == 'Q' {
			name, text = "", []byte(name)
		}
		if k.prepared[name] = writing.Match(text); m[0] == 'Q' && k.prepared[name] {
			k.writes.Store(true)
		}
	case 'B': // Bind: a portal, then the name of a statement
		_, rest := text(m[5:])
		if name, _ := text(rest); k.prepared[name] {
			k.writes.Store(true)
		}
	}
	return m
}

// text cuts the text at the beginning, which ends with a zero byte.
func text(b []byte) (first string, rest []byte) {
	head, rest, _ := bytes.Cut(b, []byte{0})
	return string(head), rest
}

// readUntyped reads the first message of a client, which has no type.
func readUntyped(from io.Reader) ([]byte, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, err
	}
	return readRest(from, head, binary.BigEndian.Uint32(head))
}

// readMessage reads a message: its type, the length of what follows, and that.
func readMessage(from io.Reader) ([]byte, error) {
	head := make([]byte, 5)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, err
	}
	return readRest(from, head, binary.BigEndian.Uint32(head[1:]))
}

func readRest(from io.Reader, head []byte, length uint32) ([]byte, error) {
	if length < 4 || length > 64<<20 {
		return nil, fmt.Errorf("a message of %d bytes", length)
	}
	m := append(head, make([]byte, length-4)...)
	_, err := io.ReadFull(from, m[len(head):])
	return m, err
}

// rewriting is a mistake that a program could have: its statements are other ones. So the program that is known to be wrong is the
// one that is shipped, and what it does wrong is in one line.
type rewriting struct {
	find *regexp.Regexp
	put  string
	// done counts the statements that were changed.
	done atomic.Int64
}

// message rewrites a message of type Parse or Query.
func (w *rewriting) message(m []byte) []byte {
	name, rest := "", m[5:]
	if m[0] == 'P' {
		name, rest = text(rest)
		name += "\x00"
	}
	statement, rest := text(rest)
	if !w.find.MatchString(statement) {
		return m
	}
	w.done.Add(1)
	out := append([]byte{m[0], 0, 0, 0, 0}, name+w.find.ReplaceAllString(statement, w.put)+"\x00"...)
	out = append(out, rest...)
	binary.BigEndian.PutUint32(out[1:], uint32(len(out)-1))
	return out
}
