package main

import (
	"context"
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
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"

	"github.com/grapnel-go/grapnel/runtime"
)

// TestReadersSurviveAKill: a daemon is killed within a turn, whose tool runs, and
// another one goes on. Who follows resumes by itself and has in the end every event
// that was kept, each once and in order; brackets that the kill left open are
// closed.
func TestReadersSurviveAKill(t *testing.T) {
	t.Parallel()
	needs.Time(t)
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
	require.Eventually(t, func() bool { _, err := os.Stat(started); return err == nil }, time.Minute, time.Millisecond)
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

// TestAllIsReadOverRestarts: who follows all conversations has every event that is kept, once and in order, over the kill of a daemon and
// the end of the next one, also of conversations that it had not seen and of what happened while no daemon had a client.
func TestAllIsReadOverRestarts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx := t.Context()
	cmd, out := s.child()
	conversation := func(sender string) string {
		conv, err := s.client.Conversation(ctx, "", sender)
		require.NoError(t, err)
		return conv.ID
	}
	old, quiet := conversation("old"), conversation("quiet")
	before := map[string]uint64{}
	for _, id := range []string{old, quiet} {
		s.turn(id, "hello", nil)
		conv, err := s.client.ConversationByID(ctx, id)
		require.NoError(t, err)
		before[id] = wireSeq(t, conv.LastEventID)
	}
	all := client.New(s.client.Address(), &client.Options{Retries: 1000, Wait: time.Millisecond}).All()
	got := map[string][]hook.Event{}
	ended := make(chan string, 100)
	read := func(ctx context.Context) error {
		for item, err := range all.Items(ctx) {
			if err != nil {
				return err
			}
			assert.True(t, item.Kept || item.Missed == 0 && !item.Restarted, "nothing is lost but deltas")
			if ev := item.Event; ev.Conversation != "" && ev.Kind != event.TextDelta {
				got[ev.Conversation] = append(got[ev.Conversation], ev)
				if ev.Kind == event.TurnEnd {
					ended <- ev.Conversation
				}
			}
		}
		return nil
	}
	reading := make(chan error, 1)
	go func() { reading <- read(ctx) }()
	begun := conversation("begun")
	s.turn(begun, "hello", nil)
	for <-ended != begun {
	}
	s.turn(old, "hello", nil)
	require.NoError(t, cmd.Process.Kill())
	_, _ = io.Copy(io.Discard, out)
	require.Error(t, cmd.Wait())
	s.start()
	fresh := conversation("fresh")
	for _, id := range []string{old, fresh, old} {
		s.turn(id, "hello", nil)
	}
	for seen := 0; seen < 2; {
		if <-ended == old {
			seen++ // of three, since the kill may have come before the first was read
		}
	}
	s.end()
	require.ErrorIs(t, <-reading, client.ErrClosed)
	s.start()
	s.turn(quiet, "hello", nil)
	ctx, stop := context.WithCancel(ctx)
	go func() { reading <- read(ctx) }()
	for <-ended != quiet {
	}
	stop()
	require.ErrorIs(t, <-reading, context.Canceled)
	s.end()

	st, err := sqlite.Open(t.Context(), filepath.Join(s.dir, "state", "conversations.db"), nil)
	require.NoError(t, err)
	defer st.Close()
	for _, id := range []string{old, quiet, begun, fresh} {
		kept, err := st.Events(t.Context(), id, before[id], 1000)
		require.NoError(t, err)
		require.Len(t, got[id], len(kept), id)
		for i, k := range kept {
			var ev hook.Event
			require.NoError(t, json.Unmarshal([]byte(k.Data), &ev))
			assert.Equal(t, ev, got[id][i])
		}
	}
}
