package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func eraseRules() []rule {
	return []rule{
		{"A deleted conversation is gone with its children, and no method finds it", erasureIsWhole},
		{"A deletion touches no other conversation", erasureIsExact},
		{"What is written late for a deleted conversation is dropped", erasureOutlivesLateWrites},
		{"A conversation after a deleted one has nothing of it", erasedNumbersAreNotReused},
		{"A conversation that is held, or whose job runs, is not deleted", erasureRespectsLeases},
		{"A child and an unknown id are not deleted", erasureIsRefused},
		{"What is left of a project is deleted, and its conversations stay", projectsAreErased},
		{"The weight of a conversation has its children, and grows with it", weightsAreSums},
	}
}

func eraser(b *bench) store.Eraser { return b.Store.(store.Eraser) }

// eraseAll fills a conversation of the sender with everything that a store has, the word
// canary in each part. It has a child with a child.
func eraseAll(t *testing.T, b *bench, sender string) store.Record {
	t.Helper()
	ctx := t.Context()
	rec := in(t, b, "/p", sender)
	event := uint64(1)
	add := func(rec store.Record, text string, ends bool) {
		_, err := b.Append(ctx, rec.ID, store.Append{
			Version: look(t, b, rec).Version, Messages: message.MessagesOf(message.UserText("canary "+text), assistant("canary "+text)), TurnEnds: ends,
			Entries: []store.Entry{{Kind: store.EntryInput, Message: message.UserText("canary entry"), Data: `{}`}},
			Events:  []store.Event{{Seq: event, Data: `{"text":"canary event"}`}}, States: []hook.StateValue{{Name: "s", Data: `"canary state"`}},
		})
		require.NoError(t, err)
		event++
	}
	for i := range 4 {
		add(rec, fmt.Sprint(i), true)
	}
	add(rec, "open", false)
	if s, ok := b.Store.(store.Forker); ok {
		_, err := s.Rewind(ctx, rec.ID, store.At{Version: look(t, b, rec).Version}, 3)
		require.NoError(t, err)
		add(rec, "again", false)
	}
	if s, ok := b.Store.(store.Compacter); ok {
		_, err := s.Compact(ctx, rec.ID, store.At{Version: look(t, b, rec).Version}, 2, message.UserText("canary summary"))
		require.NoError(t, err)
	}
	eraseWork(t, b, rec.ID)
	if s, ok := b.Store.(store.Child); ok {
		child, err := s.Child(ctx, store.Key{Project: "/p", Agent: "c", Sender: sender + "/1/0"}, rec.ID)
		require.NoError(t, err)
		add(child, "child", true)
		eraseWork(t, b, child.ID)
		below, err := s.Child(ctx, store.Key{Project: "/p", Agent: "d", Sender: sender + "/2/0"}, child.ID)
		require.NoError(t, err)
		add(below, "grandchild", true)
	}
	return look(t, b, rec)
}

// eraseWork queues a job of the conversation and records a run.
func eraseWork(t *testing.T, b *bench, id string) {
	t.Helper()
	if s, ok := b.Store.(store.Jobs); ok {
		j := job("k", "of "+id)
		j.Project, j.Conversation, j.Payload = "/p", id, `"canary job"`
		_, err := s.Enqueue(t.Context(), j)
		require.NoError(t, err)
	}
	if s, ok := b.Store.(store.Runs); ok {
		require.NoError(t, s.WriteRuns(t.Context(), []store.Run{{ID: "r" + id, Project: "/p", Conversation: id, Status: event.RunSucceeded, Error: "canary run"}}))
	}
}

// tree returns the ids of the conversation and all below it.
func tree(t *testing.T, b *bench, id string) []string {
	t.Helper()
	out := []string{id}
	if s, ok := b.Store.(store.Child); ok {
		children, err := s.Children(t.Context(), id)
		require.NoError(t, err)
		for _, c := range children {
			out = append(out, tree(t, b, c.ID)...)
		}
	}
	return out
}

