package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"

	"github.com/grapnel-go/grapnel/runtime"
)

// TestReadersSurviveAKill: a daemon is killed within a turn, whose tool runs, and
// another one goes on. Who follows resumes by itself and has in the end every event
// that was kept, each once and in order; brackets that the kill left open are
// closed.
func TestReadersSurviveAKill(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cmd, out := s.child()
	ctx := t.Context()
	conv, err := s.client.Conversation(ctx, "", "ann")
	require.NoError(t, err)
	patient := client.New(s.client.Address(), &client.Options{Retries: 1000, Wait: time.Millisecond})
	var got []hook.Event
	var wg sync.WaitGroup
	wg.Go(func() {
		for item, err := range patient.Events(ctx, conv.ID, conv.LastEventID) {
			if !assert.NoError(t, err) {
				return
			}
			switch {
			case item.Restarted:
				assert.True(t, item.Kept)
				for len(got) > 0 && wireSeq(t, item.ID) < got[len(got)-1].Seq {
					got = got[:len(got)-1]
				}
			case item.Missed > 0:
				assert.True(t, item.Kept, "nothing is lost but deltas")
			case item.Event.Kind != event.TextDelta:
				got = append(got, item.Event)
			}
			if item.Event.Kind == event.TurnEnd && item.Event.Text == "This is turn two." {
				return
			}
		}
	})
	turn, err := s.client.Send(ctx, conv.ID, "wait")
	require.NoError(t, err)
	for item, err := range s.client.Follow(ctx, turn) {
		require.NoError(t, err)
		if item.Event.Kind == event.ApprovalAsked {
			asks, err := s.client.Asks(ctx, conv.ID)
			require.NoError(t, err)
			require.NoError(t, s.client.Answer(ctx, asks[0].ID, wire.Answer{Answer: wire.AnswerApprove}))
		}
		if item.Event.Kind == event.ApprovalGiven {
			break
		}
	}
	started := filepath.Join(s.dir, "project", "started")
	require.Eventually(t, func() bool { _, err := os.Stat(started); return err == nil }, 20*time.Second, time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	_, _ = io.Copy(io.Discard, out)
	require.Error(t, cmd.Wait())
	s.start()
	for item, err := range patient.Follow(ctx, turn) {
		require.NoError(t, err, "the turn is resumed, under its id")
		if item.Event.Kind == event.TurnEnd {
			assert.Equal(t, "It failed.", item.Event.Text)
		}
	}
	s.turn(conv.ID, "hello", nil)
	wg.Wait()
	s.end()

	st, err := sqlite.Open(ctx, filepath.Join(s.dir, "state", "conversations.db"), nil)
	require.NoError(t, err)
	defer st.Close()
	kept, err := st.Events(ctx, conv.ID, 0, 1000)
	require.NoError(t, err)
	require.Len(t, got, len(kept))
	epochs := map[int64]bool{}
	for i, k := range kept {
		var ev hook.Event
		require.NoError(t, json.Unmarshal([]byte(k.Data), &ev))
		epochs[ev.Epoch] = true
		assert.Equal(t, ev, got[i])
	}
	assert.Len(t, epochs, 2)
	ends := 0
	for _, ev := range got {
		if ev.Kind == event.TurnEnd {
			ends++
		}
	}
	assert.Equal(t, 2, ends)
}

// wireSeq is the sequence of an event id.
func wireSeq(t *testing.T, id string) uint64 {
	at, err := runtime.ParsePosition(id)
	require.NoError(t, err)
	return at.Seq
}
