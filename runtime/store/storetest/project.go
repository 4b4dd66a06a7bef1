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
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func projectRules() []rule {
	return []rule{
		{"One agent and sender have a conversation in each project", projectsKeepConversationsApart},
		{"A list has the conversations of all projects, project by project", projectsAreListed},
	}
}

func projectSearchRules() []rule {
	return []rule{
		{"A search finds what is in its project, and in all if it asks for all", searchStaysInItsProject},
		{"A search over all projects finds those of the same owner, and is not crowded out by others", searchStaysWithItsOwner},
	}
}

func projectForkRules() []rule {
	return []rule{{"A fork is in the project of its key", forksGoWhereTheirKeySays}}
}

func projectJobRules() []rule {
	return []rule{{"A job is queued and done in its project only", jobsStayInTheirProject}}
}

func adoptRules() []rule {
	return []rule{
		{"An adopted conversation is in the other project with its children, messages and journal", adoptionMovesEverything},
		{"An adopted conversation has no states: rights stay behind", adoptionDropsStates},
		{"Whoever held the lease of an adopted conversation cannot write any more", adoptionFences},
		{"A conversation that is held is not adopted", adoptionRespectsLeases},
		{"A key that is taken, a child and an unknown id are not adopted", adoptionIsRefused},
	}
}

func in(t *testing.T, b *bench, project, sender string) store.Record {
	t.Helper()
	rec, err := b.Conversation(t.Context(), store.Key{Project: project, Agent: "a", Sender: sender})
	require.NoError(t, err)
	return rec
}

func tell(t *testing.T, b *bench, rec store.Record, text string) {
	t.Helper()
	_, err := b.Append(t.Context(), rec.ID, store.Append{Version: rec.Version, Epoch: rec.Lease.Epoch, Messages: message.MessagesOf(user(text)...), TurnEnds: true})
	require.NoError(t, err)
}

func projectsKeepConversationsApart(t *testing.T, b *bench) {
	one, two, none := in(t, b, "/one", "me"), in(t, b, "/two", "me"), in(t, b, "", "me")
	assert.NotEqual(t, one.ID, two.ID)
	assert.NotEqual(t, one.ID, none.ID)
	assert.Equal(t, store.Key{Project: "/one", Agent: "a", Sender: "me"}, one.Key)
	tell(t, b, one, "of one")
	assert.Equal(t, []string{"of one"}, said(t, b, one.ID))
	assert.Empty(t, said(t, b, two.ID))
	if b.reopen != nil {
		b.Store = b.reopen()
	}
	assert.Equal(t, one.ID, in(t, b, "/one", "me").ID)
	assert.Equal(t, two.ID, in(t, b, "/two", "me").ID)
}

func projectsAreListed(t *testing.T, b *bench) {
	two, one, none := in(t, b, "/two", "me"), in(t, b, "/one", "you"), in(t, b, "", "zoe")
	all, err := b.List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []store.Record{none, one, two}, all)
}

func searchStaysInItsProject(t *testing.T, b *bench) {
	tell(t, b, in(t, b, "/one", "me"), "canary one")
	tell(t, b, in(t, b, "/two", "me"), "canary two")
	tell(t, b, in(t, b, "", "me"), "canary none")
	for project, want := range map[string]string{"/one": "canary one", "/two": "canary two", "": "canary none"} {
		found, err := b.Store.(store.Searcher).Search(t.Context(), store.Query{Text: "canary", Project: project, Before: 8, After: 8})
		require.NoError(t, err)
		require.Len(t, found, 1, project)
		assert.Equal(t, want, found[0].Snippet)
		assert.Len(t, found[0].Around, 1)
	}
	found, err := b.Store.(store.Searcher).Search(t.Context(), store.Query{Text: "canary", Project: "/one", AllProjects: true})
	require.NoError(t, err)
	assert.Len(t, found, 3)
	found, err = b.Store.(store.Searcher).Search(t.Context(), store.Query{Text: "canary", Project: "/o*"})
	require.NoError(t, err)
	assert.Empty(t, found)
}

