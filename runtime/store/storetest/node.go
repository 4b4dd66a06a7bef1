package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func nodeRules() []rule {
	return []rule{
		{"Who beats is alive until its TTL is over, by the store's clock", nodesLive},
		{"What no node can be is an error", badNodes},
		{"The lease of a node that has died can be claimed, and its old holder writes nothing", deadNodesLoseLeases},
		{"A node that beats keeps its leases, and who is no node keeps them until they end", livingNodesKeepLeases},
		{"Who beats too late is told so, and is alive again", lateNodes},
		{"What a node that leaves holds is free at once", leavingNodes},
		{"A job that a dead node ran is taken, and its late end is refused", deadNodesLoseJobs},
	}
}

func presence(b *bench) store.Presence { return b.Store.(store.Presence) }

func node(id string) store.Node {
	return store.Node{
		ID: id, URL: "unix:/run/" + id, Version: "1", TTL: 3 * time.Second,
		Projects: []store.NodeProject{{ID: "p", Root: "/p", Fingerprint: "f"}},
	}
}

func beat(t *testing.T, b *bench, id string) {
	t.Helper()
	require.NoError(t, presence(b).Beat(t.Context(), node(id)))
}

func alive(t *testing.T, b *bench) (out []string) {
	t.Helper()
	all, err := presence(b).Nodes(t.Context())
	require.NoError(t, err)
	for _, n := range all {
		if n.Alive {
			out = append(out, n.ID)
		}
	}
	return out
}

