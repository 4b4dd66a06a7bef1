// Package mem keeps conversations in memory: for tests, and for programs that need no
// conversations after their end.
package mem

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Store is a store in memory, safe for concurrent use. Its methods never block and ignore
// their context.
type Store struct {
	now      func() time.Time
	journals bool
	prefix   string

	mu    sync.Mutex
	byKey map[store.Key]*conversation
	// all is in the order of creation, which is the order of the ids. A deleted one is nil.
	all []*conversation
	// jobs is in the order of the ids, from 1. A deleted one has no status.
	jobs     []store.Job
	jobAt    map[jobKey]int
	spending spending
	// runs is in the order in which they were written first.
	runs   []store.Run
	nodes  map[string]store.Node
	closed bool
}

var (
	_ store.Store     = (*Store)(nil)
	_ store.Compacter = (*Store)(nil)
	_ store.Forker    = (*Store)(nil)
	_ store.Adopter   = (*Store)(nil)
	_ store.Child     = (*Store)(nil)
	_ store.Log       = (*Store)(nil)
	_ store.Porter    = (*Store)(nil)
	_ store.Searcher  = (*Store)(nil)
	_ store.States    = (*Store)(nil)
	_ store.Histories = (*Store)(nil)
	_ store.Titles    = (*Store)(nil)
)

type conversation struct {
	record store.Record
	// messages is shared with its readers and writers.
	messages message.Messages
	// turns has the turn of each message; a summary has the turn of the last message
	// that it replaces.
	turns []int32
	kept  *kept // nil until needed
}

// kept has the parts that only some conversations have.
type kept struct {
	journal []store.Entry
	// noted is the sequence of the last entry.
	noted  int64
	events []store.Event
	// states is in the order of the names.
	states []hook.StateValue
	// archive has the compacted messages, oldest first.
	archive []store.Kept
	// branches has the rewound messages and journals.
	branches []branch
}

type branch struct {
	messages []store.Kept
	journal  []store.Entry
}

func (c *conversation) more() *kept {
	if c.kept == nil {
		c.kept = &kept{}
	}
	return c.kept
}

// add adds the messages of one turn, without the ephemeral ones.
func (c *conversation) add(ms message.Messages, turn int) {
	for i, m := range ms.All() {
		if m.Ephemeral {
			isEphemeral := func(m message.Message) bool { return m.Ephemeral }
			ms = ms.First(i).Append(slices.DeleteFunc(ms.From(i).Slice(), isEphemeral)...)
			break
		}
	}
	c.messages = c.messages.Join(ms)
	for range ms.Len() {
		c.turns = append(c.turns, int32(turn))
	}
}

// Options of a Store; nil is all zero values.
type Options struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Journal: keep journal and events like a store on disk, for tests in which one
	// runtime takes over from another. False makes a volatile store.
	Journal bool
	// Prefix begins the ids of conversations; "" is "c". With one of its own, a store's ids are
	// not those of another store.
	Prefix string
}

// New returns an empty store.
func New(o *Options) *Store {
	s := &Store{now: time.Now, prefix: "c", byKey: map[store.Key]*conversation{}}
	if o != nil {
		s.journals, s.prefix = o.Journal, cmp.Or(o.Prefix, "c")
		if o.Now != nil {
			s.now = o.Now
		}
	}
	return s
}

// Close makes every later call fail with store.ErrClosed. The data is lost.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.byKey, s.all, s.jobs, s.jobAt = true, nil, nil, nil, nil
	return nil
}

// Conversation implements store.Reader.
func (s *Store) Conversation(_ context.Context, key store.Key) (store.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.Record{}, store.ErrClosed
	}
	s.buryLocked()
	c, ok := s.byKey[key]
	if !ok {
		var err error
		if c, err = s.createLocked(key); err != nil {
			return store.Record{}, err
		}
	}
	return c.record, nil
}

func (s *Store) createLocked(key store.Key) (*conversation, error) {
	if err := key.Check(); err != nil {
		return nil, err
	}
	now := s.now()
	c := &conversation{record: store.Record{
		ID: s.name(len(s.all)), Key: key, Created: now, Updated: now,
	}}
	s.byKey[key], s.all = c, append(s.all, c)
	return c, nil
}

