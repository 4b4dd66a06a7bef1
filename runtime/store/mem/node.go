package mem

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/runtime/store"
)

var (
	_ store.Presence   = (*Store)(nil)
	_ store.Unfinished = (*Store)(nil)
)

// Beat implements store.Presence.
func (s *Store) Beat(_ context.Context, n store.Node) error {
	if err := n.Check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	s.buryLocked()
	before, known := s.nodes[n.ID]
	n.Seen, n.Alive, n.Projects = s.now(), true, slices.Clone(n.Projects)
	if s.nodes == nil {
		s.nodes = map[string]store.Node{}
	}
	s.nodes[n.ID] = n
	if known && !before.Alive {
		return fmt.Errorf("%w: %s", store.ErrLate, n.ID)
	}
	return nil
}

// Leave implements store.Presence.
func (s *Store) Leave(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	if n, known := s.nodes[id]; known {
		n.TTL = 0
		s.nodes[id] = n
		s.buryLocked()
	}
	return nil
}

// Nodes implements store.Presence.
func (s *Store) Nodes(context.Context) ([]store.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, store.ErrClosed
	}
	s.buryLocked()
	all := slices.SortedFunc(maps.Values(s.nodes), func(a, b store.Node) int { return cmp.Compare(a.ID, b.ID) })
	return slices.DeleteFunc(all, func(n store.Node) bool { return n.TTL == 0 }), nil // they have left
}

// Unfinished implements store.Unfinished.
func (s *Store) Unfinished(ctx context.Context) ([]store.Record, error) {
	all, err := s.List(ctx)
	return slices.DeleteFunc(all, func(r store.Record) bool { return !r.Journaled }), err
}

// buryLocked frees the leases and jobs of nodes that have died since it was called last.
func (s *Store) buryLocked() {
	now := s.now()
	for id, n := range s.nodes {
		if !n.Alive || n.TTL > 0 && now.Sub(n.Seen) <= n.TTL {
			continue
		}
		n.Alive = false
		s.nodes[id] = n
		for _, c := range s.all {
			if c != nil && c.record.Lease.Owner == id {
				c.record.Lease.Until = time.Time{}
			}
		}
		for i := range s.jobs {
			if j := &s.jobs[i]; j.Owner == id && j.Status == store.JobRunning && j.Due.After(now) {
				j.Due = now
			}
		}
	}
}
