package mem

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// set makes ms the messages of the conversation.
func (c *conversation) set(ms []store.Kept) {
	c.messages, c.turns = message.Messages{}, make([]int32, 0, len(ms))
	for _, k := range ms {
		c.messages, c.turns = c.messages.Append(k.Message), append(c.turns, int32(k.Turn))
	}
}

// archived reports whether the first message is a summary.
func (c *conversation) archived() bool { return c.kept != nil && len(c.kept.archive) > 0 }

func (c *conversation) all() []store.Kept {
	out := make([]store.Kept, 0, len(c.turns))
	for i, m := range c.messages.All() {
		out = append(out, store.Kept{Turn: int(c.turns[i]), Message: m})
	}
	if c.archived() {
		out[0].Summary = true
	}
	return out
}

// first returns the number of messages of the first turns.
func (c *conversation) first(turns int) (int, error) {
	if turns < 0 || turns > c.record.Turns {
		return 0, fmt.Errorf("%w: %s has had %d turns, not %d", store.ErrNoTurn, c.record.ID, c.record.Turns, turns)
	}
	n, _ := slices.BinarySearch(c.turns, int32(turns+1))
	if n == 0 && c.archived() {
		return 0, fmt.Errorf("%w: a summary stands for more than the first %d turns of %s", store.ErrCompacted, turns, c.record.ID)
	}
	return n, nil
}

// Compact implements store.Compacter.
func (s *Store) Compact(_ context.Context, id string, at store.At, n int, summary message.Message) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.atLocked(id, at)
	if err != nil {
		return 0, err
	}
	if n < 1 || n > len(c.turns) {
		return 0, fmt.Errorf("%w: %s has %d messages, of which %d cannot be compacted", store.ErrNoTurn, id, len(c.turns), n)
	}
	s.changeLocked(c, at)
	all := c.all()
	k := c.more()
	k.archive = append(k.archive, all[:n]...)
	c.set(append([]store.Kept{{Turn: all[n-1].Turn, Message: summary}}, all[n:]...))
	return c.record.Version, nil
}

func plain(ks []store.Kept) []message.Message {
	out := make([]message.Message, len(ks))
	for i, k := range ks {
		out[i] = k.Message
	}
	return out
}

// Archive implements store.Compacter.
func (s *Store) Archive(_ context.Context, id string) ([]message.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.lookupLocked(id)
	if err != nil || !c.archived() {
		return nil, err
	}
	return plain(c.kept.archive), nil
}

// Fork implements store.Forker.
func (s *Store) Fork(_ context.Context, id string, turns int, key store.Key) (store.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.lookupLocked(id)
	if err != nil {
		return store.Record{}, err
	}
	n, err := c.first(turns)
	if err != nil {
		return store.Record{}, err
	}
	d := store.Dump{Key: key, Created: s.now(), Turns: turns, Messages: c.all()[:n]}
	if c.archived() {
		d.Archive = c.kept.archive
	}
	rec, err := s.restoreLocked(d)
	if err == nil && c.kept != nil {
		s.namedLocked(rec.ID).setStates(c.kept.states)
	}
	return rec, err
}

// Rewind implements store.Forker.
func (s *Store) Rewind(_ context.Context, id string, at store.At, turns int) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.atLocked(id, at)
	if err != nil {
		return 0, err
	}
	n, err := c.first(turns)
	if err != nil {
		return 0, err
	}
	s.changeLocked(c, at)
	all := c.all()
	k := c.more()
	k.branches = append(k.branches, branch{messages: all[n:], journal: k.journal})
	k.journal, c.record.Journaled = nil, false
	c.set(all[:n])
	c.record.Turns = turns
	return c.record.Version, nil
}

// Dump implements store.Porter.
func (s *Store) Dump(_ context.Context, id string) (store.Dump, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.lookupLocked(id)
	if err != nil {
		return store.Dump{}, err
	}
	d := store.Dump{Key: c.record.Key, Created: c.record.Created, Turns: c.record.Turns, Messages: c.all()}
	if c.archived() {
		d.Archive = slices.Clone(c.kept.archive)
	}
	return d, nil
}

