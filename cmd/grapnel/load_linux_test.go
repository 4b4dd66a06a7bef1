package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime"
)

var (
	loadReaders = flag.Int("load.readers", 200, "readers of TestLoad")
	loadTurns   = flag.Int("load.turns", 40, "turns at once of TestLoad")
	loadPairs   = flag.Int("load.pairs", 1, "pairs of TestStalledReaders")
	loadSample  = flag.Int("load.sample", 20, "turns of each half of a pair of TestStalledReaders")
)

// loadWords is how many words the model says in each turn.
const loadWords = 100

// loadModel calls a tool, which fails, and then says words.
func loadModel() string {
	return "rules:\n  - when: {step: 1}\n    calls: [{tool: read, args: {file_path: none.txt}}]\n  - when: always\n    say: " + strings.Repeat("word ", loadWords) + "\n"
}

// figure is a line that internal/test/prove reads.
func figure(t *testing.T, name string, value any, unit string) {
	t.Helper()
	t.Logf("FIGURE %s=%v %s", name, value, unit)
}

// busy is a daemon under load, in a process of its own.
type busy struct {
	*site
	pid int
	// remote reaches it over TCP, with a token.
	remote *client.Client
}

func newBusy(t *testing.T) *busy {
	t.Helper()
	s := newSite(t)
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "model.yaml"), []byte(loadModel()), 0o600))
	s.client = client.New(s.socket(), &client.Options{Wait: 10 * time.Millisecond, Retries: 1000})
	s.args = []string{"--listen", "127.0.0.1:0"}
	token, err := s.program("token", "create", "load", "--scope", "read,converse").Output()
	require.NoError(t, err)
	cmd, out := s.child()
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line)
	require.NotEmpty(t, address, line)
	go func() { _, _ = io.Copy(io.Discard, out) }()
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait()
	})
	return &busy{s, cmd.Process.Pid, client.New(address, &client.Options{Token: strings.TrimSpace(string(token)), Wait: 10 * time.Millisecond, Retries: 1000})}
}

func (b *busy) conversations(n int) (ids []string) {
	b.t.Helper()
	for i := range n {
		conv, err := b.client.Conversation(b.t.Context(), "", "sender-"+strconv.Itoa(i))
		require.NoError(b.t, err)
		ids = append(ids, conv.ID)
	}
	return ids
}

// run runs a turn to its end, and returns how long it took.
func (b *busy) run(ctx context.Context, id string) (time.Duration, error) {
	began := time.Now()
	turn, err := b.client.Send(ctx, id, "go")
	if err != nil {
		return 0, err
	}
	for item, err := range b.client.Follow(ctx, turn) {
		if err != nil {
			return 0, err
		}
		if item.Event.Kind == event.TurnEnd && item.Event.Detail().Stop != hook.StopCompleted && item.Event.Detail().Stop != hook.StopFinishReason {
			return 0, fmt.Errorf("it stopped with %s: %s", item.Event.Detail().Stop, item.Event.Text)
		}
	}
	return time.Since(began), nil
}

// memory returns the most memory that the daemon has had, in MiB.
func (b *busy) memory() int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.pid))
	require.NoError(b.t, err)
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(b.t, err)
	return kb / 1024
}

// reader is what a reader got of a conversation.
type reader struct {
	id           string
	kept         []runtime.Position
	missed, lost uint64
}

// follow reads until done is closed and the event with the position that it then has is read.
func (r *reader) follow(ctx context.Context, c *client.Client, until *atomic.Uint64) error {
	for item, err := range c.Events(ctx, r.id, "0-0") {
		if err != nil {
			return err
		}
		at, err := runtime.ParsePosition(item.ID)
		if err != nil {
			return err
		}
		switch {
		case item.Missed > 0:
			r.missed += item.Missed
			if !item.Kept {
				r.lost += item.Missed
			}
		case item.Event.Kind != event.TextDelta:
			r.kept = append(r.kept, at)
		}
		if end := until.Load(); end > 0 && at.Seq >= end {
			return nil
		}
	}
	return nil
}