func erasureIsWhole(t *testing.T, b *bench) {
	rec := eraseAll(t, b, "me")
	ids := tree(t, b, rec.ID)
	if s, ok := b.Store.(store.Searcher); ok {
		found, err := s.Search(t.Context(), store.Query{Text: "canary", AllProjects: true})
		require.NoError(t, err)
		require.NotEmpty(t, found, "the index has it")
	}
	weight, err := eraser(b).Weigh(t.Context(), rec.ID)
	require.NoError(t, err)
	got, err := eraser(b).Erase(t.Context(), rec.ID, nil)
	require.NoError(t, err)
	assert.ElementsMatch(t, ids, got.Conversations)
	assert.Equal(t, rec.ID, got.Conversations[0])
	assert.Equal(t, weight, got.Bytes)
	assert.Positive(t, got.Messages)
	if b.reopen != nil {
		b.Store = b.reopen()
	}
	_, err = eraser(b).Shrink(t.Context())
	require.NoError(t, err)
	for _, id := range ids {
		unknownEverywhere(t, b, id)
	}
	nothingFound(t, b)
	fresh := in(t, b, "/p", "me")
	assert.NotContains(t, ids, fresh.ID, "the key has a new conversation")
	assert.Empty(t, said(t, b, fresh.ID))
}

// unknownEverywhere checks that no method that takes an id knows this one.
func unknownEverywhere(t *testing.T, b *bench, id string) {
	t.Helper()
	ctx, at := t.Context(), store.At{}
	calls := map[string]func() error{
		"Find":     func() error { _, err := b.Find(ctx, id); return err },
		"Messages": func() error { _, err := b.Messages(ctx, id); return err },
		"Journal":  func() error { _, err := b.Journal(ctx, id); return err },
		"Claim":    func() error { _, err := b.Claim(ctx, id, store.Claim{Owner: "me", Hold: 1}); return err },
		"Append":   func() error { _, err := b.Append(ctx, id, store.Append{}); return err },
		"Note":     func() error { _, err := b.Note(ctx, id, store.Note{}); return err },
		"Weigh":    func() error { _, err := eraser(b).Weigh(ctx, id); return err },
		"Erase":    func() error { _, err := eraser(b).Erase(ctx, id, nil); return err },
	}
	if s, ok := b.Store.(store.Compacter); ok {
		calls["Archive"] = func() error { _, err := s.Archive(ctx, id); return err }
		calls["Compact"] = func() error { _, err := s.Compact(ctx, id, at, 1, message.UserText("s")); return err }
	}
	if s, ok := b.Store.(store.Forker); ok {
		calls["Fork"] = func() error { _, err := s.Fork(ctx, id, 0, store.Key{Agent: "b"}); return err }
		calls["Rewind"] = func() error { _, err := s.Rewind(ctx, id, at, 0); return err }
	}
	if s, ok := b.Store.(store.Child); ok {
		calls["Children"] = func() error { _, err := s.Children(ctx, id); return err }
		calls["Child"] = func() error { _, err := s.Child(ctx, store.Key{Project: "/p", Agent: "e"}, id); return err }
	}
	if s, ok := b.Store.(store.Log); ok {
		calls["Events"] = func() error { _, err := s.Events(ctx, id, 0, 10); return err }
	}
	if s, ok := b.Store.(store.States); ok {
		calls["States"] = func() error { _, err := s.States(ctx, id); return err }
	}
	if s, ok := b.Store.(store.Porter); ok {
		calls["Dump"] = func() error { _, err := s.Dump(ctx, id); return err }
	}
	for name, call := range calls {
		assert.ErrorIs(t, call(), store.ErrUnknown, name)
	}
}