// Restore implements store.Porter.
func (s *Store) Restore(_ context.Context, d store.Dump) (store.Record, error) {
	if err := d.Check(); err != nil {
		return store.Record{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.Record{}, store.ErrClosed
	}
	return s.restoreLocked(d)
}

func (s *Store) restoreLocked(d store.Dump) (store.Record, error) {
	if old, ok := s.byKey[d.Key]; ok {
		return store.Record{}, fmt.Errorf("%w: %s", store.ErrExists, old.record.ID)
	}
	c, err := s.createLocked(d.Key)
	if err != nil {
		return store.Record{}, err
	}
	c.record.Version, c.record.Turns, c.record.Created = 1, d.Turns, d.Created
	c.set(d.Messages)
	if len(d.Archive) > 0 {
		c.more().archive = slices.Clone(d.Archive)
	}
	return c.record, nil
}

// Adopt implements store.Adopter.
func (s *Store) Adopt(_ context.Context, id string, claim store.Claim, key store.Key) (store.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.lookupLocked(id)
	if err == nil {
		err = errors.Join(claim.Check(), key.Check())
	}
	switch {
	case err != nil:
		return store.Record{}, err
	case c.record.Parent != "":
		return store.Record{}, fmt.Errorf("%w: %q is a child", store.ErrUnknown, id)
	}
	l := &c.record.Lease
	if l.Until.After(s.now()) && l.Epoch != claim.Takes {
		return store.Record{}, &store.LeasedError{Lease: *l}
	}
	if old, ok := s.byKey[key]; ok {
		return store.Record{}, fmt.Errorf("%w: %s", store.ErrExists, old.record.ID)
	}
	s.moveLocked(c, claim.Owner, key)
	return c.record, nil
}

// moveLocked gives the conversation its new key, and its children the key's project.
func (s *Store) moveLocked(c *conversation, owner string, key store.Key) {
	delete(s.byKey, c.record.Key)
	s.byKey[key] = c
	c.record.Key = key
	c.record.Lease = store.Lease{Owner: owner, Epoch: c.record.Lease.Epoch + 1}
	if c.kept != nil {
		c.kept.states = nil
	}
	for _, child := range s.all {
		if child != nil && child.record.Parent == c.record.ID {
			k := child.record.Key
			k.Project = key.Project
			s.moveLocked(child, owner, k)
		}
	}
}

// Child implements store.Child.
func (s *Store) Child(_ context.Context, key store.Key, parent string) (store.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.lookupLocked(parent); err != nil {
		return store.Record{}, err
	}
	c, ok := s.byKey[key]
	if !ok {
		var err error
		if c, err = s.createLocked(key); err != nil {
			return store.Record{}, err
		}
		c.record.Parent = parent
	}
	if c.record.Parent != parent {
		return store.Record{}, fmt.Errorf("%w: %s is no child of %s", store.ErrExists, c.record.ID, parent)
	}
	return c.record, nil
}

// Children implements store.Child.
func (s *Store) Children(_ context.Context, parent string) ([]store.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.lookupLocked(parent); err != nil {
		return nil, err
	}
	var out []store.Record
	for _, c := range s.all {
		if c != nil && c.record.Parent == parent {
			out = append(out, c.record)
		}
	}
	return out, nil
}

// Events implements store.Log.
func (s *Store) Events(_ context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.lookupLocked(id)
	if err != nil || c.kept == nil {
		return nil, err
	}
	i, _ := slices.BinarySearchFunc(c.kept.events, after, func(e store.Event, after uint64) int {
		if e.Seq <= after {
			return -1
		}
		return 1
	})
	rest := c.kept.events[i:]
	return slices.Clone(rest[:max(0, min(limit, len(rest)))]), nil
}
