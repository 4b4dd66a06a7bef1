// Package storetest is the conformance test of package store: every
// implementation runs it.
package storetest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Subject is one store under test.
type Subject struct {
	Store store.Store
	// Reopen closes the store and opens its data again; nil for a store that ends with
	// the process.
	Reopen func() store.Store
}

// Open returns a new empty store with the clock now. It closes the store with t.Cleanup.
type Open func(t *testing.T, now func() time.Time) Subject

// bench has the store and the clock of a rule.
type bench struct {
	store.Store
	reopen func() store.Store
	clock  *clock
}

// clock is a clock that tests advance.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// rule is one sentence of the contract and the test of it.
type rule struct {
	name string
	rule func(*testing.T, *bench)
}

type part struct {
	name  string
	has   func(store.Store) bool
	rules []rule
}

func implements[T any](s store.Store) bool { _, ok := s.(T); return ok }

func parts() []part {
	return []part{
		{"store.Store", func(store.Store) bool { return true }, slices.Concat(messageRules(), leaseRules(), projectRules())},
		{"a store that is not volatile", func(s store.Store) bool { return !s.Volatile() }, journalRules()},
		{"store.Compacter", implements[store.Compacter], compactRules()},
		{"store.Forker", implements[store.Forker], slices.Concat(forkRules(), projectForkRules())},
		{"store.Child", implements[store.Child], childRules()},
		{"store.Log", func(s store.Store) bool { return implements[store.Log](s) && !s.Volatile() }, logRules()},
		{"store.Searcher", implements[store.Searcher], slices.Concat(searchRules(), projectSearchRules())},
		{"store.Porter", implements[store.Porter], portRules()},
		{"store.States", implements[store.States], stateRules()},
		{"store.Jobs", implements[store.Jobs], slices.Concat(jobRules(), projectJobRules(), writtenJobRules())},
		{"store.Adopter", implements[store.Adopter], adoptRules()},
		{"store.Eraser", implements[store.Eraser], eraseRules()},
		{"store.Spending", implements[store.Spending], spendingRules()},
		{"store.Runs", implements[store.Runs], runRules()},
		{"store.Presence", implements[store.Presence], nodeRules()},
		{"store.Unfinished", implements[store.Unfinished], unfinishedRules()},
		{"store.Waker", implements[store.Waker], wakeRules()},
	}
}

// Run tests the stores that open returns: store.Store, and each optional interface
// that they implement. It logs those that they do not.
func Run(t *testing.T, open Open) {
	for _, p := range parts() {
		if !p.has(open(t, time.Now).Store) {
			t.Logf("not tested, because the store is none: %s", p.name)
			continue
		}
		for _, r := range p.rules {
			t.Run(r.name, func(t *testing.T) {
				c := &clock{now: time.Date(2026, 3, 4, 5, 6, 7, 891234567, time.UTC)}
				subject := open(t, c.Now)
				r.rule(t, &bench{subject.Store, subject.Reopen, c})
			})
		}
	}
}

func user(text string) []message.Message { return []message.Message{message.UserText(text)} }

func assistant(text string) message.Message {
	return message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock(text))}
}

func look(t *testing.T, s store.Store, rec store.Record) store.Record {
	t.Helper()
	again, err := s.Conversation(t.Context(), rec.Key)
	require.NoError(t, err)
	require.Equal(t, rec.ID, again.ID)
	return again
}

func said(t *testing.T, s store.Store, id string) []string {
	t.Helper()
	ms, err := s.Messages(t.Context(), id)
	require.NoError(t, err)
	return texts(ms)
}

func create(t *testing.T, s store.Store, agent, sender string) store.Record {
	t.Helper()
	rec, err := s.Conversation(t.Context(), store.Key{Agent: agent, Sender: sender})
	require.NoError(t, err)
	return rec
}

func texts(ms []message.Message) []string {
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = m.Text()
	}
	return out
}
