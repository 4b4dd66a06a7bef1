package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/nodes"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// presence is a store whose beats can be cut off or hang.
type presence struct {
	*mem.Store
	mu sync.Mutex
	// cut is the error of beats; hung makes them wait for the end of their context.
	cut  error
	hung bool
	// beats are the times at which beats reached the store.
	beats []time.Time
}

func (p *presence) Beat(ctx context.Context, n store.Node) error {
	p.mu.Lock()
	cut, hung := p.cut, p.hung
	p.mu.Unlock()
	if hung {
		<-ctx.Done()
		return ctx.Err()
	}
	if cut != nil {
		return cut
	}
	p.mu.Lock()
	p.beats = append(p.beats, time.Now())
	p.mu.Unlock()
	return p.Store.Beat(ctx, n)
}

func (p *presence) set(cut error, hung bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.hung = cut, hung
}

// times returns when beats reached the store.
func (p *presence) times() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.beats)
}

// TestJoiningWaitsForASlowStore: a machine that starts is often a busy one.
func TestJoiningWaitsForASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &presence{Store: mem.New(nil)}
		p.set(nil, true)
		time.AfterFunc(4*nodes.DefaultTTL, func() { p.set(nil, false) })
		m := nodes.New(nodes.Options{Presence: p, Node: store.Node{ID: "a", URL: "unix:/a"}})
		require.NoError(t, m.Join(t.Context()))

		p.set(nil, true)
		began := time.Now()
		require.ErrorIs(t, m.Join(t.Context()), context.DeadlineExceeded)
		assert.InDelta(t, 10*nodes.DefaultTTL, time.Since(began), float64(nodes.DefaultTTL), "not for ever")
		ctx, cancel := context.WithTimeout(t.Context(), nodes.DefaultTTL)
		defer cancel()
		require.ErrorIs(t, m.Join(ctx), context.DeadlineExceeded)

		refused := errors.New("the password is wrong")
		p.set(refused, false)
		began = time.Now()
		require.ErrorIs(t, m.Join(t.Context()), refused)
		assert.Zero(t, time.Since(began), "that will not pass")
	})
}

// node is one node of a test.
type node struct {
	*nodes.Members
	mu   sync.Mutex
	lost []time.Time
	late int
	died []string
	logs []string
	stop func()
}

// join makes a node a member and runs it until stop or the end of the test.
func join(t *testing.T, p store.Presence, n store.Node) *node {
	t.Helper()
	out := &node{}
	out.Members = nodes.New(nodes.Options{
		Presence: p, Node: n,
		Lost: func() { out.note(func() { out.lost = append(out.lost, time.Now()) }) },
		Late: func(context.Context) { out.note(func() { out.late++ }) },
		Died: func(n store.Node) { out.note(func() { out.died = append(out.died, n.ID) }) },
		Log:  func(text string) { out.note(func() { out.logs = append(out.logs, text) }) },
	})
	require.NoError(t, out.Join(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { out.Run(ctx) })
	out.stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(out.stop)
	return out
}

func (n *node) note(what func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	what()
}

// losses returns how often the leases counted as lost, and lates how often the store said that the node was late.
func (n *node) losses() (losses, lates int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.lost), n.late
}

// firstLoss returns when the leases counted as lost for the first time; zero if they never did.
func (n *node) firstLoss() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.lost) == 0 {
		return time.Time{}
	}
	return n.lost[0]
}

// had checks both.
func (n *node) had(t *testing.T, losses, lates int, why string) {
	t.Helper()
	gotLosses, gotLates := n.losses()
	assert.Equal(t, [2]int{losses, lates}, [2]int{gotLosses, gotLates}, why)
}

func (n *node) deaths() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.died)
}

func (n *node) log() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.logs, "\n")
}