func nodesLive(t *testing.T, b *bench) {
	assert.Empty(t, alive(t, b))
	beat(t, b, "one")
	all, err := presence(b).Nodes(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.True(t, b.clock.Now().Equal(all[0].Seen), all[0].Seen)
	want := node("one")
	want.Seen, want.Alive = all[0].Seen, true
	assert.Equal(t, want, all[0])

	b.clock.pass(2 * time.Second)
	beat(t, b, "two")
	assert.Equal(t, []string{"one", "two"}, alive(t, b))
	b.clock.pass(time.Second)
	assert.Equal(t, []string{"one", "two"}, alive(t, b), "exactly the TTL is not longer than it")
	b.clock.pass(time.Millisecond)
	assert.Equal(t, []string{"two"}, alive(t, b))
}

func badNodes(t *testing.T, b *bench) {
	for _, n := range []store.Node{{}, {ID: "one"}, {TTL: time.Second}, {ID: "one", TTL: 2 * time.Hour}} {
		assert.Error(t, presence(b).Beat(t.Context(), n), n)
	}
	assert.Empty(t, alive(t, b))
}

// hold claims the lease for an hour: what a node does.
func hold(t *testing.T, b *bench, id, owner string) store.Record {
	t.Helper()
	rec, err := b.Claim(t.Context(), id, store.Claim{Owner: owner, Hold: time.Hour})
	require.NoError(t, err)
	return rec
}

func deadNodesLoseLeases(t *testing.T, b *bench) {
	beat(t, b, "one")
	rec := hold(t, b, create(t, b.Store, "a", "x").ID, "one")
	_, err := b.Note(t.Context(), rec.ID, store.Note{Epoch: rec.Lease.Epoch, Hold: time.Hour, Entries: []store.Entry{{Kind: store.EntryTurn, Data: `{"id":"t"}`}}})
	require.NoError(t, err)
	b.clock.pass(2 * time.Second)
	refusal(t, b.Store, rec.ID, 0)
	assert.False(t, look(t, b.Store, rec).Lease.Until.IsZero())

	b.clock.pass(time.Second + time.Millisecond)
	dead := look(t, b.Store, rec).Lease
	assert.True(t, dead.Until.IsZero(), "nobody needs to ask who the owner is")
	assert.Equal(t, "one", dead.Owner)
	found, err := b.Find(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.True(t, found.Lease.Until.IsZero())
	all, err := b.List(t.Context())
	require.NoError(t, err)
	assert.True(t, all[0].Lease.Until.IsZero())

	beat(t, b, "two")
	taken := hold(t, b, rec.ID, "two")
	assert.Equal(t, rec.Lease.Epoch+1, taken.Lease.Epoch)
	entries, err := b.Journal(t.Context(), rec.ID)
	require.NoError(t, err)
	if !b.Volatile() {
		assert.Len(t, entries, 1, "the journal is the successor's")
	}
	_, err = b.Append(t.Context(), rec.ID, store.Append{Version: rec.Version, Epoch: rec.Lease.Epoch, Messages: message.MessagesOf(user("late")...)})
	require.ErrorIs(t, err, store.ErrFenced)
	_, err = b.Note(t.Context(), rec.ID, store.Note{Epoch: rec.Lease.Epoch, Hold: time.Hour})
	require.ErrorIs(t, err, store.ErrFenced)
	assert.Empty(t, said(t, b.Store, rec.ID))
}

func livingNodesKeepLeases(t *testing.T, b *bench) {
	beat(t, b, "one")
	mine, other := create(t, b.Store, "a", "x"), create(t, b.Store, "a", "y")
	hold(t, b, mine.ID, "one")
	hold(t, b, other.ID, "a process that is no node")
	for range 5 {
		b.clock.pass(2 * time.Second)
		beat(t, b, "one")
		refusal(t, b.Store, mine.ID, 0)
		refusal(t, b.Store, other.ID, 0)
	}
	b.clock.pass(time.Hour)
	beat2 := presence(b).Beat(t.Context(), node("one"))
	require.ErrorIs(t, beat2, store.ErrLate)
	take(t, b.Store, other.ID, "another")
}

func lateNodes(t *testing.T, b *bench) {
	beat(t, b, "one")
	b.clock.pass(4 * time.Second)
	require.ErrorIs(t, presence(b).Beat(t.Context(), node("one")), store.ErrLate)
	assert.Equal(t, []string{"one"}, alive(t, b))
	beat(t, b, "one")
}

func leavingNodes(t *testing.T, b *bench) {
	require.NoError(t, presence(b).Leave(t.Context(), "nobody"))
	beat(t, b, "one")
	rec := hold(t, b, create(t, b.Store, "a", "x").ID, "one")
	require.NoError(t, presence(b).Leave(t.Context(), "one"))
	all, err := presence(b).Nodes(t.Context())
	require.NoError(t, err)
	assert.Empty(t, all)
	hold(t, b, rec.ID, "two")
	require.ErrorIs(t, presence(b).Beat(t.Context(), node("one")), store.ErrLate)
}

func deadNodesLoseJobs(t *testing.T, b *bench) {
	beat(t, b, "one")
	enqueue(t, b, job("a", "1"), true)
	first, err := jobs(b).TakeJob(t.Context(), store.JobTake{Owner: "one", Kinds: []string{"a"}, Hold: time.Hour})
	require.NoError(t, err)
	second := store.JobTake{Owner: "two", Kinds: []string{"a"}, Hold: time.Hour}
	_, err = jobs(b).TakeJob(t.Context(), second)
	require.ErrorIs(t, err, store.ErrNoJob)
	b.clock.pass(3*time.Second + time.Millisecond)
	again, err := jobs(b).TakeJob(t.Context(), second)
	require.NoError(t, err)
	assert.Equal(t, first.ID, again.ID)
	assert.Equal(t, 2, again.Attempts)
	done := store.JobEnd{Status: store.JobSucceeded}
	require.ErrorIs(t, jobs(b).EndJob(t.Context(), first.ID, first.Epoch, done), store.ErrFenced)
	require.NoError(t, jobs(b).EndJob(t.Context(), again.ID, again.Epoch, done))
}

func wakeRules() []rule {
	return []rule{{"Who watches hears of writes, and stops with its context", watches}}
}

func watches(t *testing.T, b *bench) {
	rec := hold(t, b, create(t, b.Store, "a", "x").ID, "me")
	ctx, stop := context.WithCancelCause(t.Context())
	heard := make(chan string, 100)
	var ended error
	var watching sync.WaitGroup
	watching.Go(func() {
		ended = b.Store.(store.Waker).Watch(ctx, func(id string) {
			select {
			case heard <- id:
			default:
			}
		})
	})
	// A watch that has just begun may miss a write, so there are some.
	for seq := uint64(1); ; seq++ {
		_, err := b.Note(t.Context(), rec.ID, store.Note{Epoch: rec.Lease.Epoch, Hold: time.Hour, Events: []store.Event{{Seq: seq, Data: `{}`}}})
		require.NoError(t, err)
		select {
		case id := <-heard:
			assert.Equal(t, rec.ID, id)
			reason := errors.New("enough")
			stop(reason)
			watching.Wait()
			assert.ErrorIs(t, ended, reason)
			return
		case <-time.After(50 * time.Millisecond):
			require.Less(t, seq, uint64(1000), "nothing was heard of a thousand writes")
		}
	}
}

func unfinishedRules() []rule {
	return []rule{{"Turns that have not ended are found, also those whose node has died", unfinished}}
}

func unfinished(t *testing.T, b *bench) {
	all := func() (ids []string) {
		t.Helper()
		recs, err := b.Store.(store.Unfinished).Unfinished(t.Context())
		require.NoError(t, err)
		for _, r := range recs {
			assert.True(t, r.Journaled)
			ids = append(ids, r.ID)
		}
		return ids
	}
	if b.Volatile() {
		assert.Empty(t, all())
		return
	}
	create(t, b.Store, "a", "idle")
	rec := take(t, b.Store, create(t, b.Store, "a", "x").ID, "me")
	assert.Empty(t, all())
	_, err := b.Note(t.Context(), rec.ID, store.Note{Epoch: rec.Lease.Epoch, Hold: time.Minute, Entries: []store.Entry{{Kind: store.EntryTurn, Data: `{}`}}})
	require.NoError(t, err)
	child, err := b.Store.(store.Child).Child(t.Context(), store.Key{Agent: "b"}, rec.ID)
	require.NoError(t, err)
	held := take(t, b.Store, child.ID, "me")
	_, err = b.Note(t.Context(), child.ID, store.Note{Epoch: held.Lease.Epoch, Entries: []store.Entry{{Kind: store.EntryTurn, Data: `{}`}}})
	require.NoError(t, err)
	assert.Equal(t, []string{rec.ID}, all(), "who resumes it resumes its children")
	_, err = b.Append(t.Context(), rec.ID, store.Append{Epoch: rec.Lease.Epoch, TurnEnds: true})
	require.NoError(t, err)
	assert.Empty(t, all())
}

func writtenJobRules() []rule {
	return []rule{
		{"A write queues its jobs in the same step", jobsOfWrites},
		{"A write that is refused queues no job", refusedWritesQueueNothing},
	}
}

func jobsOfWrites(t *testing.T, b *bench) {
	rec := take(t, b.Store, create(t, b.Store, "a", "x").ID, "me")
	enqueue(t, b, job("k", "0"), true)
	_, err := b.Note(t.Context(), rec.ID, store.Note{Epoch: rec.Lease.Epoch, Hold: time.Minute, Jobs: []store.Job{job("k", "1"), job("k", "0"), job("k", "1")}})
	require.NoError(t, err)
	_, err = b.Append(t.Context(), rec.ID, store.Append{Epoch: rec.Lease.Epoch, Messages: message.MessagesOf(user("hi")...), Jobs: []store.Job{job("k", "2")}, TurnEnds: true})
	require.NoError(t, err)
	all := jobsOf(t, b, store.JobFilter{})
	var keys []string
	for _, j := range all {
		keys = append(keys, j.Key)
		assert.Equal(t, store.JobQueued, j.Status)
		assert.Equal(t, 3, j.Version)
		assert.Equal(t, "c", j.Conversation)
	}
	assert.Equal(t, []string{"2", "1", "0"}, keys)
}

func refusedWritesQueueNothing(t *testing.T, b *bench) {
	rec := take(t, b.Store, create(t, b.Store, "a", "x").ID, "me")
	queued := []store.Job{job("k", "1")}
	_, err := b.Note(t.Context(), rec.ID, store.Note{Epoch: rec.Lease.Epoch - 1, Jobs: queued})
	require.ErrorIs(t, err, store.ErrFenced)
	_, err = b.Append(t.Context(), rec.ID, store.Append{Version: 7, Epoch: rec.Lease.Epoch, Jobs: queued})
	require.ErrorIs(t, err, store.ErrConflict)
	bad := job("", "1")
	_, err = b.Note(t.Context(), rec.ID, store.Note{Epoch: rec.Lease.Epoch, Jobs: []store.Job{bad}, Entries: []store.Entry{{Kind: store.EntryTurn, Data: `{}`}}})
	require.Error(t, err)
	_, err = b.Append(t.Context(), rec.ID, store.Append{Epoch: rec.Lease.Epoch, Messages: message.MessagesOf(user("hi")...), Jobs: []store.Job{bad}})
	require.Error(t, err)
	assert.Empty(t, jobsOf(t, b, store.JobFilter{}))
	assert.Empty(t, said(t, b.Store, rec.ID))
	assert.False(t, look(t, b.Store, rec).Journaled)
}
