package api

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/api/wire"
)

// TestRingAccounts: whatever is put in, forgotten and read in whatever order, a
// reader that reads to the end has got or missed every event exactly once, and in
// order; and what is kept is bounded.
func TestRingAccounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 8).Draw(t, "limit")
		r := newRing(limit)
		at := r.end()
		put, seen := uint64(0), uint64(0)
		read := func() bool {
			p := r.read(&at)
			require.False(t, p.restarted)
			seen += p.missed
			for _, e := range p.entries {
				seen++
				require.Equal(t, fmt.Sprint(seen), string(e.data))
			}
			require.Equal(t, seen, at.Seq)
			require.Equal(t, p.more != nil, p.missed == 0 && len(p.entries) == 0)
			return p.more == nil
		}
		for _, op := range rapid.SliceOfN(rapid.IntRange(0, 9), 0, 200).Draw(t, "operations") {
			switch {
			case op < 6:
				put++
				r.put(put, entry{data: []byte(fmt.Sprint(put))})
			case op < 9:
				read()
			default:
				r.forget()
			}
			require.LessOrEqual(t, len(r.entries), limit)
		}
		for read() {
		}
		require.Equal(t, put, seen)
	})
}

func TestRingIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	r := newRing(1000)
	at := r.end()
	big := []byte(strings.Repeat("x", maxRingBytes/4))
	for range 10 {
		r.put(0, entry{data: big})
		assert.LessOrEqual(t, r.bytes, maxRingBytes)
	}
	assert.Equal(t, uint64(6), r.read(&at).missed)
	r.put(0, entry{data: make([]byte, 2*maxRingBytes)})
	assert.Len(t, r.entries, 1, "one event is always kept")
}

// TestRingWakes: everybody who waits is woken, by an event and by the end.
func TestRingWakes(t *testing.T) {
	t.Parallel()
	r := newRing(10)
	var wg sync.WaitGroup
	ready := make(chan struct{}, 100)
	for range 100 {
		wg.Go(func() {
			at, first := r.end(), true
			for got := 0; ; {
				p := r.read(&at)
				got += len(p.entries)
				if p.closed {
					assert.Equal(t, 1, got)
					return
				}
				if p.more != nil {
					if first {
						ready <- struct{}{}
						first = false
					}
					<-p.more
				}
			}
		})
	}
	for range 100 {
		<-ready
	}
	r.put(0, entry{})
	r.close()
	wg.Wait()
}

// TestHubForgetsIdleConversations: the events of those that were active last are
// kept; of the others the count is.
func TestHubForgetsIdleConversations(t *testing.T) {
	t.Parallel()
	h := newHub(10)
	publish := func(i int, seq uint64) {
		h.publish(hook.Event{Kind: hook.EventDiagnostic, Seq: seq, Conversation: fmt.Sprint(i)})
	}
	for i := range maxRings {
		publish(i, 1)
	}
	publish(0, 2)
	epoch := h.ring("1").end().Epoch
	publish(maxRings, 1)
	assert.Len(t, h.active, maxRings)
	assert.Empty(t, h.ring("1").entries)
	assert.Len(t, h.ring("0").entries, 2)
	publish(1, 2)
	at := wire.EventID{Epoch: epoch}
	p := h.ring("1").read(&at)
	assert.False(t, p.restarted)
	assert.Equal(t, uint64(1), p.missed)
	assert.Len(t, p.entries, 1)
	h.close()
	at = h.ring("new").end()
	assert.True(t, h.ring("new").read(&at).closed)
}

func TestHubPublishesWhatCannotBeWritten(t *testing.T) {
	t.Parallel()
	h := newHub(10)
	at := h.ring("c").end()
	ev := hook.Event{Kind: hook.EventUsage, Seq: 1, Conversation: "c", Text: "\xff"}
	h.publish(ev)
	p := h.ring("c").read(&at)
	require.Len(t, p.entries, 1)
	got, err := wire.DecodeEvent(p.entries[0].data)
	require.NoError(t, err)
	assert.Equal(t, hook.EventUsage, got.Kind)
}

// TestPeer: the process at the other end of a socket is known where the system
// tells, and another user is refused.
func TestPeer(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "grapnel-")
	require.NoError(t, err)
	defer func() { require.NoError(t, os.RemoveAll(dir)) }()
	ln, err := net.Listen("unix", filepath.Join(dir, "x"))
	require.NoError(t, err)
	defer ln.Close()
	client, err := net.Dial("unix", ln.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	conn, err := ln.Accept()
	require.NoError(t, err)
	defer conn.Close()
	if uid, known := peerUser(conn); known {
		assert.Equal(t, os.Geteuid(), uid)
		assert.True(t, allowedUser(uid))
		assert.False(t, allowedUser(-1))
		assert.False(t, allowedUser(os.Geteuid()+1))
	}
	for _, allowed := range []bool{true, false} {
		req := httptest.NewRequestWithContext(context.WithValue(identify(t.Context(), conn), peerKey{}, peer{allowed}), http.MethodGet, "http://grapnel/", nil)
		assert.Equal(t, allowed, admit(req) == nil)
	}
}

// BenchmarkPublish is what a turn pays for each event, with readers that are
// behind and readers that wait.
func BenchmarkPublish(b *testing.B) {
	for _, readers := range []int{0, 1, 100} {
		b.Run(fmt.Sprintf("%d readers", readers), func(b *testing.B) {
			h := newHub(0)
			var wg sync.WaitGroup
			for range readers {
				wg.Go(func() {
					r := h.ring("c")
					for at := r.end(); ; {
						p := r.read(&at)
						if p.closed {
							return
						}
						if p.more != nil {
							<-p.more
						}
					}
				})
			}
			b.ReportAllocs()
			ev := hook.Event{Kind: hook.EventTextDelta, Conversation: "c", Turn: "t", Agent: "a", Text: "some text "}
			for b.Loop() {
				ev.Seq++
				h.publish(ev)
			}
			h.close()
			wg.Wait()
		})
	}
}