// TestBeats: a node beats each second, sees the others, and leaves at its end, which is no death.
func TestBeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &presence{Store: mem.New(nil)}
		a := join(t, p, store.Node{ID: "a", URL: "unix:/a"})
		b := join(t, p, store.Node{ID: "b", URL: "unix:/b"})
		time.Sleep(10*time.Second + 500*time.Millisecond)
		assert.Len(t, p.times(), 2*11)
		require.Len(t, a.Others(), 1)
		assert.Equal(t, "b", a.Others()[0].ID)
		assert.Equal(t, "unix:/b", a.Others()[0].URL)
		assert.True(t, a.Fresh())
		b.stop()
		time.Sleep(5 * time.Second)
		assert.Empty(t, a.Others())
		assert.Empty(t, a.deaths())
		a.had(t, 0, 0, "all went well")
		assert.False(t, b.Fresh())
	})
}

// TestLate: a node that cannot reach the store ends its turns before the others may take its conversations, once, whether
// beats fail or hang. A failure that passes sooner does no harm.
func TestLate(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(p *presence){
		"refused": func(p *presence) { p.set(errors.New("connection refused"), false) },
		"hung":    func(p *presence) { p.set(nil, true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				healthy := mem.New(nil)
				p := &presence{Store: healthy}
				a := join(t, p, store.Node{ID: "a", URL: "unix:/a"})
				b := join(t, healthy, store.Node{ID: "b", URL: "unix:/b"})
				time.Sleep(2*time.Second + 500*time.Millisecond) // the last beat was sent half a second ago
				fail(p)
				time.Sleep(time.Second)
				p.set(nil, false)
				time.Sleep(5 * time.Second)
				a.had(t, 0, 0, "a second without the store")
				cut := p.times()[len(p.times())-1]
				fail(p)
				time.Sleep(20 * time.Second)
				a.had(t, 1, 0, "once, however long it lasts")
				assert.Equal(t, 2*time.Second, a.firstLoss().Sub(cut), "a second before the store counts it as dead")
				assert.False(t, a.Fresh())
				assert.Equal(t, []string{"a"}, b.deaths())
				p.set(nil, false)
				time.Sleep(2 * time.Second)
				assert.True(t, a.Fresh())
				a.had(t, 1, 1, "the next beat says that it was late")
				assert.Len(t, b.Others(), 1)
				fail(p)
				time.Sleep(10 * time.Second)
				a.had(t, 2, 1, "and once more")
				assert.Equal(t, []string{"a", "a"}, b.deaths())
			})
		})
	}
}

// TestAStoreThatDoesNotRun: a store that is down gives nothing away, so its nodes keep their turns, but not for ever: what
// says that it is down may be something on the way to it.
func TestAStoreThatDoesNotRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &presence{Store: mem.New(nil)}
		a := join(t, p, store.Node{ID: "a", URL: "unix:/a"})
		time.Sleep(2*time.Second + 500*time.Millisecond)
		down := fmt.Errorf("%w: connection refused", store.ErrDown)
		p.set(down, false)
		time.Sleep(20 * time.Second)
		a.had(t, 0, 0, "its restart ends no turn")
		assert.True(t, a.Fresh())
		p.set(errors.New("no route to it"), false)
		time.Sleep(3 * time.Second)
		a.had(t, 1, 0, "another failure counts from the last answer that it was down")
		p.set(nil, false)
		time.Sleep(2 * time.Second)
		p.set(down, false)
		heard := p.times()[len(p.times())-1]
		time.Sleep(time.Minute)
		a.had(t, 2, 1, "once, when it has been down for too long")
		a.mu.Lock()
		defer a.mu.Unlock()
		assert.InDelta(t, 32, a.lost[1].Sub(heard).Seconds(), 1, "ten TTLs, and two thirds of one")
	})
}

// TestDead: a node that beats is alive, also one that has come since the nodes were read; one that is not known is dead.
func TestDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &presence{Store: mem.New(nil)}
		a := join(t, p, store.Node{ID: "a", URL: "unix:/a"})
		assert.False(t, a.Dead("a"))
		assert.True(t, a.Dead("nobody"))
		b := join(t, p, store.Node{ID: "b", URL: "unix:/b"})
		assert.False(t, a.Dead("b"), "it has just come")
		b.stop()
		time.Sleep(5 * time.Second)
		assert.True(t, a.Dead("b"))
	})
}