func searchStaysWithItsOwner(t *testing.T, b *bench) {
	nobodys := []string{"", "/one", "/two/a:/b", "alice", "alice:one", "alice:one:/two", "Alice:/one", ":/one", "a b:/one", "-a:/one", strings.Repeat("a", 65) + ":/one"}
	for _, project := range nobodys {
		tell(t, b, in(t, b, project, "me"), "a canary among many other words, which are of no use to whoever looks for one")
	}
	longest := strings.Repeat("a", 64)
	owned := []string{"alice:/one", "alice:/two:/three", "a.l_i-ce:/one", longest + ":/one", "7:/"}
	for _, project := range owned {
		for i := range 5 {
			tell(t, b, in(t, b, project, fmt.Sprint(i)), "canary canary")
		}
	}
	search := func(project string) (out []string) {
		found, err := b.Store.(store.Searcher).Search(t.Context(), store.Query{Text: "canary", Project: project, AllProjects: true, Limit: 20})
		require.NoError(t, err)
		for _, m := range found {
			out = append(out, m.Record.Key.Project)
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	slices.Sort(nobodys)
	assert.Equal(t, nobodys, search(""))
	assert.Equal(t, nobodys, search("/nowhere"))
	assert.Equal(t, []string{"alice:/one", "alice:/two:/three"}, search("alice:/nowhere"))
	assert.Equal(t, []string{longest + ":/one"}, search(longest+":/"))
	assert.Empty(t, search("bob:/one"))
}

func forksGoWhereTheirKeySays(t *testing.T, b *bench) {
	one := in(t, b, "/one", "me")
	tell(t, b, one, "x")
	rec, err := b.Store.(store.Forker).Fork(t.Context(), one.ID, 1, store.Key{Project: "/two", Agent: "a", Sender: "me"})
	require.NoError(t, err)
	assert.Equal(t, "/two", rec.Key.Project)
	assert.Equal(t, rec.ID, in(t, b, "/two", "me").ID)
	_, err = b.Store.(store.Forker).Fork(t.Context(), one.ID, 1, store.Key{Project: "/two", Agent: "a", Sender: "me"})
	require.ErrorIs(t, err, store.ErrExists)
}

func jobsStayInTheirProject(t *testing.T, b *bench) {
	one, two := job("k", "1"), job("k", "1")
	one.Project, two.Project = "/one", "/two"
	enqueue(t, b, one, true)
	enqueue(t, b, one, false)
	enqueue(t, b, two, true)
	take := func(project string, gone ...string) (store.Job, error) {
		return jobs(b).TakeJob(t.Context(), store.JobTake{Owner: "me", Project: project, Kinds: []string{"k"}, Hold: time.Minute, Gone: gone})
	}
	none, err := take("")
	require.ErrorIs(t, err, store.ErrNoJob)
	assert.True(t, none.Due.IsZero(), "there is nothing to wait for")
	got, err := take("/two")
	require.NoError(t, err)
	assert.Equal(t, "/two", got.Project)
	_, err = take("/two")
	require.ErrorIs(t, err, store.ErrNoJob)
	again, err := take("/two", "me")
	require.NoError(t, err, "its owner is gone")
	assert.Equal(t, got.ID, again.ID)
	b.clock.pass(time.Hour)
	got, err = take("/one")
	require.NoError(t, err)
	assert.Equal(t, "/one", got.Project)
	assert.Len(t, jobsOf(t, b, store.JobFilter{Project: "/one"}), 1)
	assert.Len(t, jobsOf(t, b, store.JobFilter{Project: "/two"}), 1)
	assert.Empty(t, jobsOf(t, b, store.JobFilter{}))
}

// adopted makes a conversation of /one with a turn, a journal, states and a child, and lets
// /two adopt it. was is the record before, is the record after that.
func adopted(t *testing.T, b *bench) (was, child, is store.Record) {
	t.Helper()
	was = in(t, b, "/one", "me")
	tell(t, b, was, "canary")
	_, err := b.Note(t.Context(), was.ID, store.Note{
		Entries: []store.Entry{{Kind: store.EntryTurn, Data: `{}`}}, States: []hook.StateValue{{Name: "allowed", Data: `1`}},
	})
	require.NoError(t, err)
	if s, ok := b.Store.(store.Child); ok {
		child, err = s.Child(t.Context(), store.Key{Project: "/one", Agent: "c", Sender: "t/1/0"}, was.ID)
		require.NoError(t, err)
		_, err = s.Child(t.Context(), store.Key{Project: "/one", Agent: "d", Sender: "u/1/0"}, child.ID)
		require.NoError(t, err)
	}
	is, err = b.Store.(store.Adopter).Adopt(t.Context(), was.ID, store.Claim{Owner: "you", Hold: time.Minute}, store.Key{Project: "/two", Agent: "b", Sender: "mine"})
	require.NoError(t, err)
	if b.reopen != nil {
		b.Store = b.reopen()
	}
	return was, child, is
}

func adoptionMovesEverything(t *testing.T, b *bench) {
	was, child, is := adopted(t, b)
	assert.Equal(t, was.ID, is.ID)
	assert.Equal(t, store.Key{Project: "/two", Agent: "b", Sender: "mine"}, is.Key)
	assert.Equal(t, is, look(t, b, is))
	assert.Equal(t, []string{"canary"}, said(t, b, is.ID))
	assert.NotEqual(t, was.ID, in(t, b, "/one", "me").ID, "the old key is free")
	if !b.Volatile() {
		js, err := b.Journal(t.Context(), is.ID)
		require.NoError(t, err)
		assert.Len(t, js, 1)
	}
	if s, ok := b.Store.(store.Child); ok {
		for parent, key := range map[string]store.Key{is.ID: {Project: "/two", Agent: "c", Sender: "t/1/0"}, child.ID: {Project: "/two", Agent: "d", Sender: "u/1/0"}} {
			children, err := s.Children(t.Context(), parent)
			require.NoError(t, err)
			require.Len(t, children, 1)
			assert.Equal(t, key, children[0].Key)
		}
	}
	if s, ok := b.Store.(store.Searcher); ok {
		for project, want := range map[string]int{"/one": 0, "/two": 1} {
			found, err := s.Search(t.Context(), store.Query{Text: "canary", Project: project})
			require.NoError(t, err)
			assert.Len(t, found, want, project)
		}
	}
}

func adoptionDropsStates(t *testing.T, b *bench) {
	_, _, is := adopted(t, b)
	if s, ok := b.Store.(store.States); ok {
		values, err := s.States(t.Context(), is.ID)
		require.NoError(t, err)
		assert.Empty(t, values)
	}
}

func adoptionFences(t *testing.T, b *bench) {
	rec, err := b.Claim(t.Context(), in(t, b, "/one", "me").ID, store.Claim{Owner: "me", Hold: time.Minute})
	require.NoError(t, err)
	b.clock.pass(time.Hour) // the lease has ended, and its holder does not know
	is, err := b.Store.(store.Adopter).Adopt(t.Context(), rec.ID, store.Claim{Owner: "you", Hold: time.Minute}, store.Key{Project: "/two", Agent: "a", Sender: "me"})
	require.NoError(t, err)
	assert.True(t, is.Lease.Until.IsZero(), "it is free")
	_, err = b.Append(t.Context(), rec.ID, store.Append{Version: rec.Version, Epoch: rec.Lease.Epoch, Messages: message.MessagesOf(user("late")...)})
	require.ErrorIs(t, err, store.ErrFenced)
}

func adoptionRespectsLeases(t *testing.T, b *bench) {
	rec, err := b.Claim(t.Context(), in(t, b, "/one", "me").ID, store.Claim{Owner: "me", Hold: time.Minute})
	require.NoError(t, err)
	key, claim := store.Key{Project: "/two", Agent: "a", Sender: "me"}, store.Claim{Owner: "you", Hold: time.Minute}
	_, err = b.Store.(store.Adopter).Adopt(t.Context(), rec.ID, claim, key)
	var held *store.LeasedError
	require.ErrorAs(t, err, &held)
	assert.Equal(t, "me", held.Lease.Owner)
	assert.Equal(t, rec, look(t, b, rec))
	claim.Takes = rec.Lease.Epoch
	_, err = b.Store.(store.Adopter).Adopt(t.Context(), rec.ID, claim, key)
	require.NoError(t, err, "its holder is gone")
}

func adoptionIsRefused(t *testing.T, b *bench) {
	one, two := in(t, b, "/one", "me"), in(t, b, "/two", "me")
	claim := store.Claim{Owner: "you", Hold: time.Minute}
	_, err := b.Store.(store.Adopter).Adopt(t.Context(), one.ID, claim, two.Key)
	require.ErrorIs(t, err, store.ErrExists)
	_, err = b.Store.(store.Adopter).Adopt(t.Context(), "none", claim, store.Key{Project: "/three", Agent: "a"})
	require.ErrorIs(t, err, store.ErrUnknown)
	_, err = b.Store.(store.Adopter).Adopt(t.Context(), one.ID, store.Claim{}, store.Key{Project: "/three", Agent: "a"})
	require.Error(t, err)
	if s, ok := b.Store.(store.Child); ok {
		child, err := s.Child(t.Context(), store.Key{Project: "/one", Agent: "c"}, one.ID)
		require.NoError(t, err)
		_, err = b.Store.(store.Adopter).Adopt(t.Context(), child.ID, claim, store.Key{Project: "/three", Agent: "a"})
		require.ErrorIs(t, err, store.ErrUnknown)
	}
	assert.Equal(t, one, look(t, b, one))
}
