package mem

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/runtime/store"
)

var _ store.Eraser = (*Store)(nil)

// erasedLocked reports whether a conversation of the id was deleted.
func (s *Store) erasedLocked(id string) bool {
	number, ours := strings.CutPrefix(id, s.prefix)
	n, err := strconv.Atoi(number)
	return ours && err == nil && n >= 1 && n <= len(s.all) && s.all[n-1] == nil
}

// Erase implements store.Eraser.
func (s *Store) Erase(_ context.Context, id string, gone []string) (store.Erased, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.lookupLocked(id)
	if err != nil {
		return store.Erased{}, err
	}
	if c.record.Parent != "" {
		return store.Erased{}, fmt.Errorf("%w: %q is a child", store.ErrUnknown, id)
	}
	tree := s.treeLocked(c)
	for _, c := range tree {
		if l := c.record.Lease; l.Until.After(s.now()) && !slices.Contains(gone, l.Owner) {
			return store.Erased{}, &store.LeasedError{Lease: l}
		}
		if err := s.idleLocked(gone, func(j store.Job) bool { return j.Conversation == c.record.ID }); err != nil {
			return store.Erased{}, err
		}
	}
	var out store.Erased
	for _, c := range tree {
		s.eraseLocked(c, &out)
	}
	return out, nil
}

// treeLocked returns the conversation and all below it.
func (s *Store) treeLocked(c *conversation) []*conversation {
	out := []*conversation{c}
	for _, child := range s.all {
		if child != nil && child.record.Parent == c.record.ID {
			out = append(out, s.treeLocked(child)...)
		}
	}
	return out
}

// idleLocked returns a LeasedError if one of the jobs runs.
func (s *Store) idleLocked(gone []string, which func(store.Job) bool) error {
	for _, j := range s.jobs {
		if which(j) && j.Status == store.JobRunning && j.Due.After(s.now()) && !slices.Contains(gone, j.Owner) {
			return &store.LeasedError{Lease: store.Lease{Owner: j.Owner, Epoch: j.Epoch, Until: j.Due}}
		}
	}
	return nil
}

func (s *Store) eraseLocked(c *conversation, out *store.Erased) {
	id := c.record.ID
	out.Conversations = append(out.Conversations, id)
	out.Bytes += c.bytes()
	out.Messages += int64(c.messages.Len())
	if k := c.kept; k != nil {
		out.Messages += int64(len(k.archive))
		out.Entries += int64(len(k.journal))
		out.Events += int64(len(k.events))
		out.States += int64(len(k.states))
		for _, b := range k.branches {
			out.Messages += int64(len(b.messages))
			out.Entries += int64(len(b.journal))
		}
	}
	i := slices.Index(s.all, c)
	s.all[i] = nil
	delete(s.byKey, c.record.Key)
	s.dropWorkLocked(out, func(j store.Job) bool { return j.Conversation == id }, func(r store.Run) bool { return r.Conversation == id })
}

// dropWorkLocked deletes jobs and runs, and counts them.
func (s *Store) dropWorkLocked(out *store.Erased, job func(store.Job) bool, run func(store.Run) bool) {
	for i, j := range s.jobs {
		if j.Status != "" && job(j) {
			delete(s.jobAt, jobKey{j.Project, j.Kind, j.Key})
			s.jobs[i] = store.Job{}
			out.Jobs++
		}
	}
	before := len(s.runs)
	s.runs = slices.DeleteFunc(s.runs, run)
	out.Runs += int64(before - len(s.runs))
}

// EraseProject implements store.Eraser.
func (s *Store) EraseProject(_ context.Context, project string, gone []string) (store.Erased, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.Erased{}, store.ErrClosed
	}
	loose := func(j store.Job) bool { return j.Project == project && j.Conversation == "" }
	if err := s.idleLocked(gone, loose); err != nil {
		return store.Erased{}, err
	}
	var out store.Erased
	s.dropWorkLocked(&out, loose, func(r store.Run) bool { return r.Project == project && r.Conversation == "" })
	return out, nil
}

// Weigh implements store.Eraser.
func (s *Store) Weigh(_ context.Context, id string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.lookupLocked(id)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, c := range s.treeLocked(c) {
		sum += c.bytes()
	}
	return sum, nil
}

// bytes is about what the conversation takes: its texts.
func (c *conversation) bytes() (sum int64) {
	for _, m := range c.messages.All() {
		sum += int64(len(m.Text()))
	}
	if c.kept != nil {
		for _, k := range c.kept.archive {
			sum += int64(len(k.Message.Text()))
		}
		for _, e := range c.kept.events {
			sum += int64(len(e.Data))
		}
	}
	return sum
}

// Shrink implements store.Eraser. Memory is freed by itself.
func (s *Store) Shrink(context.Context) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, store.ErrClosed
	}
	return 0, nil
}