// TestTheStoreKnowsBetter: a node that the store has counted as dead is late, also if its own clock says otherwise.
func TestTheStoreKnowsBetter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &presence{Store: mem.New(nil)}
		a := join(t, p, store.Node{ID: "a", URL: "unix:/a"})
		time.Sleep(1500 * time.Millisecond)
		require.NoError(t, p.Leave(t.Context(), "a"))
		time.Sleep(2 * time.Second)
		a.had(t, 0, 1, "it asks what it has lost")
		assert.True(t, a.Fresh())
	})
}

// TestADeadNodeIsToldToWhoComesLater: what had died before a node came is told to it too.
func TestADeadNodeIsToldToWhoComesLater(t *testing.T) {
	t.Parallel()
	p := mem.New(nil)
	require.NoError(t, p.Beat(t.Context(), store.Node{ID: "old", TTL: time.Millisecond}))
	time.Sleep(10 * time.Millisecond)
	a := join(t, p, store.Node{ID: "a", URL: "unix:/a"})
	assert.Equal(t, []string{"old"}, a.deaths())
	require.NoError(t, a.Refresh(t.Context()))
	assert.Equal(t, []string{"old"}, a.deaths())
}

// lagging is a store whose next answer about the nodes is on its way for long.
type lagging struct {
	*mem.Store
	lag     atomic.Bool
	deliver chan struct{}
	reads   atomic.Int64
}

func (l *lagging) Nodes(ctx context.Context) ([]store.Node, error) {
	l.reads.Add(1)
	all, err := l.Store.Nodes(ctx)
	if l.lag.CompareAndSwap(true, false) {
		<-l.deliver
	}
	return all, err
}

// TestAnOlderAnswerReplacesNoNewerOne: what was read before a node came does not bury it when it arrives late, and all who ask
// meanwhile share the next reading.
func TestAnOlderAnswerReplacesNoNewerOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &lagging{Store: mem.New(nil), deliver: make(chan struct{})}
		var died []string
		m := nodes.New(nodes.Options{Presence: l, Node: store.Node{ID: "a", TTL: time.Hour}, Died: func(n store.Node) { died = append(died, n.ID) }})
		require.NoError(t, m.Join(t.Context()))
		l.lag.Store(true)
		var readers sync.WaitGroup
		refresh := func() { assert.NoError(t, m.Refresh(t.Context())) }
		readers.Go(refresh)
		synctest.Wait() // it has read, and the answer is on its way
		require.NoError(t, l.Beat(t.Context(), store.Node{ID: "b", URL: "unix:/b", TTL: time.Hour}))
		for range 10 {
			readers.Go(refresh)
		}
		synctest.Wait()
		close(l.deliver)
		readers.Wait()
		assert.Len(t, m.Others(), 1)
		assert.Equal(t, int64(3), l.reads.Load(), "when it joined, the late one, and one for the ten")
		assert.Empty(t, died)
	})
}

// TestALookAtManyNodes: with twenty thousand nodes it takes a moment, so that it delays no beat.
func TestALookAtManyNodes(t *testing.T) {
	needs.Proof(t)
	t.Parallel()
	p := mem.New(nil)
	for i := range 20_000 {
		require.NoError(t, p.Beat(t.Context(), store.Node{ID: fmt.Sprintf("grapnel-01KB4ZJ8Q4M6C0V7XW%06d", i), TTL: time.Hour}))
	}
	m := nodes.New(nodes.Options{Presence: p, Node: store.Node{ID: "a", TTL: time.Hour}})
	require.NoError(t, m.Join(t.Context()))
	began := time.Now()
	require.NoError(t, m.Refresh(t.Context()))
	assert.Less(t, time.Since(began), 2*time.Second, "it took 4 s at 14,400 when each node was looked for among all")
}

// TestTooSeldom: a node whose beats are as far apart as it may be silent would always be late.
func TestTooSeldom(t *testing.T) {
	t.Parallel()
	m := nodes.New(nodes.Options{Presence: mem.New(nil), Node: store.Node{ID: "a", TTL: time.Second}, Beat: time.Second})
	assert.ErrorContains(t, m.Join(t.Context()), "at most a third")
	assert.False(t, m.Fresh())
}
