// Package mem keeps conversations in memory: for tests, and for programs that
// need none after they end.
package mem

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Store is a store in memory, safe for concurrent use. Its methods never block
// and look at no context: what they do is done at once.
type Store struct {
	now func() time.Time

	mu     sync.Mutex
	byKey  map[store.Key]*conversation
	byID   map[string]*conversation
	closed bool
}

var _ store.Store = (*Store)(nil)

type conversation struct {
	record store.Record
	// chunks are the messages. A chunk never grows, so that a long conversation is
	// not copied again and again.
	chunks [][]hook.Message
}

// doublings is how often a chunk is twice as large as the one before it; the
// first one has two messages.
const doublings = 5

func (c *conversation) add(m hook.Message) {
	last := len(c.chunks) - 1
	if last < 0 || len(c.chunks[last]) == cap(c.chunks[last]) {
		last++
		c.chunks = append(c.chunks, make([]hook.Message, 0, 2<<min(last, doublings)))
	}
	c.chunks[last] = append(c.chunks[last], m)
}

// Options of a Store; nil is all zero values.
type Options struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// New returns an empty store.
func New(o *Options) *Store {
	s := &Store{now: time.Now, byKey: map[store.Key]*conversation{}, byID: map[string]*conversation{}}
	if o != nil && o.Now != nil {
		s.now = o.Now
	}
	return s
}

// Close makes every later call fail with store.ErrClosed. What was kept is gone.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.byKey, s.byID = true, nil, nil
	return nil
}

// Conversation implements store.Store.
func (s *Store) Conversation(_ context.Context, key store.Key) (store.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.Record{}, store.ErrClosed
	}
	c, ok := s.byKey[key]
	if !ok {
		now := s.now()
		c = &conversation{record: store.Record{
			ID: fmt.Sprintf("c%d", len(s.byID)+1), Key: key, Created: now, Updated: now,
		}}
		s.byKey[key], s.byID[c.record.ID] = c, c
	}
	return c.record, nil
}

// Messages implements store.Store.
func (s *Store) Messages(_ context.Context, id string) ([]hook.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.lookupLocked(id)
	if err != nil {
		return nil, err
	}
	return slices.Concat(c.chunks...), nil
}

// Append implements store.Store.
func (s *Store) Append(_ context.Context, id string, version int64, a store.Append) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.lookupLocked(id)
	if err != nil {
		return 0, err
	}
	if c.record.Version != version {
		return 0, fmt.Errorf("%w: %s is at version %d, not %d", store.ErrConflict, id, c.record.Version, version)
	}
	for _, m := range a.Messages {
		c.add(m)
	}
	c.record.Version++
	c.record.Updated = s.now()
	if a.TurnEnds {
		c.record.Turns++
	}
	return c.record.Version, nil
}

// List implements store.Store.
func (s *Store) List(context.Context) ([]store.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, store.ErrClosed
	}
	out := make([]store.Record, 0, len(s.byID))
	for _, c := range s.byID {
		out = append(out, c.record)
	}
	slices.SortFunc(out, func(a, b store.Record) int {
		return cmp.Or(cmp.Compare(a.Key.Agent, b.Key.Agent), cmp.Compare(a.Key.Sender, b.Key.Sender))
	})
	return out, nil
}

func (s *Store) lookupLocked(id string) (*conversation, error) {
	if s.closed {
		return nil, store.ErrClosed
	}
	c, ok := s.byID[id]
	if !ok {
		return nil, fmt.Errorf("%w: %q", store.ErrUnknown, id)
	}
	return c, nil
}