// nothingFound checks that lists, searches, jobs and runs have no canary.
func nothingFound(t *testing.T, b *bench) {
	t.Helper()
	all, err := b.List(t.Context())
	require.NoError(t, err)
	assert.Empty(t, all)
	if s, ok := b.Store.(store.Searcher); ok {
		found, err := s.Search(t.Context(), store.Query{Text: "canary summary again", AllProjects: true})
		require.NoError(t, err)
		assert.Empty(t, found)
	}
	if _, ok := b.Store.(store.Jobs); ok {
		assert.Empty(t, slices.Concat(jobsOf(t, b, store.JobFilter{Project: "/p"}), jobsOf(t, b, store.JobFilter{Project: "/q"})))
	}
	if s, ok := b.Store.(store.Runs); ok {
		left, err := s.Runs(t.Context(), store.RunFilter{Project: "/p"})
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}

func erasureIsExact(t *testing.T, b *bench) {
	first, rec, last := eraseAll(t, b, "before"), eraseAll(t, b, "me"), eraseAll(t, b, "you")
	lasting := map[string][]string{}
	for _, root := range []string{first.ID, last.ID} {
		for _, id := range tree(t, b, root) {
			lasting[id] = said(t, b, id)
		}
	}
	weights := map[string]int64{}
	for _, id := range []string{first.ID, last.ID} {
		var err error
		weights[id], err = eraser(b).Weigh(t.Context(), id)
		require.NoError(t, err)
	}
	_, err := eraser(b).Erase(t.Context(), rec.ID, nil)
	require.NoError(t, err)
	_, err = eraser(b).Shrink(t.Context())
	require.NoError(t, err)
	if b.reopen != nil {
		b.Store = b.reopen()
	}
	for id, texts := range lasting {
		assert.Equal(t, texts, said(t, b, id))
	}
	for id, want := range weights {
		got, err := eraser(b).Weigh(t.Context(), id)
		require.NoError(t, err)
		assert.Equal(t, want, got, "archive, events, entries and states are there")
	}
	if s, ok := b.Store.(store.Searcher); ok {
		found, err := s.Search(t.Context(), store.Query{Text: "canary", AllProjects: true, Limit: 20})
		require.NoError(t, err)
		ids := map[string]bool{}
		for _, m := range found {
			ids[m.Record.ID] = true
		}
		assert.Equal(t, map[string]bool{first.ID: true, last.ID: true}, ids)
	}
	if _, ok := b.Store.(store.Jobs); ok {
		left := slices.Concat(jobsOf(t, b, store.JobFilter{Project: "/p"}), jobsOf(t, b, store.JobFilter{Project: "/q"}))
		assert.NotEmpty(t, left)
		for _, j := range left {
			assert.Contains(t, lasting, j.Conversation)
		}
	}
}

func erasureOutlivesLateWrites(t *testing.T, b *bench) {
	rec := eraseAll(t, b, "me")
	_, err := eraser(b).Erase(t.Context(), rec.ID, nil)
	require.NoError(t, err)
	if b.reopen != nil {
		b.Store = b.reopen()
	}
	eraseWork(t, b, rec.ID)
	nothingFound(t, b)
}

func erasedNumbersAreNotReused(t *testing.T, b *bench) {
	for range 3 {
		rec := eraseAll(t, b, "me")
		_, err := eraser(b).Erase(t.Context(), rec.ID, nil)
		require.NoError(t, err)
		fresh := in(t, b, "/p", "fresh")
		assert.NotEqual(t, rec.ID, fresh.ID)
		assert.Empty(t, said(t, b, fresh.ID))
		if !b.Volatile() {
			js, err := b.Journal(t.Context(), fresh.ID)
			require.NoError(t, err)
			assert.Empty(t, js)
		}
		tell(t, b, fresh, "canary of the new one")
		if s, ok := b.Store.(store.Searcher); ok {
			found, err := s.Search(t.Context(), store.Query{Text: "canary", AllProjects: true})
			require.NoError(t, err)
			require.Len(t, found, 1)
			assert.Equal(t, "canary of the new one", found[0].Snippet)
		}
		_, err = eraser(b).Erase(t.Context(), fresh.ID, nil)
		require.NoError(t, err)
	}
}

func erasureRespectsLeases(t *testing.T, b *bench) {
	rec := in(t, b, "/p", "me")
	held := rec
	if s, ok := b.Store.(store.Child); ok {
		var err error
		held, err = s.Child(t.Context(), store.Key{Project: "/p", Agent: "c", Sender: "t/1/0"}, rec.ID)
		require.NoError(t, err)
	}
	_, err := b.Claim(t.Context(), held.ID, store.Claim{Owner: "other", Hold: time.Minute})
	require.NoError(t, err)
	_, err = eraser(b).Erase(t.Context(), rec.ID, nil)
	var leased *store.LeasedError
	require.ErrorAs(t, err, &leased, "a child is held, the parent is not")
	assert.Equal(t, "other", leased.Lease.Owner)
	assert.Empty(t, said(t, b, rec.ID), "it is there")
	b.clock.pass(time.Hour)
	if s, ok := b.Store.(store.Jobs); ok {
		eraseWork(t, b, rec.ID)
		_, err := s.TakeJob(t.Context(), store.JobTake{Owner: "worker", Project: "/p", Kinds: []string{"k"}, Hold: time.Minute})
		require.NoError(t, err)
		_, err = eraser(b).Erase(t.Context(), rec.ID, nil)
		require.ErrorAs(t, err, &leased, "a job of it runs")
		assert.Equal(t, "worker", leased.Lease.Owner)
	}
	_, err = eraser(b).Erase(t.Context(), rec.ID, []string{"worker"})
	require.NoError(t, err, "its owner is gone")
}

func erasureIsRefused(t *testing.T, b *bench) {
	rec := eraseAll(t, b, "me")
	_, err := eraser(b).Erase(t.Context(), "none", nil)
	require.ErrorIs(t, err, store.ErrUnknown)
	for _, id := range tree(t, b, rec.ID)[1:] {
		_, err := eraser(b).Erase(t.Context(), id, nil)
		require.ErrorIs(t, err, store.ErrUnknown)
	}
	assert.NotEmpty(t, said(t, b, rec.ID))
}

func projectsAreErased(t *testing.T, b *bench) {
	rec := eraseAll(t, b, "me")
	_, ok := b.Store.(store.Jobs)
	if !ok {
		t.Skip("no jobs")
	}
	for _, project := range []string{"/p", "/q"} {
		j := job("k", "loose")
		j.Project, j.Conversation = project, ""
		enqueue(t, b, j, true)
	}
	got, err := eraser(b).EraseProject(t.Context(), "/p", nil)
	require.NoError(t, err)
	assert.Equal(t, store.Erased{Jobs: 1}, got)
	left := slices.Concat(jobsOf(t, b, store.JobFilter{Project: "/p"}), jobsOf(t, b, store.JobFilter{Project: "/q"}))
	loose := 0
	for _, j := range left {
		if j.Conversation == "" {
			loose++
			assert.Equal(t, "/q", j.Project)
		}
	}
	assert.Equal(t, 1, loose)
	assert.NotEmpty(t, said(t, b, rec.ID))
}

func weightsAreSums(t *testing.T, b *bench) {
	rec := in(t, b, "/p", "me")
	none, err := eraser(b).Weigh(t.Context(), rec.ID)
	require.NoError(t, err)
	tell(t, b, rec, strings.Repeat("x", 1000))
	one, err := eraser(b).Weigh(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, one, none+1000)
	if s, ok := b.Store.(store.Child); ok {
		child, err := s.Child(t.Context(), store.Key{Project: "/p", Agent: "c", Sender: "t/1/0"}, rec.ID)
		require.NoError(t, err)
		tell(t, b, child, strings.Repeat("y", 1000))
		both, err := eraser(b).Weigh(t.Context(), rec.ID)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, both, one+1000)
	}
}
