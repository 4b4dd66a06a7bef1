package api_test

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/nodes"
	"github.com/grapnel-go/grapnel/internal/nodes/internode"
	"github.com/grapnel-go/grapnel/internal/socket"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// cluster is a store that several daemons of a test share. Its clock stands still, so a node dies only by kill.
type cluster struct {
	t     *testing.T
	store *mem.Store
}

func newCluster(t *testing.T) *cluster {
	now := time.Now()
	return &cluster{t, mem.New(&mem.Options{Journal: true, Now: func() time.Time { return now }})}
}

// member is one of the daemons.
type member struct {
	*world
	cluster  *cluster
	id       string
	members  *nodes.Members
	listener *cutListener
	presence *cutPresence
}

// memberOptions say what a daemon of a test is; the zero value has the project /p and a unix socket for other nodes.
type memberOptions struct {
	world                worldOptions
	project, fingerprint string
	// keys are for TLS; nil is a unix socket.
	keys *access.NodeKeys
	// url is what the store says of it; "" is where it is.
	url  string
	wait time.Duration
	ttl  time.Duration // 0 is a minute
	// tokens are those of the database; nil are none.
	tokens *access.Tokens
}

// join starts a daemon, which the test's end stops.
func (c *cluster) join(id string, o memberOptions) *member {
	c.t.Helper()
	if o.project == "" {
		o.project = "/p"
	}
	m := &member{cluster: c, id: id, presence: &cutPresence{Store: c.store}}
	url := m.listen(o)
	if o.url != "" {
		url = o.url
	}
	m.members = nodes.New(nodes.Options{
		Presence: m.presence, Beat: 20 * time.Millisecond,
		Node: store.Node{ID: id, URL: url, Version: "1", TTL: cmp.Or(o.ttl, time.Minute), Projects: []store.NodeProject{{ID: o.project, Root: o.project, Fingerprint: cmp.Or(o.fingerprint, "f")}}},
	})
	require.NoError(c.t, m.members.Join(c.t.Context()))
	running, stop := context.WithCancel(context.Background())
	var beats sync.WaitGroup
	beats.Go(func() { m.members.Run(running) })
	through := internode.New(nil)
	if o.keys != nil {
		through = internode.New(o.keys)
	}
	c.t.Cleanup(func() {
		stop()
		beats.Wait()
		through.Close()
	})
	o.world.store, o.world.owner, o.world.api.Project = c.store, id, o.project
	o.world.api.Interrupted = func(rec store.Record) bool { return rec.Journaled && rec.Lease.Until.IsZero() }
	o.world.api.Grace = 100 * time.Millisecond
	o.world.api.Nodes = &api.Nodes{Members: m.members, Client: through, Listener: m.listener, Wait: o.wait, Tokens: o.tokens}
	m.world = newWorld(c.t, &o.world)
	return m
}

// listen opens the way for other nodes and returns its URL.
func (m *member) listen(o memberOptions) string {
	t := m.cluster.t
	if o.keys != nil {
		ln, err := o.keys.Listen(t.Context(), "127.0.0.1:0")
		require.NoError(t, err)
		m.listener = &cutListener{Listener: ln}
		_, port, err := net.SplitHostPort(ln.Addr().String())
		require.NoError(t, err)
		return "https://localhost:" + port
	}
	dir, err := os.MkdirTemp("", "grapnel-") // short enough for a socket
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	path := filepath.Join(dir, "node", "sock")
	ln, err := socket.Listen(t.Context(), path)
	require.NoError(t, err)
	m.listener = &cutListener{Listener: ln}
	return "unix:" + path
}

// silence cuts the way for other nodes; the node still beats.
func (m *member) silence() { m.listener.cut() }

// kill makes everybody but the process itself believe that it was killed: its turn still runs, and can write nothing any more once another
// node has taken the conversation.
func (m *member) kill() {
	m.presence.cut()
	m.silence()
	require.NoError(m.t, m.cluster.store.Leave(m.t.Context(), m.id))
}

// cutPresence is the store as a node sees it until it is cut off.
type cutPresence struct {
	*mem.Store
	mu  sync.Mutex
	off bool
}

var errCut = errors.New("cut off")

func (p *cutPresence) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = true
}

func (p *cutPresence) Beat(ctx context.Context, n store.Node) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.off {
		return errCut
	}
	return p.Store.Beat(ctx, n)
}

// cutListener is a listener whose connections can be closed.
type cutListener struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
	off   bool
}

func (l *cutListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		off := l.off
		l.conns = append(l.conns, conn)
		l.mu.Unlock()
		if !off {
			return conn, nil
		}
		_ = conn.Close() // it is cut off
	}
}

func (l *cutListener) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.off = true
	for _, c := range l.conns {
		_ = c.Close() // it is cut off
	}
}

// settle waits until the nodes know each other.
func settle(t *testing.T, members ...*member) {
	t.Helper()
	for _, m := range members {
		require.Eventually(t, func() bool { return len(m.members.Others()) == len(members)-1 }, time.Minute, 5*time.Millisecond)
	}
}

// watcher collects what a client gets of a stream.
type watcher struct {
	mu     sync.Mutex
	events []hook.Event
	notes  []string
	done   chan error
}

// watchAt follows a conversation from its beginning until until is true for an event.
func watchAt(m *member, conversation string, until func(hook.Event) bool) *watcher {
	w := &watcher{done: make(chan error, 1)}
	go func() {
		for item, err := range m.client.Events(m.t.Context(), conversation, "0-0") {
			if err != nil {
				w.done <- err
				return
			}
			w.mu.Lock()
			switch {
			case item.Restarted:
				w.notes = append(w.notes, "restarted")
			case item.Missed > 0:
				w.notes = append(w.notes, "missed")
				assert.True(m.t, item.Kept)
			default:
				w.events = append(w.events, item.Event)
			}
			w.mu.Unlock()
			if until(item.Event) {
				break
			}
		}
		w.done <- nil
	}()
	return w
}

// sees waits until the client has got an event of the kind.
func (w *watcher) sees(t *testing.T, kind hook.EventKind) {
	t.Helper()
	require.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(only(w.events, kind)) > 0
	}, time.Minute, 5*time.Millisecond, "no %s", kind)
}

// ends waits for the end of the stream and returns its events.
func (w *watcher) ends(t *testing.T) []hook.Event {
	t.Helper()
	select {
	case err := <-w.done:
		require.NoError(t, err)
	case <-time.After(30 * time.Second):
		require.Fail(t, "the stream does not end")
	}
	return w.events
}

// wrong compares what a client got with what the store keeps: the kept events that it missed, and those that it got twice.
func (c *cluster) wrong(conversation string, got []hook.Event) (missed, twice []uint64) {
	c.t.Helper()
	kept, err := c.store.Events(c.t.Context(), conversation, 0, 10_000)
	require.NoError(c.t, err)
	require.NotEmpty(c.t, kept)
	times := map[string]int{}
	for _, ev := range got {
		times[ev.Text+string(ev.Kind)+position(ev)]++
	}
	for _, e := range kept {
		ev, err := wire.DecodeEvent([]byte(e.Data))
		require.NoError(c.t, err)
		if times[ev.Text+string(ev.Kind)+position(ev)] == 0 {
			missed = append(missed, e.Seq)
		}
	}
	for _, ev := range got {
		if times[ev.Text+string(ev.Kind)+position(ev)] > 1 {
			twice = append(twice, ev.Seq)
		}
	}
	return missed, twice
}
