package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/nodes"
	"github.com/grapnel-go/grapnel/internal/nodes/dispatch"
	"github.com/grapnel-go/grapnel/internal/nodes/internode"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// errBusy is what a handler says of another turn.
var errBusy = errors.New("busy")

// rig is a node with a dispatcher, and the record of the one conversation, which tests change.
type rig struct {
	*dispatch.Dispatcher
	store   *mem.Store
	members *nodes.Members
	mu      sync.Mutex
	rec     store.Record
}

func newRig(t *testing.T, wait time.Duration) *rig {
	t.Helper()
	r := &rig{store: mem.New(nil), rec: store.Record{ID: "c", Key: store.Key{Project: "/p"}}}
	r.members = nodes.New(nodes.Options{Presence: r.store, Node: store.Node{ID: "a", TTL: time.Hour, Projects: []store.NodeProject{{ID: "/p"}}}})
	require.NoError(t, r.members.Join(t.Context()))
	through := internode.New(nil)
	t.Cleanup(through.Close)
	r.Dispatcher = dispatch.New(dispatch.Options{
		Members: r.members, Client: through, Wait: wait,
		Find: func(context.Context, string) (store.Record, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.rec, nil
		},
		Busy: func(err error) bool { return errors.Is(err, errBusy) },
	})
	return r
}

// held says that a node has the lease; "" is that none has it.
func (r *rig) held(by string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.Lease = store.Lease{Owner: by}
	if by != "" {
		r.rec.Lease.Until = time.Now().Add(time.Hour)
	}
}

// node adds a node that answers with the handler, and counts its requests.
func (r *rig) node(t *testing.T, id string, h http.HandlerFunc) *atomic.Int64 {
	t.Helper()
	dir, err := os.MkdirTemp("", "grapnel-") // short enough for a socket
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	path := filepath.Join(dir, "sock")
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "unix", path)
	require.NoError(t, err)
	var n atomic.Int64
	srv := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		n.Add(1)
		h(w, q)
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(ln) })
	t.Cleanup(func() {
		assert.NoError(t, srv.Close())
		serving.Wait()
	})
	r.beat(t, store.Node{ID: id, URL: "unix:" + path, Projects: []store.NodeProject{{ID: "/p"}}})
	return &n
}

func (r *rig) beat(t *testing.T, n store.Node) {
	t.Helper()
	n.TTL = time.Hour
	require.NoError(t, r.store.Beat(t.Context(), n))
	require.NoError(t, r.members.Refresh(t.Context()))
}

// answer asks the dispatcher; here answers on this node.
func (r *rig) answer(t *testing.T, here dispatch.Handler) (*httptest.ResponseRecorder, error) {
	t.Helper()
	w := httptest.NewRecorder()
	q := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/conversations/c/messages", nil)
	return w, r.Answer(w, q, dispatch.Request{Conversation: "c", Body: []byte("body")}, here)
}

func says(text string) dispatch.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		body, err := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, text+" "+string(body))
		return err
	}
}

// never is the handler of a node that must not answer.
func never(t *testing.T) dispatch.Handler {
	return func(http.ResponseWriter, *http.Request) error {
		t.Error("answered here")
		return nil
	}
}

// TestAnswer: the node that has the lease answers, here or there, also if that changes on the way.
func TestAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, time.Minute)
	b := r.node(t, "b", func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		_, _ = io.WriteString(w, "b "+string(body))
	})
	w, err := r.answer(t, says("a"))
	require.NoError(t, err)
	assert.Equal(t, "a body", w.Body.String(), "nobody has it")
	r.held("b")
	w, err = r.answer(t, never(t))
	require.NoError(t, err)
	assert.Equal(t, "b body", w.Body.String())
	r.held("")
	tries := 0
	w, err = r.answer(t, func(http.ResponseWriter, *http.Request) error {
		tries++
		r.held("b") // it was faster
		return errBusy
	})
	require.NoError(t, err)
	assert.Equal(t, "b body", w.Body.String())
	assert.Equal(t, 1, tries)
	assert.Equal(t, int64(2), b.Load())
	r.held("")
	_, err = r.answer(t, func(http.ResponseWriter, *http.Request) error { return errBusy })
	require.ErrorIs(t, err, errBusy, "a turn of this node")
}

// TestWhoRefusesIsAskedAgain: a node that is not the one any more refuses; the sender looks again and finds the right one.
func TestWhoRefusesIsAskedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, time.Minute)
	b := r.node(t, "b", func(w http.ResponseWriter, _ *http.Request) {
		r.held("")
		w.WriteHeader(http.StatusMisdirectedRequest)
	})
	r.held("b")
	w, err := r.answer(t, says("a"))
	require.NoError(t, err)
	assert.Equal(t, "a body", w.Body.String())
	assert.Equal(t, int64(1), b.Load())
}

// TestItEnds: a node that refuses for ever, and one that cannot be reached, are an error when the time is over.
func TestItEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, 200*time.Millisecond)
	b := r.node(t, "b", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMisdirectedRequest) })
	r.held("b")
	_, err := r.answer(t, never(t))
	require.ErrorIs(t, err, dispatch.ErrSilent)
	assert.ErrorContains(t, err, "node b")
	assert.LessOrEqual(t, b.Load(), int64(10))
	r.beat(t, store.Node{ID: "gone", URL: "unix:/nowhere/sock", Projects: []store.NodeProject{{ID: "/p"}}})
	r.held("gone")
	_, err = r.answer(t, never(t))
	require.ErrorIs(t, err, dispatch.ErrSilent)
}

