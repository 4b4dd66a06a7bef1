package conn_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/subsystems/mcp/internal/conn"
)

// fleet is servers within the process, and what a pool is told of them.
type fleet struct {
	pool *conn.Pool

	mu      sync.Mutex
	starts  int
	fail    error
	changes []string
	going   chan struct{}
}

func (f *fleet) Changed(c conn.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changes = append(f.changes, string(c.Kind))
}

func (f *fleet) told() []string {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string{}, f.changes...)
}

// newFleet is called within a bubble.
func newFleet(t *testing.T, idle time.Duration) *fleet {
	t.Helper()
	f := &fleet{going: make(chan struct{})}
	f.pool = conn.NewPool(conn.Options{ConnectTimeout: 10 * time.Second, StopGrace: time.Second, IdleTimeout: idle})
	f.pool.OpenForTest(func(conn.Spec) (sdk.Transport, func(), error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.starts++
		if f.fail != nil {
			return nil, nil, f.fail
		}
		return f.serve()
	})
	t.Cleanup(func() { require.NoError(t, f.pool.Close(context.Background())) })
	return f
}

func (f *fleet) serve() (sdk.Transport, func(), error) {
	server := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "wait"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		<-f.going
		return &sdk.CallToolResult{}, nil, nil
	})
	theirs, ours := sdk.NewInMemoryTransports()
	session, err := server.Connect(context.Background(), theirs, nil)
	if err != nil {
		return nil, nil, err
	}
	return ours, func() { _ = session.Close() }, nil
}

// use acquires and releases.
func use(t *testing.T, e *conn.Endpoint) {
	t.Helper()
	l, err := e.Acquire(t.Context())
	require.NoError(t, err)
	l.Release()
	l.Release()
}

func state(e *conn.Endpoint) conn.State {
	synctest.Wait()
	return e.Status().State
}

func TestIdleConnectionIsEndedAndComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 30*time.Minute)
		e := f.pool.Attach(conn.Spec{Command: "c"}, f)
		e.Hold()
		assert.Equal(t, conn.StateUnused, state(e))
		assert.Zero(t, e.Status().Since)
		use(t, e)
		connected := time.Now()
		time.Sleep(29 * time.Minute)
		use(t, e) // counts from here
		time.Sleep(29 * time.Minute)
		assert.Equal(t, conn.StateConnected, state(e))
		assert.Equal(t, connected, e.Status().Since)
		time.Sleep(time.Minute)
		assert.Equal(t, conn.StateIdle, state(e))
		assert.Equal(t, time.Now(), e.Status().Since)
		tools, version := e.Listed()
		assert.Len(t, tools, 1, "the list is kept")
		assert.Equal(t, 1, version)
		use(t, e)
		assert.Equal(t, conn.StateConnected, state(e))
		assert.Equal(t, 2, f.starts)
		assert.Equal(t, []string{"connected", "ended", "connected"}, f.told())
	})
}

func TestIdleTimeZeroIsNever(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		e := f.pool.Attach(conn.Spec{Command: "c"}, f)
		e.Hold()
		use(t, e)
		time.Sleep(1000 * time.Hour)
		assert.Equal(t, conn.StateConnected, state(e))
	})
}

func TestConnectionWithACallIsNeverIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, time.Minute)
		e := f.pool.Attach(conn.Spec{Command: "c"}, f)
		e.Hold()
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() {
				l, err := e.Acquire(t.Context())
				require.NoError(t, err)
				defer l.Release()
				_, err = l.Call(t.Context(), &sdk.CallToolParams{Name: "wait"}, func(string) {})
				assert.NoError(t, err)
			})
		}
		time.Sleep(10 * time.Hour)
		assert.Equal(t, conn.StateConnected, state(e))
		e.Drop() // the last agent has gone, its call has not
		time.Sleep(10 * time.Hour)
		assert.Equal(t, conn.StateConnected, state(e))
		close(f.going)
		calls.Wait()
		assert.Equal(t, conn.StateIdle, state(e))
		assert.Equal(t, 1, f.starts)
	})
}