// TestLoad: many readers follow many conversations, all of which run turns at once, in a daemon of its own. Every reader gets every event
// that is kept, once and in order, and the memory of the daemon is bounded.
func TestLoad(t *testing.T) {
	needs.Proof(t)
	b := newBusy(t)
	ids := b.conversations(*loadTurns)
	ends := make([]atomic.Uint64, len(ids))
	readers := make([]reader, *loadReaders)
	var following sync.WaitGroup
	for i := range readers {
		at := i % len(ids)
		readers[i].id = ids[at]
		from := b.client
		if i%2 == 1 {
			from = b.remote
		}
		following.Go(func() { assert.NoError(t, readers[i].follow(t.Context(), from, &ends[at])) })
	}
	const rounds = 3
	var mu sync.Mutex
	var took []time.Duration
	began := time.Now()
	var turns sync.WaitGroup
	for _, id := range ids {
		turns.Go(func() {
			for range rounds {
				d, err := b.run(t.Context(), id)
				if !assert.NoError(t, err) {
					return
				}
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
			}
		})
	}
	turns.Wait()
	all := time.Since(began)
	logs := make([][]runtime.Position, len(ids))
	for i, id := range ids {
		conv, err := b.client.ConversationByID(t.Context(), id)
		require.NoError(t, err)
		at, err := runtime.ParsePosition(conv.LastEventID)
		require.NoError(t, err)
		ends[i].Store(at.Seq)
		log := reader{id: id}
		var until atomic.Uint64
		until.Store(at.Seq)
		require.NoError(t, log.follow(t.Context(), b.client, &until))
		logs[i] = log.kept
	}
	// One more event each, so that who had read all before the end was known sees it.
	for _, id := range ids {
		_, err := b.run(t.Context(), id)
		require.NoError(t, err)
	}
	following.Wait()
	var missed, lost uint64
	for i := range readers {
		log := logs[i%len(ids)]
		require.GreaterOrEqual(t, len(readers[i].kept), len(log))
		assert.Equal(t, log, readers[i].kept[:len(log)], "every event that is kept, once and in order")
		missed += readers[i].missed
		lost += readers[i].lost
	}
	assert.Zero(t, lost)
	require.Len(t, took, rounds*len(ids))
	slices.Sort(took)
	figure(t, "readers", len(readers), "readers over server-sent events, half of them on the socket, half over TCP")
	figure(t, "turns", len(took), fmt.Sprintf("turns, %d at once, each with a call, %d deltas and its writes to disk", len(ids), loadWords))
	figure(t, "turns-a-second", fmt.Sprintf("%.0f", float64(len(took))/all.Seconds()), "turns a second")
	figure(t, "turn-p50", took[len(took)/2].Milliseconds(), "ms")
	figure(t, "turn-p99", took[len(took)*99/100].Milliseconds(), "ms")
	figure(t, "missed", missed, "deltas that readers were told to have missed")
	figure(t, "lost", lost, "events that are kept and that a reader did not get")
	figure(t, "memory", b.memory(), "MiB, the most that the daemon had")
	assert.Less(t, b.memory(), 512)
}

// stall opens a stream and reads nothing of it.
func (b *busy) stall(id string) net.Conn {
	b.t.Helper()
	conn, err := net.Dial("unix", b.socket())
	require.NoError(b.t, err)
	require.NoError(b.t, conn.(*net.UnixConn).SetReadBuffer(4096))
	_, err = fmt.Fprintf(conn, "GET /v1/conversations/%s/events HTTP/1.1\r\nHost: grapnel\r\nLast-Event-ID: 0-0\r\n\r\n", id)
	require.NoError(b.t, err)
	return conn
}

// TestStalledReaders: of a hundred readers twenty read nothing. The turns take as long as with eighty and none that stalls.
func TestStalledReaders(t *testing.T) {
	needs.Proof(t)
	b := newBusy(t)
	id := b.conversations(1)[0]
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	for range 80 {
		following.Go(func() {
			for _, err := range b.client.Events(ctx, id, "0-0") {
				if !errors.Is(err, context.Canceled) {
					assert.NoError(t, err)
				}
			}
		})
	}
	measure := func() time.Duration {
		took := make([]time.Duration, *loadSample)
		for i := range took {
			var err error
			took[i], err = b.run(t.Context(), id)
			require.NoError(t, err)
		}
		slices.Sort(took)
		return took[len(took)*99/100]
	}
	withStalled := func() time.Duration {
		var stalled []net.Conn
		for range 20 {
			stalled = append(stalled, b.stall(id))
		}
		time.Sleep(300 * time.Millisecond) // until nothing more fits between the daemon and them
		defer func() {
			for _, conn := range stalled {
				_ = conn.Close()
			}
		}()
		return measure()
	}
	measure()
	var ratios []float64
	for i := range *loadPairs { // in turns, because the history grows meanwhile
		var with, without time.Duration
		if i%2 == 0 {
			without, with = measure(), withStalled()
		} else {
			with, without = withStalled(), measure()
		}
		ratios = append(ratios, float64(with)/float64(without))
	}
	cancel()
	following.Wait()
	slices.Sort(ratios)
	data, err := json.Marshal(ratios)
	require.NoError(t, err)
	t.Logf("%s", data)
	figure(t, "stalled.turn-p99-ratio", fmt.Sprintf("%.2f", ratios[len(ratios)/2]), "of turns with 20 of 100 readers stalled to those with none")
	figure(t, "stalled.memory", b.memory(), "MiB, the most that the daemon had")
	assert.Less(t, b.memory(), 512)
}