// TestWhatMayHaveHappenedIsNotSentAgain: a request that a node may have got is an error at once, also when the node dies while
// it is waited for.
func TestWhatMayHaveHappenedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, time.Minute)
	b := r.node(t, "b", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	r.held("b")
	_, err := r.answer(t, never(t))
	require.ErrorIs(t, err, dispatch.ErrUncertain)
	assert.Equal(t, int64(1), b.Load())

	waits := r.node(t, "d", func(_ http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body) // then net/http sees that the client goes
		assert.NoError(t, r.store.Leave(context.WithoutCancel(q.Context()), "d"))
		assert.NoError(t, r.members.Refresh(context.WithoutCancel(q.Context())))
		<-q.Context().Done() // as a process that was stopped
	})
	r.held("d")
	_, err = r.answer(t, never(t))
	require.ErrorIs(t, err, dispatch.ErrUncertain)
	assert.Equal(t, int64(1), waits.Load())
}

// TestReceived: a node answers only what belongs to it, and passes nothing on.
func TestReceived(t *testing.T) {
	t.Parallel()
	r := newRig(t, time.Minute)
	b := r.node(t, "b", func(http.ResponseWriter, *http.Request) {})
	received := func(refuse bool, h dispatch.Handler) error {
		return r.Received(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil), dispatch.Request{Conversation: "c"}, refuse, h)
	}
	require.NoError(t, received(false, says("a")))
	require.ErrorIs(t, received(true, never(t)), internode.ErrMisdirected, "it ends, or is late")
	r.held("b")
	require.ErrorIs(t, received(false, never(t)), internode.ErrMisdirected)
	r.held("a")
	require.NoError(t, received(true, says("a")), "what it holds it answers to its end")
	r.held("")
	require.ErrorIs(t, received(false, func(http.ResponseWriter, *http.Request) error {
		r.held("b")
		return errBusy
	}), internode.ErrMisdirected)
	assert.Zero(t, b.Load())
}

// TestNoCircles: two nodes that each take the other for the right one do not send a request in circles. Nodes that pass on what they
// get, without the header of the one hop, do: so this test can tell.
func TestNoCircles(t *testing.T) {
	t.Parallel()
	const enough = 50
	r := newRig(t, 200*time.Millisecond)
	w := httptest.NewRecorder()
	back := r.node(t, "b", func(w http.ResponseWriter, q *http.Request) { // b takes a for the right one
		if !internode.Sent(q.Header) {
			t.Error("a request without its header")
		}
		err := r.Received(w, q, dispatch.Request{Conversation: "c"}, false, never(t))
		assert.ErrorIs(t, err, internode.ErrMisdirected)
		w.WriteHeader(http.StatusMisdirectedRequest)
	})
	r.held("b")
	_, err := r.answer(t, never(t))
	require.ErrorIs(t, err, dispatch.ErrSilent)
	assert.Less(t, back.Load(), int64(enough))

	var hops atomic.Int64
	var naive *httptest.Server
	naive = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if hops.Add(1) >= enough {
			w.WriteHeader(http.StatusLoopDetected)
			return
		}
		(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host = "http", naive.Listener.Addr().String()
		}}).ServeHTTP(w, q)
	}))
	defer naive.Close()
	naive.Config.Handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	assert.Equal(t, int64(enough), hops.Load(), "known bad")
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestAnywhere: what only one node knows is answered by it, whichever it is; who cannot be asked may be the one.
func TestAnywhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, time.Minute)
	errUnknown := errors.New("unknown")
	status := http.StatusNotFound
	r.node(t, "b", func(w http.ResponseWriter, q *http.Request) {
		w.WriteHeader(status)
		_, _ = io.Copy(w, q.Body)
	})
	ask := func(here error) (*httptest.ResponseRecorder, error) {
		w := httptest.NewRecorder()
		q := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/asks/x", nil)
		return w, r.Anywhere(w, q, dispatch.Request{Body: []byte(`{"a":1}`)}, func(err error) bool { return errors.Is(err, errUnknown) },
			func(http.ResponseWriter, *http.Request) error { return here })
	}
	_, err := ask(nil)
	require.NoError(t, err)
	_, err = ask(errUnknown)
	require.ErrorIs(t, err, errUnknown, "nobody knows it")
	status = http.StatusConflict
	w, err := ask(errUnknown)
	require.NoError(t, err)
	assert.Equal(t, http.StatusConflict, w.Code)
	assert.JSONEq(t, `{"a":1}`, w.Body.String())
	status = http.StatusNotFound
	r.beat(t, store.Node{ID: "c", URL: "unix:/nowhere/sock", Projects: []store.NodeProject{{ID: "/p"}}})
	_, err = ask(errUnknown)
	require.ErrorIs(t, err, dispatch.ErrSilent)
}

// TestGather: all other nodes are asked, and those that do not answer, or not with the list, are named. One that drops them
// silently gives the same list as if they had nothing.
func TestGather(t *testing.T) {
	t.Parallel()
	r := newRig(t, time.Minute)
	for _, id := range []string{"b", "d"} {
		r.node(t, id, func(w http.ResponseWriter, q *http.Request) { _, _ = fmt.Fprintf(w, `{"a":%q}`, id+q.URL.RawQuery) })
	}
	r.node(t, "broken", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"a":`) })
	r.node(t, "failed", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	r.node(t, "stopped", func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
	r.beat(t, store.Node{ID: "away", URL: "unix:/nowhere/sock", Projects: []store.NodeProject{{ID: "/p"}}})
	answers, silent := dispatch.Gather[struct{ A string }](t.Context(), r.Dispatcher, internode.Caller{Local: true}, "/v1/list?x=1")
	assert.Equal(t, map[string]struct{ A string }{"b": {"bx=1"}, "d": {"dx=1"}}, answers)
	assert.Equal(t, []string{"away", "broken", "failed", "stopped"}, silent)
}
