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
	now      func() time.Time
	journals bool

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
	chunks  [][]hook.Message
	journal []store.Entry
	// noted is the sequence of the last entry.
	noted  int64
	events []store.Event
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
	// Journal keeps journal and events as a store on disk does: for tests in which
	// a runtime takes over from another one. False makes a volatile store.
	Journal bool
}

// New returns an empty store.
func New(o *Options) *Store {
	s := &Store{now: time.Now, byKey: map[store.Key]*conversation{}, byID: map[string]*conversation{}}
	if o != nil {
		s.journals = o.Journal
		if o.Now != nil {
			s.now = o.Now
		}
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

// Conversation implements store.Reader.
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

// Messages implements store.Reader.
func (s *Store) Messages(_ context.Context, id string) ([]hook.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.lookupLocked(id)
	if err != nil {
		return nil, err
	}
	return slices.Concat(c.chunks...), nil
}

// Journal implements store.Reader.
func (s *Store) Journal(_ context.Context, id string) ([]store.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.lookupLocked(id)
	if err != nil {
		return nil, err
	}
	return slices.Clone(c.journal), nil
}

// Volatile implements store.Writer.
func (s *Store) Volatile() bool { return !s.journals }

// Claim implements store.Writer.
func (s *Store) Claim(_ context.Context, id string, claim store.Claim) (store.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.lookupLocked(id)
	if err != nil {
		return store.Record{}, err
	}
	now, l := s.now(), &c.record.Lease
	if l.Until.After(now) && (claim.Takes == 0 || l.Epoch != claim.Takes) {
		return store.Record{}, &store.LeasedError{Lease: *l}
	}
	*l = store.Lease{Owner: claim.Owner, Epoch: l.Epoch + 1, Until: now.Add(claim.Hold)}
	return c.record, nil
}

// Append implements store.Writer.
func (s *Store) Append(_ context.Context, id string, a store.Append) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.fencedLocked(id, a.Epoch)
	if err != nil {
		return 0, err
	}
	if c.record.Version != a.Version {
		return 0, fmt.Errorf("%w: %s is at version %d, not %d", store.ErrConflict, id, c.record.Version, a.Version)
	}
	for _, m := range a.Messages {
		c.add(m)
	}
	now := s.now()
	c.record.Version++
	c.record.Updated = now
	c.hold(now, a.Hold)
	c.note(a.Entries, a.Events)
	c.journal = slices.DeleteFunc(c.journal, func(e store.Entry) bool { return a.TurnEnds || slices.Contains(a.Forget, e.Seq) })
	if a.TurnEnds {
		c.record.Turns++
	}
	c.record.Journaled = len(c.journal) > 0
	return c.record.Version, nil
}

// Note implements store.Writer.
func (s *Store) Note(_ context.Context, id string, n store.Note) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.fencedLocked(id, n.Epoch)
	if err != nil {
		return 0, err
	}
	c.hold(s.now(), n.Hold)
	first := c.noted + 1
	c.note(n.Entries, n.Events)
	c.record.Journaled = len(c.journal) > 0
	return first, nil
}

func (c *conversation) hold(now time.Time, d time.Duration) {
	c.record.Lease.Until = time.Time{}
	if d > 0 {
		c.record.Lease.Until = now.Add(d)
	}
}

func (c *conversation) note(entries []store.Entry, events []store.Event) {
	for _, e := range entries {
		c.noted++
		e.Seq = c.noted
		c.journal = append(c.journal, e)
	}
	for _, e := range events {
		c.record.Events = e.Seq
		c.events = append(c.events, e)
	}
}

func (s *Store) fencedLocked(id string, epoch int64) (*conversation, error) {
	c, err := s.lookupLocked(id)
	if err == nil && c.record.Lease.Epoch != epoch {
		return nil, fmt.Errorf("%w: %s is at epoch %d, not %d", store.ErrFenced, id, c.record.Lease.Epoch, epoch)
	}
	return c, err
}

// List implements store.Reader.
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