// name returns the id of the conversation that was made after n others.
func (s *Store) name(n int) string { return s.prefix + strconv.Itoa(n+1) }

func (s *Store) namedLocked(id string) *conversation {
	n, err := strconv.Atoi(strings.TrimPrefix(id, s.prefix))
	if err != nil || n < 1 || n > len(s.all) || s.all[n-1] == nil || s.all[n-1].record.ID != id {
		return nil
	}
	return s.all[n-1]
}

// Messages implements store.Reader.
func (s *Store) Messages(_ context.Context, id string) ([]message.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.lookupLocked(id)
	if err != nil {
		return nil, err
	}
	return c.messages.Slice(), nil
}

// History implements store.Histories.
func (s *Store) History(_ context.Context, id string) (message.Messages, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.lookupLocked(id)
	if err != nil {
		return message.Messages{}, err
	}
	return c.messages, nil
}

// Journal implements store.Reader.
func (s *Store) Journal(_ context.Context, id string) ([]store.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.lookupLocked(id)
	if err != nil || c.kept == nil {
		return nil, err
	}
	return slices.Clone(c.kept.journal), nil
}

// Volatile implements store.Writer.
func (s *Store) Volatile() bool { return !s.journals }

// Claim implements store.Writer.
func (s *Store) Claim(_ context.Context, id string, claim store.Claim) (store.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.lookupLocked(id)
	if err == nil {
		err = claim.Check()
	}
	if err != nil {
		return store.Record{}, err
	}
	now, l := s.now(), &c.record.Lease
	if l.Until.After(now) && l.Epoch != claim.Takes {
		return store.Record{}, &store.LeasedError{Lease: *l}
	}
	*l = store.Lease{Owner: claim.Owner, Epoch: l.Epoch + 1, Until: now.Add(claim.Hold)}
	return c.record, nil
}

// Append implements store.Writer.
func (s *Store) Append(_ context.Context, id string, a store.Append) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := store.At{Version: a.Version, Epoch: a.Epoch, Hold: a.Hold, Events: a.Events}
	c, err := s.atLocked(id, at)
	if err == nil {
		err = store.CheckJobs(a.Jobs)
	}
	if err != nil {
		return 0, err
	}
	s.changeLocked(c, at)
	c.setStates(a.States)
	s.enqueueLocked(a.Jobs)
	c.add(a.Messages, c.record.Turns+1)
	if a.TurnEnds {
		c.record.Turns++
	}
	if s.journals {
		c.note(a.Entries)
		c.forget(a)
	}
	return c.record.Version, nil
}

// atLocked returns the conversation if it meets the conditions of at.
func (s *Store) atLocked(id string, at store.At) (*conversation, error) {
	c, err := s.fencedLocked(id, at.Epoch, at.Events)
	if err != nil {
		return nil, err
	}
	if c.record.Version != at.Version {
		return nil, fmt.Errorf("%w: %s is at version %d, not %d", store.ErrConflict, id, c.record.Version, at.Version)
	}
	return c, nil
}

// changeLocked applies the common effects of all changes.
func (s *Store) changeLocked(c *conversation, at store.At) {
	c.record.Version++
	c.record.Updated = s.now()
	s.holdLocked(c, at.Hold, at.Events)
}

// Note implements store.Writer.
func (s *Store) Note(_ context.Context, id string, n store.Note) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.fencedLocked(id, n.Epoch, n.Events)
	if err == nil {
		err = store.CheckJobs(n.Jobs)
	}
	if err != nil {
		return 0, err
	}
	s.holdLocked(c, n.Hold, n.Events)
	c.setStates(n.States)
	s.enqueueLocked(n.Jobs)
	if !s.journals {
		return 1, nil
	}
	return c.note(n.Entries), nil
}