func TestConnectionEndsWithItsLastHolder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		one, two := f.pool.Attach(conn.Spec{Command: "c"}, f), f.pool.Attach(conn.Spec{Command: "c"}, &fleet{})
		require.Same(t, one, two)
		one.Hold()
		two.Hold()
		use(t, one)
		one.Drop()
		time.Sleep(time.Hour)
		assert.Equal(t, conn.StateConnected, state(two))
		two.Drop()
		assert.Equal(t, conn.StateIdle, state(two), "at once")

		// Built again for an agent that is never registered.
		require.NoError(t, one.Wait(t.Context(), one.Begin()))
		time.Sleep(conn.UnclaimedTime - time.Second)
		assert.Equal(t, conn.StateConnected, state(one))
		time.Sleep(time.Second)
		assert.Equal(t, conn.StateIdle, state(one))
	})
}

func TestConnectionEndsWithItsLastWatcher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, other := newFleet(t, 0), &fleet{}
		e := f.pool.Attach(conn.Spec{Command: "c"}, f)
		require.Same(t, e, f.pool.Attach(conn.Spec{Command: "c"}, other))
		e.Hold()
		use(t, e)
		e.Detach(f)
		time.Sleep(time.Hour)
		assert.Equal(t, conn.StateConnected, state(e))
		e.Detach(other)
		assert.Equal(t, conn.StateIdle, state(e))
		assert.NotSame(t, e, f.pool.Attach(conn.Spec{Command: "c"}, f), "a new declaration begins anew")
		assert.Equal(t, []string{"connected"}, f.told())
	})
}

func TestFailureIsSharedAndNotRepeatedByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, time.Minute)
		f.fail = errors.New("no such program")
		e := f.pool.Attach(conn.Spec{Command: "c"}, f)
		_, err := e.Acquire(t.Context())
		require.ErrorContains(t, err, "no such program")
		time.Sleep(10 * time.Hour)
		assert.Equal(t, 1, f.starts)
		assert.Equal(t, conn.StateLost, state(e))
		f.mu.Lock()
		f.fail = nil
		f.mu.Unlock()
		use(t, e)
		assert.Equal(t, []string{"failed", "connected"}, f.told())
	})
}

func TestNothingIsConnectedAfterClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		e := f.pool.Attach(conn.Spec{Command: "c"}, f)
		use(t, e)
		require.NoError(t, f.pool.Close(t.Context()))
		_, err := e.Acquire(t.Context())
		require.ErrorIs(t, err, conn.ErrClosed)
		e.Detach(f)
		assert.Equal(t, 1, f.starts)
	})
}

// Two specs have the same fingerprint only if they say the same.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	specs := []conn.Spec{
		{}, {Command: "a"}, {Command: "a", Args: []string{"b"}}, {Command: "a", Args: []string{"b", "c"}}, {Command: "a", Args: []string{"b c"}},
		{Command: "a", Args: []string{`b" "c`}}, {Command: "a b"}, {Command: "a", Env: []string{"b"}}, {Command: "a", Env: []string{"b=c"}},
		{Command: "a", Env: []string{"b=c\xff"}}, {Command: "a", Env: []string{"b=c\xfe"}}, {Command: "a", Dir: "b"}, {URL: "a"}, {URL: "b"},
		{URL: "a", Headers: map[string]string{"K": "v"}}, {URL: "a", Headers: map[string]string{"K": "w"}},
		{URL: "a", Headers: map[string]string{"K": "v", "L": "v"}}, {URL: "a", Headers: map[string]string{"K": `v" "L": "v`}},
	}
	seen := map[conn.Fingerprint]string{}
	for _, s := range specs {
		text := fmt.Sprint(s.Command, s.Args, s.Env, s.Dir, s.URL, s.Headers)
		assert.Empty(t, seen[s.Fingerprint()], text)
		seen[s.Fingerprint()] = text
	}
	assert.Equal(t, conn.Spec{URL: "a", Headers: map[string]string{"k-x": "v"}}.Fingerprint(),
		conn.Spec{URL: "a", Headers: map[string]string{"K-X": "v"}}.Fingerprint(), "names of headers have no case")
}

func TestPlainTextDoesNotLeaveTheMachine(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"127.0.0.1:80": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true,
		"10.0.0.1:80": false, "[fe80::1]:80": false, "169.254.169.254:80": false, "x:80": false, "": false,
	} {
		assert.Equal(t, ok, conn.LoopbackOnlyForTest(address) == nil, address)
	}
}