// holdLocked changes the end of the lease and keeps the events.
func (s *Store) holdLocked(c *conversation, hold time.Duration, events []store.Event) {
	l := &c.record.Lease
	l.Until = time.Time{}
	if hold > 0 && l.Epoch > 0 {
		l.Until = s.now().Add(hold)
	}
	if s.journals && len(events) > 0 {
		c.more().events = append(c.kept.events, events...)
		c.record.Events = events[len(events)-1].Seq
	}
}

// setStates keeps the last value of each name.
func (c *conversation) setStates(values []hook.StateValue) {
	for _, v := range values {
		k := c.more()
		i, found := slices.BinarySearchFunc(k.states, v.Name, func(v hook.StateValue, name string) int { return cmp.Compare(v.Name, name) })
		if found {
			k.states[i] = v
		} else {
			k.states = slices.Insert(k.states, i, v)
		}
	}
}

// States implements store.States. They are kept by a volatile store too, for forks.
func (s *Store) States(_ context.Context, id string) ([]hook.StateValue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.lookupLocked(id)
	if err != nil || c.kept == nil {
		return nil, err
	}
	return slices.Clone(c.kept.states), nil
}

// note adds to the journal and returns the sequence of the first entry.
func (c *conversation) note(entries []store.Entry) int64 {
	if len(entries) == 0 && c.kept == nil {
		return 1
	}
	k := c.more()
	first := k.noted + 1
	for _, e := range entries {
		k.noted++
		e.Seq = k.noted
		k.journal = append(k.journal, e)
	}
	c.record.Journaled = len(k.journal) > 0
	return first
}

// forget deletes the journal entries that a makes obsolete.
func (c *conversation) forget(a store.Append) {
	if !c.record.Journaled {
		return
	}
	c.kept.journal = slices.DeleteFunc(c.kept.journal, func(e store.Entry) bool { return a.TurnEnds || slices.Contains(a.Forget, e.Seq) })
	c.record.Journaled = len(c.kept.journal) > 0
}

func (s *Store) fencedLocked(id string, epoch int64, events []store.Event) (*conversation, error) {
	c, err := s.lookupLocked(id)
	if err == nil && c.record.Lease.Epoch != epoch {
		err = fmt.Errorf("%w: %s is at epoch %d, not %d", store.ErrFenced, id, c.record.Lease.Epoch, epoch)
	}
	if err == nil && len(events) > 0 {
		err = store.CheckEvents(c.record.Events, events)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// List implements store.Reader.
func (s *Store) List(context.Context) ([]store.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, store.ErrClosed
	}
	s.buryLocked()
	out := make([]store.Record, 0, len(s.all))
	for _, c := range s.all {
		if c != nil && c.record.Parent == "" {
			out = append(out, c.record)
		}
	}
	slices.SortFunc(out, func(a, b store.Record) int {
		return cmp.Or(cmp.Compare(a.Key.Project, b.Key.Project), cmp.Compare(a.Key.Agent, b.Key.Agent), cmp.Compare(a.Key.Sender, b.Key.Sender))
	})
	return out, nil
}

func (c *conversation) titled() store.Record {
	rec := c.record
	if c.archived() {
		rec.Title = store.Title(c.kept.archive[0].Message)
	} else if c.messages.Len() > 0 {
		rec.Title = store.Title(c.messages.At(0))
	}
	return rec
}

// Find implements store.Reader.
func (s *Store) Find(_ context.Context, id string) (store.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.lookupLocked(id)
	if err != nil {
		return store.Record{}, err
	}
	return c.titled(), nil
}

// Titles implements store.Titles.
func (s *Store) Titles(_ context.Context, ids []string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, store.ErrClosed
	}
	s.buryLocked()
	out := map[string]string{}
	for _, id := range ids {
		if c := s.namedLocked(id); c != nil && c.titled().Title != "" {
			out[id] = c.titled().Title
		}
	}
	return out, nil
}

func (s *Store) lookupLocked(id string) (*conversation, error) {
	if s.closed {
		return nil, store.ErrClosed
	}
	s.buryLocked()
	c := s.namedLocked(id)
	if c == nil {
		return nil, fmt.Errorf("%w: %q", store.ErrUnknown, id)
	}
	return c, nil
}
